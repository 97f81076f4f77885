"""One fence around a subscription: the broker's match rule, over rows.

A row that says nothing about places passes. One whose position is in none of the fence's cells is
dropped by built-in functions; the exact geometry decides about the rest, on the executors.
"""

import math
from collections.abc import Callable
from typing import Final

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from gossamer.geo.earth import Point
from gossamer.geo.geolocation import NOWHERE, Place
from gossamer.geo.overlap import Effort, delivers
from gossamer.spark.fences.areas import (
    Area,
    Entries,
    interest_of,
    is_position,
    kept_interest,
    needs_reading,
    read_area,
    read_place,
)
from gossamer.spark.fences.cells import cell_at, cells_of

# Of messages: whether they are about places outside.
OUTSIDE: Final = "_outside"


def fenced(frame: DataFrame, area: Area) -> DataFrame:
    """The messages that a subscription with this area would get. Raises GlpError, ValueError."""
    return marked(frame, area).where(~F.col(OUTSIDE)).drop(OUTSIDE)


def marked(frame: DataFrame, area: Area) -> DataFrame:
    """All messages, with `OUTSIDE`. Raises GlpError, ValueError."""
    entries = read_area(area)
    level, cells = cells_of(interest_of(entries))
    judged = pandas_udf(_judge(entries), "boolean")  # type: ignore[call-overload]
    near = cell_at(level, F.col("lat"), F.col("lon")).isin(cells)
    placed = frame.withColumns({"_at": is_position(), "_speaks": needs_reading(), "_near": near})
    # What is far is about no place for the exact geometry, which takes no time for it.
    looked = F.col("_at") & F.col("_near")
    lat, lon = (F.when(looked, F.col(name)) for name in ("lat", "lon"))
    inside = judged(lat, lon, F.when(F.col("_speaks"), F.col("glp")))
    outside = (F.col("_at") & ~F.col("_near")) | ~inside
    return placed.withColumn(OUTSIDE, outside).drop("_at", "_speaks", "_near")


def _judge(entries: Entries) -> Callable[..., pd.Series]:
    """A function on columns; what has neither a position nor GLP passes."""
    sent = tuple(entries)

    def judge(lat: pd.Series, lon: pd.Series, glp: pd.Series) -> pd.Series:
        interest = kept_interest(sent)
        rows = zip(lat.tolist(), lon.tolist(), glp.tolist(), strict=True)
        return pd.Series([delivers(_place(*row), interest, -math.inf, Effort()) for row in rows])

    return judge


def _place(lat: float, lon: float, glp: str | None) -> Place | None:
    if glp is not None:
        return read_place(glp)
    return None if math.isnan(lat) else Place(Point(lat, lon), NOWHERE, None)
