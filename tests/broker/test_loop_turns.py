"""Turns of the event loop, with times that the tests pass in: counted, and named when they are
long."""

from itertools import pairwise

import pytest

from gossamer.broker.loop_turns import (
    ADMIN,
    CLIENT,
    COLLECTOR,
    FIRST_BOUND,
    LOG_SECONDS,
    LONG_SECONDS,
    QUEUE,
    SLOT_SECONDS,
    SLOTS,
    TEXTS,
    TIMER,
    HeldTurn,
    LoopTurns,
    MeasuredTurn,
    Stopwatch,
    described,
)
from gossamer.broker.timers import Timer, Timers
from tests.support.logs import log_of

LOGGER = "gossamer.broker.loop_turns"


def turn(turns: LoopTurns, began: float, seconds: float, kind: str, about: str) -> bool:
    """Whether a name was wanted; it is given."""
    turns.begin(began)
    if not turns.end(began + seconds):
        return False
    turns.name(began + seconds, kind, about)
    return True


def counted(turns: LoopTurns) -> list[int]:
    """Of each bucket alone."""
    below = [0, *(count for _, count in turns.buckets())]
    return [after - before for before, after in pairwise(below)]


@pytest.mark.parametrize(
    ("seconds", "bucket"),
    [
        (0.0, 0),
        (-1e-9, 0),
        (0.000_063, 0),
        (FIRST_BOUND, 0),
        (0.000_065, 1),
        (0.001, 4),
        (0.05, 10),
        (8.0, 17),
        (8.4, 18),
        (3600.0, 18),
    ],
)
def test_each_turn_is_in_one_bucket(seconds: float, bucket: int) -> None:
    turns = LoopTurns()
    turn(turns, 0.0, seconds, CLIENT, "c")
    assert [at for at, count in enumerate(counted(turns)) if count] == [bucket]
    assert turns.seconds == seconds


def test_bounds_are_powers_of_two_from_64_microseconds_to_8_seconds() -> None:
    bounds = [bound for bound, _ in LoopTurns().buckets()]
    assert bounds[0] == 0.000_064
    assert 8.0 < bounds[-2] < 8.5
    assert bounds[-1] == float("inf")
    assert all(after == 2 * before for before, after in pairwise(bounds[:-1]))


def test_only_turns_that_are_long_or_the_longest_want_a_name() -> None:
    turns = LoopTurns()
    assert turn(turns, 0.0, 0.002, CLIENT, "first")
    assert not turn(turns, 0.0, 0.002, CLIENT, "as long")
    assert not turn(turns, 1.0, 0.001, CLIENT, "shorter")
    assert turn(turns, 2.0, 0.003, CLIENT, "longer")
    assert turn(turns, 3.0, 0.5, CLIENT, "long")
    assert turn(turns, 4.0, 0.1, CLIENT, "long, and not the longest")
    assert not turn(turns, 5.0, LONG_SECONDS / 2, CLIENT, "not long")
    assert turns.long_turns() == turns.long[CLIENT].count == 2
    assert turns.long[CLIENT].longest == 0.5
    assert turns.worst().about == "long"


def test_the_worst_is_that_of_the_last_minute() -> None:
    turns = LoopTurns()
    turn(turns, 1000.0, 0.04, TIMER, "Old")
    at = 1000.0
    for _ in range(SLOTS):
        at += SLOT_SECONDS + 0.1
        turn(turns, at, 0.01, CLIENT, "new")
        assert turns.worst().about == "Old"
    turn(turns, at + SLOT_SECONDS + 0.1, 0.005, CLIENT, "newest")
    assert turns.worst().kind == CLIENT
    assert turns.worst().seconds == pytest.approx(0.01)
    turn(turns, at + 1000.0, 0.001, CLIENT, "after a long silence")
    assert turns.worst().about == "after a long silence"


def test_a_part_that_is_most_of_a_turn_gives_it_its_name() -> None:
    turns = LoopTurns()
    turns.begin(0.0)
    assert not turns.part(0.000_5)  # nobody looks for its name
    assert turns.part(0.07)
    turns.name_part(0.07, QUEUE, "slow")
    assert not turns.part(0.01)
    assert turns.end(0.1)
    with log_of(LOGGER) as said:
        turns.name(0.1, CLIENT, "")
    assert said == ["the event loop was held for 100 ms by the queue of client 'slow'"]
    assert (turns.long[QUEUE].count, turns.long[CLIENT].count) == (1, 0)


def test_a_part_that_is_less_is_mentioned() -> None:
    turns = LoopTurns()
    turns.begin(0.0)
    turns.name_part(0.02, TIMER, "SysTopics")
    assert turns.end(0.1)
    with log_of(LOGGER) as said:
        turns.name(0.1, ADMIN, "GET /v1/sessions")
    assert said == [
        "the event loop was held for 100 ms by the admin request GET /v1/sessions, "
        "20 ms of it the timer SysTopics"
    ]


def test_parts_of_one_turn_are_not_those_of_the_next() -> None:
    turns = LoopTurns()
    turns.begin(0.0)
    turns.name_part(0.02, TIMER, "SysTopics")
    turns.end(0.021)
    with log_of(LOGGER) as said:
        turn(turns, 1.0, 0.1, CLIENT, "c")
    assert said == ["the event loop was held for 100 ms by input of client 'c'"]


def test_runs_of_the_collector_add_up_within_a_turn() -> None:
    turns = LoopTurns()
    turns.begin(0.0)
    for run in range(3):
        turns.collected(0.02 * run, 0.02 * run + 0.02, 1)
    assert turns.end(0.08)
    turns.name(0.08, CLIENT, "c")
    assert turns.worst().kind == COLLECTOR
    assert (turns.long[COLLECTOR].count, turns.long[CLIENT].count) == (1, 0)
    assert turns.collector_runs == 3
    assert turns.collector_seconds == pytest.approx(0.06)
    assert turns.buckets()[-1][1] == 1  # one turn


def test_a_run_of_the_collector_beside_turns_is_one_itself() -> None:
    turns = LoopTurns()
    turns.collected(1.0, 1.000_1, 0)  # too short for a word
    with log_of(LOGGER) as said:
        turns.collected(2.0, 2.2, 2)
    held_by = "Python's garbage collector (generation 2)"
    assert said == [f"the event loop was held for 200 ms by {held_by}"]
    assert turns.buckets()[-1][1] == 1
    assert turns.long[COLLECTOR].count == 1


def test_the_log_has_one_line_in_ten_seconds_and_how_many_were_left_out() -> None:
    turns = LoopTurns()
    with log_of(LOGGER) as said:
        turn(turns, 100.0, 0.1, CLIENT, "first")
        for number in range(7):
            turn(turns, 101.0 + number, 0.2, CLIENT, f"c{number}")
        turn(turns, 100.2 + LOG_SECONDS, 0.06, CLIENT, "last")
        turn(turns, 100.3 + 2 * LOG_SECONDS, 0.06, CLIENT, "alone")
    assert said == [
        "the event loop was held for 100 ms by input of client 'first'",
        "the event loop was held for 60 ms by input of client 'last' "
        "(7 more long turns since it was last logged)",
        "the event loop was held for 60 ms by input of client 'alone'",
    ]
    assert turns.long[CLIENT].count == 10


@pytest.mark.parametrize("kind", TEXTS)
def test_every_kind_can_be_said(kind: str) -> None:
    assert "this" in described(HeldTurn(1.0, kind, "this"))
    assert "%" not in described(HeldTurn(1.0, kind, ""))


def test_names_of_clients_are_cut_and_quoted() -> None:
    said = described(HeldTurn(1.0, CLIENT, "\x1b[2J" + "x" * 65_000))
    assert said.isprintable()
    assert len(said) < 150


class Steps(Stopwatch):
    """Shows these times, one after the other."""

    def __init__(self, *times: float) -> None:
        self.times = list(times)

    def read(self) -> float:
        return self.times.pop(0)


class Slow(Timer):
    """Does nothing; what it takes is in the stopwatch."""


def test_a_slow_timer_is_named() -> None:
    turns = LoopTurns()
    timers = Timers(None, turns)
    timers.add(1.0, Timer())
    timers.add(2.0, Slow())
    timers.add(3.0, Timer())
    # The turn, the first timer, the ends of two timers, the turn's end: the third has to wait.
    turns.measure_with(Steps(10.0, 10.0, 10.0001, 10.081, 10.09))
    with log_of(LOGGER) as said, MeasuredTurn(turns, TIMER):
        timers.run(5.0)
    assert said == ["the event loop was held for 90 ms by the timer Slow"]
    assert timers.is_behind


def test_a_turn_that_failed_is_measured_all_the_same() -> None:
    turns = LoopTurns()
    turns.measure_with(Steps(1.0, 1.5))
    with pytest.raises(KeyError), MeasuredTurn(turns, ADMIN, "GET /v1/loop"):
        raise KeyError
    assert not turns.is_open
    assert turns.long[ADMIN].count == 1
