"""Tables cut by hour: `date=2031-05-24/hour=15`, in UTC."""

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

DATE: Final = "date"
HOUR: Final = "hour"
BATCH: Final = "batch"

_AN_HOUR: Final = timedelta(hours=1)


class Hour(NamedTuple):
    date: str
    hour: int

    @property
    def path(self) -> str:
        return f"{DATE}={self.date}/{HOUR}={self.hour}"

    @property
    def end(self) -> datetime:
        return datetime.fromisoformat(self.date).replace(tzinfo=UTC) + timedelta(
            hours=self.hour + 1
        )


def hour_columns(time: Column) -> dict[str, Column]:
    return {DATE: F.date_format(time, "yyyy-MM-dd"), HOUR: F.hour(time)}


def hour_of(time: datetime) -> Hour:
    return Hour(time.date().isoformat(), time.hour)


def hours_between(first: datetime, last: datetime) -> list[Hour]:
    """All that have a moment of [first, last] in them."""
    found: list[Hour] = []
    at = first.replace(minute=0, second=0, microsecond=0)
    while at <= last:
        found.append(hour_of(at))
        at += _AN_HOUR
    return found


def read_hour(date_folder: str, hour_folder: str) -> Hour | None:
    """Of the names of two folders; None if they are something else."""
    date, hour = date_folder.partition("="), hour_folder.partition("=")
    if date[0] != DATE or hour[0] != HOUR or not hour[2].isdigit():
        return None
    return Hour(date[2], int(hour[2]))
