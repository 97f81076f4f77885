"""`within`: which of many fences each of many messages is in."""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from gossamer.geo.earth import Point
from gossamer.geo.geolocation import Place
from gossamer.geo.interest import Interest
from gossamer.geo.overlap import Effort
from gossamer.geo.spatial_index import SpatialIndex
from gossamer.spark.fences.areas import (
    Area,
    interest_of,
    is_position,
    needs_reading,
    read_area,
    read_place,
)
from gossamer.spark.fences.cells import (
    CENTRE,
    NO_CENTRE,
    cell_at,
    cells_of,
    centre_of,
    coordinates,
    may_be_inside,
)

FENCE: Final = "fence"
AREA: Final = "area"

Fence = tuple[str, tuple[tuple[str, str], ...]]  # its name, and its area as User Properties

_PLACE: Final = {"lat": "double", "lon": "double", "glp": "string"}
# Beside the levels of cells: the rows that only the exact geometry can place.
_BY_READING: Final = -1
# A cell of a fence: its level, its number, the fence's number, and what its chord tells.
_TABLE: Final = f"_level int, _cell bigint, _number int, {CENTRE}"
_Cell = tuple[int, int, int, float | None, float | None, float | None, float | None]


def within(frame: DataFrame, fences: DataFrame | Mapping[str, Area]) -> DataFrame:
    """A row for each message and each fence that it is in: `fence`, and the message's columns.

    Messages have `lat` and `lon`, or `glp`, as the archive's rows do. `fences` are areas by name,
    or a frame with the texts `fence` and `area`, which is read at once. Messages that say nothing
    about places are in no fence. Raises GlpError, ValueError.
    """
    listed = _listed(fences)
    kept = [name for name in frame.columns if name != FENCE]
    placed = frame.withColumns(
        {
            name: (F.col(name) if name in frame.columns else F.lit(None)).cast(kind)
            for name, kind in _PLACE.items()
        }
    ).withColumns(coordinates(F.col("lat"), F.col("lon")))
    cells = _cells(listed)
    probes = placed.withColumn("_probe", F.explode(_probes({level for level, *_ in cells})))
    table = placed.sparkSession.createDataFrame(cells, _TABLE)
    near = (F.col("_probe._level") == F.col("_level")) & (F.col("_probe._cell") == F.col("_cell"))
    candidates = probes.join(F.broadcast(table), near).where(may_be_inside())
    inside = pandas_udf(_inside(tuple(listed)), "array<string>")  # type: ignore[call-overload]
    inside = inside.asNondeterministic()  # else Spark computes it again where the result is used
    lat, lon = (F.when(F.col("_number") >= 0, F.col(name)) for name in ("lat", "lon"))
    glp = F.when(F.col("_number") < 0, F.col("glp"))
    found = candidates.withColumn("_fences", inside(F.col("_number"), lat, lon, glp))
    return found.select(F.explode("_fences").alias(FENCE), *kept)


def _listed(fences: DataFrame | Mapping[str, Area]) -> list[Fence]:
    if isinstance(fences, DataFrame):
        rows = fences.select(FENCE, AREA).collect()
        fences = {str(row[FENCE]): row[AREA] for row in rows}
        if len(fences) < len(rows):
            raise ValueError("two fences have the same name")
    found: list[Fence] = []
    for name, area in fences.items():
        try:
            found.append((name, tuple(read_area(area))))
        except ValueError as problem:
            raise ValueError(f"fence {name!r}: {problem}") from None
    return found


def _cells(listed: list[Fence]) -> list[_Cell]:
    """One more row stands for all fences at once."""
    found: list[_Cell] = [(_BY_READING, 0, -1, *NO_CENTRE)]
    for number, (_, entries) in enumerate(listed):
        interest = interest_of(entries)
        level, cells = cells_of(interest)
        found += [(level, cell, number, *centre_of(interest)) for cell in cells]
    return found


def _probes(levels: set[int]) -> Column:
    """Where to look for a row's fences."""
    cells = [
        _probe(level, cell_at(level, F.col("lat"), F.col("lon")))
        for level in sorted(levels - {_BY_READING})
    ]
    by_reading = F.when(needs_reading(), F.array(_probe(_BY_READING, F.lit(0).cast("bigint"))))
    return F.when(is_position(), F.array(*cells)).otherwise(by_reading) if cells else by_reading


def _probe(level: int, cell: Column) -> Column:
    return F.struct(F.lit(level).alias("_level"), cell.alias("_cell"))


def _inside(listed: tuple[Fence, ...]) -> Callable[..., pd.Series]:
    def inside(number: pd.Series, lat: pd.Series, lon: pd.Series, glp: pd.Series) -> pd.Series:
        fences = _fences(listed)
        rows = zip(number.tolist(), lat.tolist(), lon.tolist(), glp.tolist(), strict=True)
        return pd.Series([fences.around(*row) for row in rows], dtype="object")

    return inside


class Fences:
    """The exact geometry, on an executor: about candidates that cells have found.

    Made once in each worker; a fence is read when it is first asked about.
    """

    def __init__(self, listed: tuple[Fence, ...]) -> None:
        self._listed = listed
        self._interests: dict[int, Interest] = {}
        self._index: SpatialIndex | None = None

    def around(self, number: int, lat: float, lon: float, glp: str | None) -> list[str]:
        """The fence of that number, if the position is in it; with GLP, all that it meets."""
        if glp is not None:
            place = read_place(glp)
            return [] if place is None else self._meeting(place)
        inside = self._interest(number).region.contains(Point(lat, lon))
        return [self._listed[number][0]] if inside else []

    def _meeting(self, place: Place) -> list[str]:
        if self._index is None:
            self._index = SpatialIndex()
            for number in range(len(self._listed)):
                self._index.add(self._interest(number))
        if place.point is not None:
            found = self._index.at(place.point, -math.inf)
        else:
            found = self._index.meeting(place.region, -math.inf, Effort())
        return [str(interest.holder) for interest in found]

    def _interest(self, number: int) -> Interest:
        known = self._interests.get(number)
        if known is None:
            name, entries = self._listed[number]
            known = self._interests[number] = interest_of(entries, name)
        return known


@lru_cache(maxsize=4)
def _fences(listed: tuple[Fence, ...]) -> Fences:
    return Fences(listed)
