"""Where to begin and end in each broker's archive: an end of it, offsets by name, or a time."""

import json
from dataclasses import dataclass
from typing import Final

from gossamer.plus.publication import read_time
from gossamer.spark.source.replay import Replay

EARLIEST: Final = "earliest"
LATEST: Final = "latest"


@dataclass(frozen=True)
class StartPosition:
    """Exactly one of them is set."""

    end: str = ""  # EARLIEST or LATEST
    offsets: tuple[tuple[str, int], ...] = ()  # by broker
    micros: int | None = None

    def offset(self, replay: Replay) -> int:
        """The offset in this broker's archive, within what is there."""
        if self.micros is not None:
            return max(replay.earliest, min(replay.locate(self.micros), replay.next))
        if self.offsets:
            return self._stated(replay)
        return replay.earliest if self.end == EARLIEST else replay.next

    def _stated(self, replay: Replay) -> int:
        offsets = dict(self.offsets)
        if replay.broker not in offsets:
            named = ", ".join(sorted(offsets))
            raise ValueError(f"there is an offset for {named}, but none for {replay.broker}")
        if offsets[replay.broker] > replay.next:
            raise ValueError(
                f"offset {offsets[replay.broker]} of {replay.broker} is not there yet: "
                f"its next one is {replay.next}"
            )
        return offsets[replay.broker]


def parse_position(text: str) -> StartPosition:
    """Raises ValueError."""
    if text.lower() in (EARLIEST, LATEST):
        return StartPosition(end=text.lower())
    if text.lstrip().startswith("{"):
        return StartPosition(offsets=_offsets(text))
    try:
        return StartPosition(micros=max(0, round(read_time(text) * 1e6)))
    except ValueError:
        raise ValueError(
            f"{text[:60]!r} is none of {EARLIEST}, {LATEST}, a JSON map from broker to offset, "
            "and an RFC 3339 time such as 2031-05-24T15:36:25Z"
        ) from None


def _offsets(text: str) -> tuple[tuple[str, int], ...]:
    try:
        found: object = json.loads(text)
    except ValueError as problem:
        raise ValueError(f"the map of offsets is not JSON: {problem}") from None
    if not isinstance(found, dict) or not found:
        raise ValueError("the map of offsets is empty")
    for broker, offset in found.items():
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise ValueError(f"the offset of {broker} is not a whole number from 0")
    return tuple(found.items())
