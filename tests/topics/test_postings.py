"""Number sets against Python's sets, postings against containment one by one."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.topics.containment import covers, pattern
from gossamer.topics.number_set import BITS_FROM, NumberSet, numbers_of
from gossamer.topics.postings import Postings
from tests.support.topic_strategies import filters


@pytest.mark.parametrize("most", [1, 2, BITS_FROM - 1, BITS_FROM, 5 * BITS_FROM])
def test_a_number_set_grows_and_shrinks_like_a_set(most: int) -> None:
    random = Random(most)
    numbers = random.sample(range(20_000), most)
    found = NumberSet()
    model: set[int] = set()
    for number in numbers:
        found.add(number)
        model.add(number)
    assert found.numbers() == sorted(model)
    random.shuffle(numbers)
    for step, number in enumerate(numbers):
        found.discard(number)
        model.discard(number)
        assert found.size == len(model)
        if step % 97 == 0 or len(model) < 5:
            assert found.numbers() == sorted(model)
            assert numbers_of(found.chunks()) == sorted(model)
    found.add(7)
    assert found.numbers() == [7]


plain_patterns = filters(5).filter(lambda filter: filter[0] != "$").map(pattern)


@given(st.lists(plain_patterns, max_size=40), st.data(), plain_patterns)
def test_postings_find_exactly_the_patterns(
    every: list[list[str]], data: st.DataObject, probe: list[str]
) -> None:
    postings = Postings()
    for number, one in enumerate(every):
        postings.add(number, one)
    gone = data.draw(st.sets(st.integers(0, len(every) - 1))) if every else set()
    for number in gone:
        postings.discard(number, every[number])
    left = [number for number in range(len(every)) if number not in gone]
    covered = [number for number in left if covers(probe, every[number], 0)]
    covering = [number for number in left if covers(every[number], probe, 0)]
    assert sorted(postings.covered(probe, 0)) == covered
    assert sorted(postings.covering(probe, 0)) == covering
    assert set(covered) <= set(postings.covered(probe, 5)) <= set(left)
    assert set(covering) <= set(postings.covering(probe, 5)) <= set(left)
