"""Counts of parts of a window: put together in any way they are the count of all, and as bytes they
come back, whatever else bytes may hold."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.plus.counted_windows import MOST_LATE, CountedWindows
from gossamer.plus.engine import Engine
from gossamer.plus.operators.aggregate import Aggregate
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.partial_codec import PIECE_TOPICS, Counts, packed_pieces, unpacked_piece
from gossamer.plus.publication import Publication
from gossamer.plus.registry import AGGREGATES

doubles = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
values = st.one_of(st.integers(-50, 50).map(float), st.floats(-1e6, 1e6), doubles)
functions = st.sampled_from(list(AGGREGATES.values()))
topics = st.text("ab/é𝄞", min_size=1, max_size=8)


def counted(function: AggregateKind, given: list[tuple[int, float]]) -> Aggregate:
    aggregate = function.running()
    for order, value in given:
        aggregate.add(value, order)
    return aggregate


@given(functions, st.lists(values, min_size=1, max_size=30), st.data())
def test_any_split_merged_in_any_order_is_all_of_it(
    function: AggregateKind, given: list[float], data: st.DataObject
) -> None:
    numbered = list(enumerate(given))
    places = data.draw(st.lists(st.integers(0, 4), min_size=len(given), max_size=len(given)))
    parts = [
        [one for one, place in zip(numbered, places, strict=True) if place == part]
        for part in range(5)
    ]
    merged: Aggregate | None = None
    for part in data.draw(st.permutations([part for part in parts if part])):
        count = counted(function, part)
        if merged is None:
            merged = count
        else:
            merged.merge(count)
    assert merged is not None
    assert repr(merged.result()) == repr(counted(function, numbered).result())


@given(functions, st.dictionaries(topics, st.lists(values, min_size=1, max_size=5), max_size=12))
def test_counts_come_back_from_bytes(
    function: AggregateKind, given: dict[str, list[float]]
) -> None:
    counts = {topic: counted(function, list(enumerate(values))) for topic, values in given.items()}
    found: Counts = {}
    for piece in packed_pieces(counts):
        found.update(unpacked_piece(piece, function))
    assert {topic: each.save() for topic, each in found.items()} == {
        topic: each.save() for topic, each in counts.items()
    }


def test_many_topics_are_several_pieces_and_resembling_ones_take_few_bytes() -> None:
    function = AGGREGATES["AVG"]
    counts = {
        f"city/s{number:05}/temp": counted(function, [(0, 21.5), (1, 22.25)])
        for number in range(2 * PIECE_TOPICS + 1)
    }
    pieces = packed_pieces(counts)
    assert [len(unpacked_piece(piece, function)) for piece in pieces] == [
        PIECE_TOPICS,
        PIECE_TOPICS,
        1,
    ]
    assert sum(map(len, pieces)) < 10 * len(counts)
    assert packed_pieces({}) == [b""]


@given(functions, st.binary(max_size=60))
def test_other_bytes_are_refused_or_can_be_counted_with(
    function: AggregateKind, data: bytes
) -> None:
    with suppress(ValueError):
        for aggregate in unpacked_piece(data, function).values():
            aggregate.merge(counted(function, [(5, 1.0)]))
            aggregate.result()
            aggregate.save()


@given(functions, st.lists(values, min_size=1, max_size=3), st.data())
def test_damaged_bytes_are_refused_or_can_be_counted_with(
    function: AggregateKind, given: list[float], data: st.DataObject
) -> None:
    counts = {topic: counted(function, list(enumerate(given))) for topic in ("a/b", "a/c")}
    piece = bytearray(packed_pieces(counts)[0])
    for _ in range(data.draw(st.integers(1, 3))):
        piece[data.draw(st.integers(0, len(piece) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ValueError):
        for aggregate in unpacked_piece(bytes(piece), function).values():
            aggregate.merge(counted(function, [(5, 1.0)]))
            aggregate.result()


@pytest.mark.parametrize(
    ("function", "saved"),
    [
        ("SUM", [0, 1, 0]),
        ("SUM", [1, 1, -1]),
        ("SUM", [1, 1, 1 << 40]),
        ("SUM", [1, 1 << 3000, 0]),
        ("AVG", [1 << 70, 1, 0]),
        ("STDDEV", [1, 1, 0, 0]),
        ("STDDEV", [1, 1, 2000, 1]),
        ("COUNT", [0]),
        ("MIN", [float("nan")]),
        ("MAX", [float("inf")]),
        ("FIRST", [1.0, -1]),
        ("LAST", [1.0, 1 << 80]),
        ("MEDIAN", [0, [], []]),
        ("MEDIAN", [1, [1 << 50, 1], []]),
        ("P95", [1, [1, 0], []]),
        ("P95", [1, [1], []]),
        ("P95", [1, list(range(20_000)), []]),
    ],
)
def test_what_no_values_add_up_to_is_refused(
    function: str, saved: list[int | float | list[int]]
) -> None:
    with pytest.raises((ValueError, IndexError)):
        AGGREGATES[function].running().restore(saved)


@pytest.mark.parametrize("function", ["FIRST", "LAST"])
def test_what_an_earlier_version_saved_is_as_old_as_can_be(function: str) -> None:
    earlier = AGGREGATES[function].running()
    earlier.restore([7.0])
    earlier.add(8.0, 5)
    assert earlier.result() == (7.0 if function == "FIRST" else 8.0)


# One broker's count of windows -----------------------------------------------------------------


def counting(now: float) -> tuple[Engine, CountedWindows]:
    engine = Engine()
    engine.services.saves = True
    return engine, engine.count("w", engine.parse("$QUARTERHOURLYSUM/+"), now)


def totals(state: CountedWindows, now: float) -> list[tuple[int, dict[str, float]]]:
    return [
        (ended.number, {topic: each.result() for topic, each in ended.topics.items()})
        for ended in state.take_ended(now)
    ]


def test_each_window_is_taken_once_with_values_or_without() -> None:
    _, state = counting(10.0)
    assert totals(state, 899.0) == []
    state.enter(Publication("a", b"1"), 20.0)
    state.enter(Publication("a", b"2"), 899.0)
    state.enter(Publication("a", b"4"), 900.0)  # ends the first window
    assert totals(state, 901.0) == [(0, {"a": 3.0})]
    assert totals(state, 901.0) == []
    assert totals(state, 2700.0) == [(1, {"a": 4.0}), (2, {})]
    assert [number for number, _ in totals(state, 900.0 * 100)] == list(range(100 - MOST_LATE, 100))


def test_what_was_counted_and_taken_is_known_after_a_restart() -> None:
    engine, state = counting(10.0)
    state.enter(Publication("a", b"1"), 20.0)
    assert totals(state, 900.0) == [(0, {"a": 1.0})]
    state.enter(Publication("b", b"2"), 1000.0)
    store = dict(state.take_changes())
    engine.tick(1000.0)
    _, again = counting(1900.0)
    again.restore([(name, part) for name, part in store.items() if part is not None], 1900.0)
    assert again.since == 10.0
    assert totals(again, 1900.0) == [(1, {"b": 2.0})]


def test_a_clock_that_is_set_back_loses_nothing() -> None:
    engine, state = counting(1000.0)
    state.enter(Publication("a", b"1"), 1000.0)
    assert totals(state, 5 * 900.0 + 1) == [(1, {"a": 1.0}), (2, {}), (3, {}), (4, {})]
    engine.clock_set(-3600.0, 5 * 900.0 + 2)
    state.enter(Publication("a", b"2"), 5 * 900.0 + 3)
    assert totals(state, 2700.0 + 3599.0) == []
    assert totals(state, 2700.0 + 3600.0) == [(5, {"a": 2.0})]


def test_damaged_notes_are_passed_over() -> None:
    for part in (b"", b"[]", b"[1,0,[],null,3]", b'[1,0.0,[],1.0,"x"]', json.dumps({}).encode()):
        _, state = counting(1000.0)
        state.restore([("", part)], 1000.0)
        assert state.since in (1.0, 1000.0)
