"""When a reading was taken, by its message's own word: a field with a time in it."""

from typing import Final

from gossamer.plus.plan import Field
from gossamer.plus.publication import read_time
from gossamer.spark.lake.payloads import FieldReading, Unreadable

_DAY: Final = 86_400_000_000  # microseconds
# A device may be away for a year and then send what it kept; its clock may be a day ahead. What is
# beyond is a clock that was never set, and would make partitions of its own.
OLDEST: Final = 366 * _DAY
NEWEST: Final = _DAY

# Seconds since 1970 are below this until the year 5138. Larger numbers are milliseconds, and those
# are below its thousandfold.
_SECONDS_BELOW: Final = 1e11


def pointer(field: Field) -> str:
    """The field as readings name it."""
    steps = (step.replace("~", "~0").replace("/", "~1") for step in field.steps)
    return "".join(f"/{step}" for step in steps)


def event_time(readings: list[FieldReading], name: str, received: int) -> int:
    """Microseconds since 1970; the time received where the message states none.

    Raises Unreadable if what it states is no time, or implausible.
    """
    for reading in readings:
        if reading.field == name:
            stated = _micros(reading)
            if not received - OLDEST <= stated <= received + NEWEST:
                raise Unreadable("its event time is implausible")
            return stated
    return received


def _micros(reading: FieldReading) -> int:
    """RFC 3339, or seconds, milliseconds or microseconds since 1970."""
    number = reading.number
    if number is None:
        try:
            return round(read_time(reading.text or "") * 1e6)
        except ValueError:
            raise Unreadable("its event time is no time") from None
    if abs(number) < _SECONDS_BELOW:
        return round(number * 1e6)
    return round(number * 1e3) if abs(number) < 1e3 * _SECONDS_BELOW else round(number)
