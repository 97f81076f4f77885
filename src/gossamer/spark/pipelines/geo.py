"""Positions to tracks, visits and dwell times per fence.

geo/positions     where each message said that its publisher was    by hour
geo/tracks        a row for each trip                               by date
geo/visits        a row for each stay of a visitor in a fence       by date
geo/dwells        of each fence: visits, visitors, time             by date

Fences are those of a GeoJSON file, or what subscribers drew around themselves.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.geo.geojson import areas_in
from gossamer.net.admin.client import AdminError
from gossamer.spark.fences.areas import read_area
from gossamer.spark.lake.files import BATCH, DATE, HOUR
from gossamer.spark.lake.folders import joined
from gossamer.spark.lake.tables import LakeTable, Upkeep, hours_of, span
from gossamer.spark.pipelines.pipeline import AdminAccess, Pipeline, PipelineError, PipelineSettings
from gossamer.spark.tracks.tracks import dwells, tracks, visits

Fences = dict[str, list[tuple[str, str]]]  # areas as User Properties

# They say what to tell of an area, or where its client is, and are no area themselves.
_NO_AREA: Final = ("gpl_events", "gpl_dwell", "gpl_hysteresis", "gpl_ping", "gpl_current_pos")
_KEPT: Final = ("broker", "offset", "time", "topic", "lat", "lon")


POSITIONS: Final = "geo/positions"
# And the columns that cut them into parts.
TABLES: Final = {POSITIONS: HOUR, "geo/tracks": DATE, "geo/visits": DATE, "geo/dwells": DATE}


class GeoPipeline:
    def __init__(self, spark: SparkSession, settings: PipelineSettings) -> None:
        self._fences = _fences(settings)
        tables = {
            name: LakeTable(settings.lake, name, cut, settings.history)
            for name, cut in TABLES.items()
        }
        self._upkeep = Upkeep(tables.values(), settings.compacts)
        self._positions, self._tracks, self._visits, self._dwells = tables.values()
        self._root = joined(settings.lake, "geo")
        self._newest: datetime | None = None
        self._taken = 0

    def take(self, frame: DataFrame, batch: int) -> None:
        spark = frame.sparkSession
        self._upkeep.now_and_then(self._newest)
        # Without publishers in the archive, whoever publishes on a topic is one visitor.
        client = F.coalesce("publisher", F.lit("")).alias("client")
        positions = frame.where("lat is not null and lon is not null").select(*_KEPT, client)
        files = self._positions.write_batch(positions, batch)
        for date in sorted({one.part.partition("T")[0] for one in files}):
            self._recompute(spark, date)
        self._newest = span(files)[1] or self._newest
        self._taken += sum(one.rows for one in files)

    def summary(self) -> list[str]:
        return [
            f"{self._taken:,} positions, {len(self._fences):,} fences",
            f"{self._root} has positions, tracks, visits, dwells",
        ]

    def _recompute(self, spark: SparkSession, date: str) -> None:
        """A day stands alone, and is computed anew when a position of it comes."""
        day = self._positions.read(spark, hours_of([date]))
        assert day is not None
        day = day.drop(HOUR, BATCH).persist()
        dated = F.lit(date).alias(DATE)
        try:
            self._tracks.replace(tracks(day).select("*", dated).coalesce(1), [date])
            found = visits(day, self._fences).persist()
            self._visits.replace(found.select("*", dated).coalesce(1), [date])
            self._dwells.replace(dwells(found).select("*", dated).coalesce(1), [date])
            found.unpersist()
        finally:
            day.unpersist()


def _fences(settings: PipelineSettings) -> Fences:
    if settings.fences:
        return from_file(settings.fences)
    if settings.admins:
        return from_subscriptions(settings.admins)
    raise PipelineError("name a GeoJSON file of fences (--fences), or admin APIs (--admin)")


def from_file(path: str) -> Fences:
    """Each feature is a fence, by its property `name`, its `id` or its number."""
    try:
        document: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise PipelineError(f"cannot read {path}: {problem.strerror}") from None
    except ValueError as problem:
        raise PipelineError(f"{path} is not JSON: {problem}") from None
    features = document.get("features") if isinstance(document, dict) else None
    found: Fences = {}
    for number, feature in enumerate(features or [document], 1):
        if not areas_in(feature):
            continue  # a point or a line in the same file
        name = _name(feature, number)
        if name in found:
            raise PipelineError(f"{path} has two fences {name!r}: give each a name of its own")
        try:
            found[name] = read_area(feature)
        except ValueError as problem:
            raise PipelineError(f"{path}, fence {name!r}: {problem}") from None
    if not found:
        raise PipelineError(f"{path} has no Polygon or MultiPolygon")
    return found


def _name(feature: dict[str, Any], number: int) -> str:
    properties = feature.get("properties") or {}
    return str(properties.get("name") or feature.get("id") or f"fence {number}")


def from_subscriptions(admins: Sequence[AdminAccess]) -> Fences:
    """Of located subscriptions, `CLIENT FILTER`. Areas that follow their client are left out."""
    found: Fences = {}
    for admin in admins:
        try:
            entries = list(admin.pages("/v1/subscriptions"))
        except AdminError as problem:
            raise PipelineError(f"the admin API at {admin.host}:{admin.port}: {problem}") from None
        for one in entries:
            areas = [(key, text) for key, text in one["glp"] if key not in _NO_AREA]
            if areas and not any("Dynamic" in key for key, _ in areas):
                found[f"{one['client_id']} {one['filter']}"] = read_area(areas)
    if not found:
        raise PipelineError("no subscription has areas that stay where they are: use --fences FILE")
    return found


GEO: Final = Pipeline(
    "geo",
    "positions to tracks, visits and dwell times of fences",
    ("broker", "offset", "time", "topic", "publisher", "lat", "lon"),
    GeoPipeline,
    _fences,
)
