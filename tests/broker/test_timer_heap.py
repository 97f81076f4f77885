"""The heap of timers against a list that is sorted anew for every question."""

from random import Random

import pytest

from gossamer.broker.timers import Timer, Timers


class Noted(Timer):
    """Writes its name down; comes again after `every` seconds, if that is anything."""

    def __init__(self, name: int, fired: list[tuple[float, int]], every: float) -> None:
        self.name = name
        self.fired = fired
        self.every = every

    def fire(self, now: float) -> float:
        self.fired.append((now, self.name))
        return now + self.every if self.every else 0.0


class Meddler(Timer):
    """Cancels one timer and adds another while the timers run."""

    def __init__(self, timers: Timers, gone: Timer, new: Timer) -> None:
        self.timers = timers
        self.gone = gone
        self.new = new

    def fire(self, now: float) -> float:
        self.timers.cancel(self.gone)
        self.timers.add(now, self.new)
        return 0.0


@pytest.mark.parametrize("seed", range(30))
def test_timers_fire_in_the_order_in_which_they_are_due(seed: int) -> None:
    chance = Random(seed)
    timers = Timers()
    fired: list[tuple[float, int]] = []
    expected: list[tuple[float, int]] = []
    all_of_them = [Noted(name, fired, chance.choice([0.0, 0.0, 3.0])) for name in range(40)]
    waiting: dict[int, tuple[float, int]] = {}  # when, and the how-manyeth it was added
    added = 0
    now = 0.0
    for _ in range(1_500):
        step = chance.randrange(4)
        timer = chance.choice(all_of_them)
        if step < 2:
            due = now + chance.randrange(20)
            timers.add(due, timer)
            added += 1
            waiting[timer.name] = due, added
        elif step == 2:
            timers.cancel(timer)
            waiting.pop(timer.name, None)
        else:
            now += chance.randrange(6)
            timers.run(now)
            due_now = sorted((when, name) for name, when in waiting.items() if when[0] <= now)
            for _, name in due_now:
                del waiting[name]
                expected.append((now, name))
                if all_of_them[name].every:
                    added += 1
                    waiting[name] = now + 3.0, added
        assert fired == expected
        assert len(timers) == len(waiting)
        assert timers.next_due() == min((when for when, _ in waiting.values()), default=0.0)


def test_what_a_timer_adds_waits_for_the_next_run_and_what_it_cancels_does_not_fire() -> None:
    timers = Timers()
    fired: list[tuple[float, int]] = []
    gone, new = Noted(1, fired, 0.0), Noted(2, fired, 0.0)
    timers.add(1.0, Meddler(timers, gone, new))
    timers.add(2.0, gone)
    timers.run(5.0)
    assert not fired
    assert len(timers) == 1
    timers.run(5.0)
    assert fired == [(5.0, 2)]


def test_what_was_added_and_then_cancelled_in_one_run_does_not_come_back() -> None:
    timers = Timers()
    fired: list[tuple[float, int]] = []
    added = Noted(1, fired, 0.0)
    timers.add(1.0, Meddler(timers, Noted(2, fired, 0.0), added))
    timers.add(5.0, Meddler(timers, added, Noted(3, fired, 0.0)))
    timers.run(9.0)
    timers.run(9.0)
    assert fired == [(9.0, 3)]
