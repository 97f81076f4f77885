"""Names as bits, against sets of numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.session.name_bits import CHUNK_BITS, MOST_SOURCES, NameBits, unpacked_names

SOURCES = (b"source-a", b"source-b")
WINDOW = 8 * CHUNK_BITS

Names = dict[bytes, set[int]]
numbers = st.sets(st.integers(0, 3 * WINDOW), max_size=30)
names = st.fixed_dictionaries({}, optional={source: numbers for source in SOURCES})


def name(source: bytes, number: int) -> bytes:
    return source + number.to_bytes(8, "big")


def bits_of(known: Names) -> NameBits:
    bits = NameBits()
    for source, found in known.items():
        chunks: dict[int, int] = {}
        for number in found:
            chunk = number // CHUNK_BITS
            chunks[chunk] = chunks.get(chunk, 0) | 1 << number % CHUNK_BITS
        if chunks:
            bits.put(source, max(chunks), chunks)
    return bits


def first_of(found: set[int]) -> int:
    """The oldest number that is remembered beside these."""
    return max(0, max(found) // CHUNK_BITS - 7) * CHUNK_BITS if found else 0


def shown(bits: NameBits, asked: Names) -> Names:
    return {
        source: {number for number in found if bits.has(name(source, number))}
        for source, found in asked.items()
    }


@given(names, names)
def test_they_are_what_was_put_in(known: Names, asked: Names) -> None:
    for bits in (bits_of(known), unpacked_names(bits_of(known).packed())):
        for source, found in asked.items():
            mine = known.get(source, set())
            kept = {number for number in mine if number >= first_of(mine)}
            assert shown(bits, {source: found | mine})[source] == kept


@given(names, names)
def test_both_together_have_the_latest_of_both(one: Names, other: Names) -> None:
    bits = bits_of(one)
    bits.add(bits_of(other))
    for source in SOURCES:
        parts = [known[source] for known in (one, other) if known.get(source)]
        together: set[int] = set().union(*parts)
        first = max([first_of(part) for part in parts], default=0)
        kept = {number for number in together if number >= first}
        assert shown(bits, {source: together})[source] == kept


@given(names, names)
def test_what_was_there_before_is_left_out(before: Names, since: Names) -> None:
    after = {source: before.get(source, set()) | since.get(source, set()) for source in SOURCES}
    bits = bits_of(after)
    bits.subtract(bits_of(before))
    for source in SOURCES:
        first = max(first_of(after[source]), first_of(before.get(source, set())))
        new = after[source] - before.get(source, set())
        kept = {number for number in new if number >= first}
        assert shown(bits, {source: after[source]})[source] == kept


def test_one_can_be_taken_out() -> None:
    bits = bits_of({SOURCES[0]: {1, 2, 3}})
    bits.drop(name(SOURCES[0], 2))
    bits.drop(name(SOURCES[1], 1))
    assert shown(bits, {SOURCES[0]: {1, 2, 3}}) == {SOURCES[0]: {1, 3}}


def test_the_sources_heard_of_last_are_kept() -> None:
    bits = NameBits()
    for number in range(MOST_SOURCES + 10):
        bits.put(number.to_bytes(8, "big"), 0, {0: 1})
    assert not bits.has(name((9).to_bytes(8, "big"), 0))
    assert bits.has(name((10).to_bytes(8, "big"), 0))


def test_anything_else_is_refused() -> None:
    with pytest.raises(ValueError, match="."):
        unpacked_names(b"nothing of ours")
