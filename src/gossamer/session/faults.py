"""What went wrong inside the broker: counted by where, logged without a flood.

An exception that no rule of MQTT foresees is a fault of ours. It ends the one thing it is about (a
timed timer, a connection, a delivery) and nothing else; whoever catches it notes it here.
"""

import logging
from typing import Final

logger = logging.getLogger(__name__)

# A fault that repeats is logged once in this time for each place and kind, with how many it were.
LOG_SECONDS: Final = 60.0


class Faults:
    """`by_place` is bounded by the code: places are names of timers and of steps."""

    __slots__ = ("_logged", "by_place", "total")

    def __init__(self) -> None:
        self.total = 0
        self.by_place: dict[str, int] = {}
        self._logged: dict[tuple[str, str], tuple[float, int]] = {}  # when, and how many since

    def note(self, place: str, error: Exception, about: str, now: float) -> None:
        """`about` names the one that it happened to: a client, a filter."""
        self.total += 1
        self.by_place[place] = self.by_place.get(place, 0) + 1
        kind = (place, type(error).__name__)
        known = self._logged.get(kind)
        if known is not None and 0.0 <= now - known[0] < LOG_SECONDS:
            self._logged[kind] = (known[0], known[1] + 1)
            return
        self._logged[kind] = (now, 0)
        repeated = f" ({known[1]} more since it was last logged)" if known and known[1] else ""
        logger.error(
            "internal error in %s%s%s: %s: %s; everything else continues",
            place,
            f", {about[:200]}" if about else "",
            repeated,
            kind[1],
            str(error)[:500],
            exc_info=error,
        )
