"""The collector walks what is new; what is alive it leaves alone until its hour has come."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.loop_turns import LoopTurns
from gossamer.broker.settings import Settings
from gossamer.net.event_loop import (
    IDLE_PART,
    IDLE_SECONDS,
    LEAST_SECONDS,
    GcSchedule,
    count_as_old,
)
from gossamer.net.turns import AGEING_SECONDS, Host
from gossamer.session.journal import Journal
from tests.support.logs import log_of


class Loop:
    """Timers that the test lets fire."""

    def __init__(self) -> None:
        self.later: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, seconds: float, callback: Callable[..., None], *arguments: Any) -> Any:
        self.later.append((seconds, lambda: callback(*arguments)))
        return asyncio.TimerHandle(0.0, callback, (), cast("asyncio.AbstractEventLoop", self))

    def go_on(self) -> float:
        """Lets the timer fire that there is; the seconds that it waited for."""
        [(seconds, callback)] = self.later
        self.later.clear()
        callback()
        return seconds

    def get_debug(self) -> bool:
        return False

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass


@pytest.fixture
def loop() -> Iterator[Loop]:
    before = gc.get_threshold()
    found = Loop()
    collector = GcSchedule(cast("asyncio.AbstractEventLoop", found))
    collector.start()
    yield found
    collector.stop()
    gc.unfreeze()
    assert gc.get_threshold() == before


def collected(generation: int) -> int:
    return int(gc.get_stats()[generation]["collections"])


def test_what_is_alive_is_not_walked_however_much_it_grows(loop: Loop) -> None:
    before = [collected(generation) for generation in range(3)]
    kept = [[number] for number in range(200_000)]
    after = [collected(generation) for generation in range(3)]
    assert after[0] > before[0]
    assert after[1] > before[1]
    assert after[2] == before[2]
    assert len(kept) == 200_000


def test_cycles_of_what_is_new_are_found(loop: Loop) -> None:
    before = gc.get_stats()[0]["collected"] + gc.get_stats()[1]["collected"]
    for _ in range(100_000):
        ring: list[object] = []
        ring.append(ring)
    found = gc.get_stats()[0]["collected"] + gc.get_stats()[1]["collected"] - before
    assert found > 90_000


def test_all_is_walked_once_an_hour(loop: Loop) -> None:
    ring: list[object] = []
    ring.append(ring)
    old = [[number] for number in range(20_000)]  # it outlives what is new
    before = collected(2)
    [(seconds, walk)] = loop.later
    assert seconds == LEAST_SECONDS
    walk()
    assert collected(2) == before + 1
    assert loop.later[-1][0] >= LEAST_SECONDS
    assert len(old) == 20_000


def test_all_is_walked_only_while_the_broker_has_little_to_do() -> None:
    loop = Loop()
    turns = LoopTurns()
    collector = GcSchedule(cast("asyncio.AbstractEventLoop", loop))
    collector.start()
    collector.note_runs(lambda phase, info: None, turns)
    try:
        before = collected(2)
        assert loop.go_on() == LEAST_SECONDS
        for _ in range(5):
            turns.seconds += 2 * IDLE_PART * IDLE_SECONDS
            assert loop.go_on() == IDLE_SECONDS
            assert collected(2) == before
        turns.seconds += 0.5 * IDLE_PART * IDLE_SECONDS
        loop.go_on()
        assert collected(2) == before + 1
        assert loop.later[-1][0] >= LEAST_SECONDS
    finally:
        collector.stop()
        gc.unfreeze()


def leave_rings(count: int) -> None:
    for _ in range(count):
        ring: list[object] = []
        ring.append(ring)


@pytest.mark.parametrize("rings", [0, 10])
def test_what_the_walk_finds_is_logged(loop: Loop, rings: int) -> None:
    gc.collect()
    leave_rings(rings)
    count_as_old()  # the walks over what is new do not find it any more
    with log_of("gossamer.net.event_loop") as said:
        loop.go_on()
    assert len(said) == (1 if rings else 0)
    if rings:
        assert said[0].startswith(f"the garbage collector found {rings} objects")


def test_what_replaces_old_objects_is_not_walked_all_at_once(loop: Loop) -> None:
    """There are no more objects than before, so no walk over what is new is due for long."""
    kept = [[number] for number in range(100_000)]
    gc.collect()
    gc.freeze()
    host = Host(
        Broker(Settings(), Journal(), 0.0), cast("asyncio.AbstractEventLoop", loop), lambda: None
    )
    host.count_as_old = count_as_old
    for number in range(100_000):
        kept[number] = [number]
        if number % 1_000 == 0:
            host.turns.seconds += AGEING_SECONDS
            host.turns.begin(0.0)
            host.turn_over(None)
    assert len(gc.get_objects(generation=0)) + len(gc.get_objects(generation=1)) < 5_000
    assert len(kept) == 100_000
