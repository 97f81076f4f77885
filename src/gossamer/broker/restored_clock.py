"""What a broker's time is after a restart, and how much of the wall clock it believes.

While it runs, its time goes on by the monotonic clock; `Core.wall_offset` is what the wall clock
shows more. For how long it was down only the wall clock can tell. The store has both times as they
were last, and from them it goes on: by as much as the wall clock has moved since. A clock that
shows a time before it, or one so far ahead that nobody leaves a broker down for so long, is not
believed: then no time has passed, and nothing expires that should not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.timers import Timer

if TYPE_CHECKING:
    from gossamer.broker.core import Core

ROOM: Final = "clock"
KEY: Final = "last"
_VERSION: Final = "1"
# Both times are written this often; a clock cannot be found wrong by less than what passed since.
KEEP_SECONDS: Final = 60.0
# A year and a day. Whoever starts a broker after longer finds what it had, not what is left of it.
LONGEST_PAUSE: Final = 367 * 86_400.0
# What time servers correct in passing; not worth a word.
_SMALL: Final = 60.0


class RestoredClock:
    """`now` is the broker's time at its start; `complaint` says why the wall clock was not
    believed, "" if it was."""

    def __init__(self, now: float, complaint: str = "") -> None:
        self.now = now
        self.complaint = complaint


def resumed(kept: bytes | None, written_at: float, wall: float) -> RestoredClock:
    """`kept` is what an earlier process wrote; without it (of a version that did not), `written_at`
    is when its files were last changed, 0.0 if there are none."""
    last, shown = _read(kept) or (written_at, written_at)
    if not last:
        return RestoredClock(wall)
    pause = wall - shown
    if pause < 0.0:
        complaint = f"{-pause:.0f} s before the last time that the store knows"
        return RestoredClock(last, complaint if pause < -_SMALL else "")
    if pause > LONGEST_PAUSE:
        return RestoredClock(
            last, f"{pause / 86_400:.0f} days after the last time that the store knows"
        )
    return RestoredClock(last + pause)


class ClockSaver(Timer):
    """Writes both times again and again."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def fire(self, now: float) -> float:
        keep_clock(self.core, now)
        return now + KEEP_SECONDS


def keep_clock(core: Core, now: float) -> None:
    text = f"{_VERSION};{now!r};{now + core.wall_offset!r}"
    core.journal.keep(ROOM, KEY, text.encode())


def _read(kept: bytes | None) -> tuple[float, float] | None:
    if kept is None:
        return None
    try:
        version, last, shown = kept.decode("ascii").split(";")
        return (float(last), float(shown)) if version == _VERSION else None
    except ValueError:
        return None
