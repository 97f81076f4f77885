"""Timers that are due are fired in the order of their times, in slices where they are many."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.broker.loop_turns import LoopTurns, Stopwatch
from gossamer.broker.timers import SLICE_SECONDS, Timer, Timers

TIMES = st.integers(0, 20).map(float)


class Watch(Stopwatch):
    """Moved by the timers that are measured with it."""

    def __init__(self) -> None:
        self.shown = 0.0

    def read(self) -> float:
        return self.shown


class Noted(Timer):
    """Takes some of a slice to fire, and may come again."""

    def __init__(self, name: int, fired: list[int], watch: Watch, again: float) -> None:
        self.name = name
        self.fired = fired
        self.watch = watch
        self.again = again
        self.part = 0.0

    def fire(self, now: float) -> float:
        self.fired.append(self.name)
        self.watch.shown += self.part * SLICE_SECONDS
        again, self.again = self.again, 0.0
        return again


def noted(
    asked: list[tuple[float, float]], cancelled: list[int], part: float
) -> tuple[Timers, list[int]]:
    watch = Watch()
    turns = LoopTurns()
    turns.measure_with(watch)
    timers = Timers(None, turns)
    fired: list[int] = []
    made: list[Noted] = []
    for name, (due, again) in enumerate(asked):
        timer = Noted(name, fired, watch, again)
        timer.part = part
        timers.add(due, timer)
        made.append(timer)
    for name in cancelled:
        if name < len(made):
            timers.cancel(made[name])
    return timers, fired


@given(
    st.lists(st.tuples(TIMES, st.integers(30, 40).map(float)), max_size=30),
    st.lists(st.integers(0, 29), max_size=10),
    st.sampled_from([0.0, 0.4, 1.0, 3.0]),
    TIMES,
)
def test_in_slices_they_fire_as_they_do_at_once(
    asked: list[tuple[float, float]], cancelled: list[int], part: float, now: float
) -> None:
    timers, fired = noted(asked, cancelled, part)
    due = [(at, name) for name, (at, _) in enumerate(asked) if at <= now and name not in cancelled]
    wanted = [name for _, name in sorted(due)]
    calls = 0
    while calls == 0 or timers.is_behind:
        before = len(fired)
        timers.run(now)
        calls += 1
        if part:
            assert (len(fired) - before) * part <= 1.0 + part + 1e-9
    assert fired == wanted
    assert len(timers) == len(asked) - len({name for name in cancelled if name < len(asked)})


@pytest.mark.parametrize("part", [0.0, 0.6])
def test_a_timer_that_comes_again_at_once_fires_once_a_run(part: float) -> None:
    timers, fired = noted([(1.0, 1.0)], [], part)
    timers.run(5.0)
    assert fired == [0]
    assert not timers.is_behind
    timers.run(5.0)
    assert fired == [0, 0]


def test_a_crowd_of_which_many_were_cancelled_is_fired_in_slices() -> None:
    class Running(Stopwatch):
        shown = 0.0

        def read(self) -> float:
            self.shown += SLICE_SECONDS
            return self.shown

    turns = LoopTurns()
    timers = Timers(None, turns)
    crowd = [Timer() for _ in range(10_000)]
    for timer in crowd:
        timers.add(1.0, timer)
    for timer in crowd[:4_000]:
        timers.cancel(timer)
    turns.measure_with(Running())
    timers.run(2.0)
    assert timers.is_behind
    while timers.is_behind:
        timers.run(2.0)
    assert len(timers) == 0
    assert all(timer.ticket == 0 for timer in crowd)
