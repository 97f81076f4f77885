"""Windows of time as columns: on the clock of the world or of a place, sliding, or ended by a gap.

Of a place, windows of more than an hour are those of its local time, as `plus/time_zones.py` has
them, so that it is local times that are grouped, and that a stream's watermark is of.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gossamer.plus.operators.windows import SessionWindow, SlidingWindow, Window
from gossamer.plus.time_zones import HOUR

# The time that decides in which window a message is.
WINDOW_TIME: Final = "window_time"
_MICROSECONDS: Final = 1_000_000


def with_window_time(frame: DataFrame, window: Window) -> DataFrame:
    time = F.col("time")
    if window.zone is not None and _is_local(window):
        time = F.from_utc_timestamp(time, window.zone.name)
    return frame.withColumn(WINDOW_TIME, time)


def window_of(window: Window) -> Column:
    """As the column `window`, of which `window_end` makes a time of the world."""
    length = _interval(window.seconds)
    if isinstance(window, SessionWindow):
        return F.session_window(WINDOW_TIME, length).alias("window")
    hop = window.pane.seconds if isinstance(window, SlidingWindow) else window.seconds
    if window.zone is None or _is_local(window):
        return F.window(WINDOW_TIME, length, _interval(hop))
    start = (hop - window.zone.shift(hop)) % hop
    return F.window(WINDOW_TIME, length, _interval(hop), _interval(start))


def window_end(window: Window, end: Column) -> Column:
    if window.zone is not None and _is_local(window):
        return F.to_utc_timestamp(end, window.zone.name)
    return end


def _is_local(window: Window) -> bool:
    hop = window.pane.seconds if isinstance(window, SlidingWindow) else window.seconds
    return hop > HOUR


def _interval(seconds: float) -> str:
    return f"{round(seconds * _MICROSECONDS)} microseconds"
