"""Windows in the time of a place: a day begins at its midnight, and has 23, 24 or 25 hours.

Windows of more than an hour begin when the local clock passes a multiple of their length, so that a
shift of eight hours may last seven or nine. Shorter ones are as long as always; they begin on the
multiples that the clock of the place shows when it is not summer there.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

HOUR: Final = 3_600.0
_EPOCH: Final = datetime(1970, 1, 1)  # read as the local time of any place
# A year whose winter and summer tell what its clock shows when it is not summer.
_WINTER: Final = datetime(2024, 1, 1, tzinfo=UTC)
_SUMMER: Final = datetime(2024, 7, 1, tzinfo=UTC)


def zone_of(name: str) -> "TimeZone | None":
    """None for UTC, whose windows are the multiples of their lengths. ValueError for no zone."""
    if name == "UTC":
        return None
    from zoneinfo import ZoneInfo  # here, since few brokers need it

    try:
        return TimeZone(name, ZoneInfo(name))
    except (KeyError, ValueError, OSError):  # the last for a name that is a folder
        raise ValueError(f"{name[:40]!r} is no time zone") from None


class TimeZone:
    """`name` is that of the IANA database, `rules` what the database says of it."""

    __slots__ = ("_rules", "_standard", "name")

    def __init__(self, name: str, rules: tzinfo) -> None:
        self.name = name
        self._rules = rules
        times = [when.timestamp() for when in (_WINTER, _SUMMER)]
        self._standard = min([self._offset(time) for time in times])

    def shift(self, seconds: float) -> float:
        """By how much windows of that length, an hour at most, begin before multiples in UTC."""
        return self._standard % seconds

    def start(self, wall: float, seconds: float) -> float:
        """When the window that contains this time began."""
        if seconds <= HOUR:
            shift = self.shift(seconds)
            return (wall + shift) // seconds * seconds - shift
        return self._begin(self._number(wall, seconds), seconds)

    def end(self, start: float, seconds: float) -> float:
        """Of the window that began then."""
        if seconds <= HOUR:
            return start + seconds
        return self._begin(self._number(start, seconds) + 1, seconds)

    def _number(self, wall: float, seconds: float) -> int:
        number = int((wall + self._offset(wall)) // seconds)
        # Where the clock is set back over the beginning of a window, that began when it was there
        # for the first time.
        while wall >= self._begin(number + 1, seconds):
            number += 1
        return number

    def _begin(self, number: int, seconds: float) -> float:
        """Where the clock never shows that time, the moment when it is set forward over it."""
        local = _EPOCH + timedelta(seconds=number * seconds)
        return local.replace(tzinfo=self._rules).timestamp()

    def _offset(self, wall: float) -> float:
        offset = datetime.fromtimestamp(wall, self._rules).utcoffset()
        return 0.0 if offset is None else offset.total_seconds()
