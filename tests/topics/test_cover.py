"""Covers against their definition, after every step of random and of hostile sequences."""

from collections import Counter
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.topics.containment import canonical, contains
from gossamer.topics.cover import Cover
from tests.support.topic_strategies import filters


def by_definition(multiset: Counter[str]) -> set[str]:
    present = {filter for filter, count in multiset.items() if count}
    return {
        filter
        for filter in present
        if not any(other != filter and contains(other, filter) for other in present)
    }


class Checked:
    """A cover that is compared with the definition after every step."""

    def __init__(self) -> None:
        self.cover = Cover()
        self.multiset: Counter[str] = Counter()
        self.maximal: set[str] = set()

    def step(self, add: bool, filter: str) -> None:
        if add:
            self.multiset[canonical(filter)] += 1
            change = self.cover.add(filter)
        elif not self.multiset[canonical(filter)]:
            with pytest.raises(KeyError):
                self.cover.remove(filter)
            return
        else:
            self.multiset[canonical(filter)] -= 1
            change = self.cover.remove(filter)
        after = by_definition(self.multiset)
        assert sorted(change.entered) == sorted(after - self.maximal)
        assert sorted(change.left) == sorted(self.maximal - after)
        assert sorted(self.cover.maximal()) == sorted(after)
        assert len(self.cover) == sum(1 for count in self.multiset.values() if count)
        assert self.cover.count(filter) == self.multiset[canonical(filter)]
        self.maximal = after


@given(st.lists(st.tuples(st.sampled_from([True, True, False]), filters(4)), max_size=60))
def test_cover_is_its_definition_after_every_step(steps: list[tuple[bool, str]]) -> None:
    checked = Checked()
    for add, filter in steps:
        checked.step(add, filter)


@given(st.lists(filters(4), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_everything_added_can_be_removed_in_any_order(added: list[str], random: object) -> None:
    checked = Checked()
    for filter in added:
        checked.step(True, filter)
    random.shuffle(added)  # type: ignore[attr-defined]
    for filter in added:
        checked.step(False, filter)
    assert checked.cover.maximal() == []


def is_covered(cover: Cover, filter: str) -> bool:
    """Whether a filter of the multiset contains this one: then it does not enter the cover."""
    entered = cover.add(filter).entered
    cover.remove(filter)
    return not entered


@given(st.lists(filters(4), max_size=30), filters(4))
def test_is_covered_is_containment_in_any_filter(added: list[str], probe: str) -> None:
    cover = Cover()
    for filter in added:
        cover.add(filter)
    assert is_covered(cover, probe) is any(contains(filter, probe) for filter in added)


def test_equal_filters_count_as_one() -> None:
    cover = Cover()
    assert cover.add("+/#").entered == ["#"]
    assert cover.add("#").entered == []
    assert cover.remove("+/#").left == []
    assert cover.remove("#").left == ["#"]


WIDE = [f"b/a/x{i}/y{i % 7}" for i in range(3000)]
HOSTILE = {
    "two wide filters over the same narrow ones": [
        (True, "+/a/#"),
        *[(True, filter) for filter in WIDE],
        *[(add, filter) for filter in ("b/+/#", "+/a/#") * 3 for add in (True, False)],
    ],
    "a wide filter over nothing but interior levels": [
        *[(True, filter) for filter in WIDE],
        *[
            (add, filter)
            for filter in ("b/+", "+/a/+", "+/+/c/+", "b/a/#")
            for add in (True, False)
        ],
    ],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_large_sets(name: str) -> None:
    cover = Cover()
    multiset: Counter[str] = Counter()
    maximal: set[str] = set()
    for add, filter in HOSTILE[name]:
        if not add and not multiset[filter]:
            continue
        change = cover.add(filter) if add else cover.remove(filter)
        multiset[filter] += 1 if add else -1
        maximal = (maximal - set(change.left)) | set(change.entered)
    assert maximal == set(cover.maximal())
    wide = [filter for filter in multiset if multiset[filter] and filter not in WIDE]
    expected = {filter for filter in WIDE if not any(contains(w, filter) for w in wide)}
    assert maximal == expected | by_definition(Counter(wide))


def test_long_walks_are_cut_short_without_losing_the_answer() -> None:
    """Two thousand filters share `a` or `+` at every level: walking them all is the trap."""
    cover = Cover()
    for number, places in enumerate(combinations(range(14), 5)):
        levels = ["+" if at in places else "a" for at in range(14)]
        assert cover.add("/".join([*levels, f"t{number}"])).left == []
    only_a = "/".join("a" * 14)
    assert not is_covered(cover, f"{only_a}/other")
    assert is_covered(cover, f"{only_a}/t1234")
    assert is_covered(cover, f"{only_a}/t0")
    wide = "/".join("+" * 15)
    assert len(cover.add(wide).left) == 2002
    assert len(cover.remove(wide).entered) == 2002


def test_levels_that_tell_little() -> None:
    """Enough filters that are alike for every search to give up walking, checked step by step."""
    random = Random(7)

    def draw() -> str:
        return "/".join(random.choices(["a", "b", "+"], weights=[4, 4, 1], k=9))

    cover = Cover()
    for filter in {draw(): None for _ in range(3000)}:
        cover.add(filter)
    for _ in range(150):
        maximal = set(cover.maximal())
        wide = "/".join(random.choices(["a", "+"], weights=[1, 3], k=9))
        for filter in (draw(), wide):
            change = cover.add(filter)
            contained = {other for other in maximal if contains(filter, other)}
            covered = any(contains(other, filter) for other in maximal)
            assert change.entered == ([] if covered else [filter])
            assert set(change.left) == (set() if covered else contained)
            if cover.count(filter) == 1:
                back = cover.remove(filter)
                assert (set(back.entered), back.left) == (set(change.left), change.entered)
            else:
                cover.remove(filter)
        assert set(cover.maximal()) == maximal
