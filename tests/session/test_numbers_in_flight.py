"""Identifiers in flight, compared with a dictionary of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from gossamer.session.outbox import (
    AWAITS_PUBCOMP,
    LAST_IDENTIFIER,
    SENT_EXACTLY,
    SENT_ONCE,
    NumbersInFlight,
)

HEADS = {SENT_ONCE: b"\x40\x02", SENT_EXACTLY: b"\x50\x02", AWAITS_PUBCOMP: b"\x70\x02"}


def acknowledgements(state: int, numbers: list[int]) -> bytes:
    return b"".join(HEADS[state] + number.to_bytes(2, "big") for number in numbers)


states = st.sampled_from([SENT_ONCE, SENT_EXACTLY])
numbers = st.one_of(st.integers(1, 300), st.integers(65_400, LAST_IDENTIFIER))
steps = st.lists(
    st.tuples(st.just("put"), numbers, st.integers(1, 200), states)
    | st.tuples(
        st.sampled_from(["complete", "receive"]),
        numbers,
        st.integers(1, 200),
        st.sampled_from([SENT_ONCE, AWAITS_PUBCOMP]),
    )
    | st.tuples(st.just("free"), numbers, st.just(1), states),
    max_size=30,
)


@given(steps)
def test_it_is_a_dictionary_of_states(happening: list[tuple[str, int, int, int]]) -> None:
    table = NumbersInFlight()
    known: dict[int, int] = {}
    for what, first, count, state in happening:
        wanted = list(range(first, min(first + count - 1, LAST_IDENTIFIER) + 1))
        if what == "put":
            table.reserve(count)
            found = table.free_from(first, count)
            assert 0 <= found <= len(wanted)
            assert not any(number in known for number in wanted[:found])
            assert all(table.is_free(number, True) for number in wanted[:found])
            if found < len(wanted):
                assert not table.is_free(wanted[found], True)
            table.put(first, found, state)
            known.update(dict.fromkeys(wanted[:found], state))
        elif what == "free":
            if known.pop(first, 0):
                table.free(first)
        elif what == "complete":
            data = b"head" + acknowledgements(state, wanted) + b"\x40\x02\x00"
            after = table.complete(data, 4, state)
            done = (after - 4) // 4
            assert all(known.pop(number) == state for number in wanted[:done])
            assert done == len(wanted) or known.get(wanted[done]) != state
        else:
            answers = BytesWriter()
            data = acknowledgements(SENT_EXACTLY, wanted) + b"\x40\x02\x00\x01"
            done = table.receive(data, 0, answers) // 4
            released = wanted[:done]
            assert all(known[number] != SENT_ONCE for number in released)
            known.update(dict.fromkeys(released, AWAITS_PUBCOMP))
            expected = b"".join(b"\x62\x02" + number.to_bytes(2, "big") for number in released)
            assert answers.getvalue() == expected
            assert done == len(wanted) or known.get(wanted[done], SENT_ONCE) == SENT_ONCE
        assert table.count == len(known)
        for number in {*known, *wanted}:
            assert table.state(number) == known.get(number, 0)
            assert table.is_free(number, False) == (number not in known)


@pytest.mark.parametrize("left", [0, 1])
def test_all_identifiers_but_some_may_be_in_flight(left: int) -> None:
    table = NumbersInFlight()
    at = 1
    while at <= LAST_IDENTIFIER - left:
        most = min(100, LAST_IDENTIFIER - left + 1 - at)
        table.reserve(most)
        count = table.free_from(at, most)
        assert count == most
        table.put(at, count, SENT_ONCE)
        at += count
    assert table.count == LAST_IDENTIFIER - left
    assert table.is_free(LAST_IDENTIFIER, True) == bool(left)
    every = acknowledgements(SENT_ONCE, list(range(1, LAST_IDENTIFIER + 1 - left)))
    assert table.complete(every, 0, SENT_ONCE) == len(every)
    assert table.count == 0
    table.reserve(1)  # gives the long table up
    assert table.is_free(1, True)
