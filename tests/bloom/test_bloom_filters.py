"""Plain and counting Bloom filters: their size, their error rate, and that no member is missed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.bloom import BloomFilter, CountingFilter, TopicHasher, sized_filter
from gossamer.bloom.filter import bits_for, elements_of, hashes_for

hashes = st.integers(0, 2**62 - 1)


def test_the_papers_example_of_a_size() -> None:
    bits = bits_for(100_000, 0.001)
    assert bits == 1_437_759
    assert hashes_for(bits, 100_000) == 10
    ones = round(bits * (1 - math.exp(-10 * 100_000 / bits)))
    assert (ones / bits) ** 10 == pytest.approx(0.001, rel=0.01)
    assert elements_of(bits, 10, ones) == pytest.approx(100_000, rel=0.001)


@pytest.mark.parametrize(("elements", "rate"), [(0, 0.1), (10, 0.0), (10, 1.0), (10**9, 0.001)])
def test_impossible_sizes_are_refused(elements: int, rate: float) -> None:
    with pytest.raises(ValueError):
        bits_for(elements, rate)


@pytest.mark.parametrize(("size", "probes"), [(0, 3), (1 << 40, 3), (100, 0), (100, 99)])
def test_impossible_shapes_are_refused(size: int, probes: int) -> None:
    with pytest.raises(ValueError):
        BloomFilter(size, probes)


@pytest.mark.parametrize("rate", [0.01, 0.001])
@pytest.mark.parametrize("naming", ["sensor{}", "{:08x}", "site/{}/temp"])
def test_the_measured_error_rate_is_the_designed_one(rate: float, naming: str) -> None:
    """Names that count upwards are what real deployments have, and the hardest for a hash."""
    hasher = TopicHasher(b"measured")
    members = 4_000
    strangers = 60_000

    def element(number: int) -> int:
        prefix = hasher.root
        for level in hasher.levels(naming.format(number).encode()):
            prefix = hasher.extend(prefix, level)
        return prefix

    bloom = sized_filter(members, rate)
    for number in range(members):
        bloom.add(element(number))
    assert all(bloom.contains(element(number)) for number in range(members))
    wrong = sum(bloom.contains(element(members + number)) for number in range(strangers))
    # Three standard deviations of what chance alone does to so small a count.
    chance = 3 * math.sqrt(rate * strangers)
    assert wrong <= 1.2 * rate * strangers + chance
    assert bloom.saturation() ** bloom.hashes == pytest.approx(rate, rel=0.2)
    assert bloom.estimated_elements() == pytest.approx(members, rel=0.05)
    assert bloom.saturation() == pytest.approx(0.5, abs=0.03)


@given(st.lists(hashes, max_size=50), st.lists(hashes, max_size=50))
def test_a_union_has_the_members_of_both(left: list[int], right: list[int]) -> None:
    one = BloomFilter(997, 5)
    another = BloomFilter(997, 5)
    for element in left:
        one.add(element)
    for element in right:
        another.add(element)
    union = one.union(another)
    assert all(union.contains(element) for element in left + right)
    assert union.ones() == len(set(one.set_positions()) | set(another.set_positions()))


def test_filters_of_different_shape_do_not_mix() -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        BloomFilter(100, 3).union(BloomFilter(101, 3))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=120))
def test_counting_forgets_exactly_what_left(steps: list[tuple[bool, int]]) -> None:
    counting = CountingFilter(BloomFilter(61, 4))  # So few bits that members share most of them.
    names = [hash_of(number) for number in range(10)]
    held = [0] * 10
    for adding, number in steps:
        if adding:
            counting.add(names[number])
            held[number] += 1
        elif held[number]:
            counting.remove(names[number])
            held[number] -= 1
    expected = BloomFilter(61, 4)
    for number in range(10):
        if held[number]:
            expected.add(names[number])
    assert counting.plain.cells == expected.cells


def test_a_stranger_is_not_removed() -> None:
    counting = CountingFilter(BloomFilter(1000, 4))
    counting.add(hash_of(1))
    before = bytes(counting.plain.cells)
    with pytest.raises(KeyError):
        counting.remove(hash_of(2))
    assert counting.plain.cells == before


def test_a_full_counter_stays() -> None:
    counting = CountingFilter(BloomFilter(1000, 4))
    for _ in range(300):
        counting.add(hash_of(1))
    for _ in range(300):
        counting.remove(hash_of(1))
    assert counting.plain.contains(hash_of(1))


def hash_of(number: int) -> int:
    hasher = TopicHasher()
    return int(hasher.extend(hasher.root, number + 1))


@given(
    size=st.integers(1, 300),
    doublings=st.integers(0, 4),
    members=st.lists(hashes, max_size=20),
)
def test_a_stretched_filter_has_each_bit_as_often_as_it_grew(
    size: int, doublings: int, members: list[int]
) -> None:
    narrow = BloomFilter(size, 3)
    for member in members:
        narrow.add(member)
    factor = 2**doublings
    wide = narrow.stretched(size * factor)
    expected = [
        position * factor + part for position in narrow.set_positions() for part in range(factor)
    ]
    assert wide.set_positions() == expected
    assert all(wide.contains(member) for member in members)
