"""The collector walks what is new; what is alive it leaves alone until its hour has come."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from gossamer.net.event_loop import LEAST_SECONDS, GcSchedule


class Loop:
    """Timers that the test lets fire."""

    def __init__(self) -> None:
        self.later: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Any:
        self.later.append((seconds, callback))
        return asyncio.TimerHandle(0.0, callback, (), cast("asyncio.AbstractEventLoop", self))

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
