"""The event loop of choice (uvloop where it installs, asyncio's own elsewhere), and when the cyclic
garbage collector runs on it: often over what is new, rarely over the rest.

Nothing that the broker keeps is in a cycle once it is done with, so reference counts free it; what
tests and attacks leave for the collector is nothing. But Python walks all that is alive whenever
that has grown by a quarter, and every client waits meanwhile: 15 ms with a few megabytes of
sessions, seconds with gigabytes. So only what is new is walked as Python does it, in a fraction of
a millisecond. Python counts how many objects there are more, and not how many are new: where the
core replaces what it keeps, a hundred thousand new ones would come to be walked at once. So what
has survived some milliseconds of the core's work counts as old.

Everything that is alive is walked for what was overlooked, when the broker has next to nothing to
do, and in no more than a small part of the time. What that finds is counted, and logged.
"""

import asyncio
import gc
import logging
import time
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from gossamer.broker.loop_turns import LoopTurns

logger = logging.getLogger(__name__)

T = TypeVar("T")
# Called by the collector: "start" or "stop", and of which generation.
NoteRun = Callable[[str, dict[str, int]], None]
# New objects before they are walked, and how often that is done before those that survived it are
# walked once more: some 4,000 at a time.
NEW_OBJECTS: Final = 700
NEW_ROUNDS: Final = 5
NEVER: Final = 1 << 30
# All that is alive: after an hour, and so seldom that it takes no more than a ten-thousandth of the
# time. Then it waits for so many seconds of which the loop was busy for no more than a small part.
LEAST_SECONDS: Final = 3600.0
PART_OF_TIME: Final = 10_000.0
IDLE_SECONDS: Final = 10.0
IDLE_PART: Final = 0.02


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs to the end, as `asyncio.run` does."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


class GcSchedule:
    """On one event loop, from `start` to `stop`."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._timer: TimerHandle | None = None
        self._before = gc.get_threshold()
        self._noted_by: NoteRun | None = None
        self._turns: LoopTurns | None = None
        self._busy = 0.0  # seconds of all turns, when it was last looked whether the loop is idle

    def start(self) -> None:
        """What is there now (modules, most of all) stays, and is not walked every time.

        Before the first session: what ends must still be found.
        """
        gc.collect()
        gc.freeze()
        gc.set_threshold(NEW_OBJECTS, NEW_ROUNDS, NEVER)
        self._timer = self._loop.call_later(LEAST_SECONDS, self._walk_all)

    def note_runs(self, note: NoteRun, turns: LoopTurns | None = None) -> None:
        """From now on every run of the collector is told of; with `turns`, all that is alive is
        walked when these are few."""
        self._noted_by = note
        self._turns = turns
        gc.callbacks.append(note)

    def stop(self) -> None:
        if self._noted_by is not None:
            gc.callbacks.remove(self._noted_by)
            self._noted_by = None
        gc.set_threshold(*self._before)
        if self._timer is not None:
            self._timer.cancel()

    def _walk_all(self) -> None:
        if self._turns is None:
            self._walk()
        else:
            self._busy = self._turns.seconds
            self._timer = self._loop.call_later(IDLE_SECONDS, self._walk_if_idle, self._turns)

    def _walk_if_idle(self, turns: LoopTurns) -> None:
        if turns.seconds - self._busy <= IDLE_PART * IDLE_SECONDS:
            self._walk()
        else:
            self._walk_all()

    def _walk(self) -> None:
        began = time.perf_counter()
        gc.unfreeze()
        found = gc.collect()
        gc.freeze()
        took = time.perf_counter() - began
        if found:
            logger.warning(
                "the garbage collector found %d objects that should have been freed before; it "
                "held the event loop for %.0f ms",
                found,
                took * 1e3,
            )
        pause = max(LEAST_SECONDS, took * PART_OF_TIME)
        self._timer = self._loop.call_later(pause, self._walk_all)


def count_as_old() -> None:
    """What is alive now is not walked with what will be new: at the cost of next to nothing."""
    gc.freeze()
