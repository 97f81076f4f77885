"""Positions to tracks, visits and dwell times per fence.

geo/positions     where each message said that its publisher was    by date, hour, batch
geo/tracks        a row for each trip                               by date
geo/visits        a row for each stay of a visitor in a fence       by date
geo/dwells        of each fence: visits, visitors, time             by date
"""

from typing import Final

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from gossamer.spark.lake.batches import moment
from gossamer.spark.lake.files import joined
from gossamer.spark.lake.hours import DATE, hour_columns, hours_between
from gossamer.spark.lake.tables import LakeTable, by_hour_and_batch
from gossamer.spark.pipelines.pipeline import Pipeline, PipelineError, PipelineSettings
from gossamer.spark.tracks.fence_files import Fences, from_file, from_subscriptions
from gossamer.spark.tracks.frames import dwells, tracks, visits

_KEPT: Final = ("broker", "offset", "time", "topic", "lat", "lon")


class GeoPipeline:
    def __init__(self, spark: SparkSession, settings: PipelineSettings) -> None:
        root = joined(settings.lake, "geo")
        self._fences = _fences(settings)
        self._positions = by_hour_and_batch(root, "positions")
        self._tracks = LakeTable(root, "tracks", DATE)
        self._visits = LakeTable(root, "visits", DATE)
        self._dwells = LakeTable(root, "dwells", DATE)
        self._root = root
        self._taken = 0

    def take(self, frame: DataFrame, batch: int) -> None:
        spark = frame.sparkSession
        seen = Observation()
        micros = F.unix_micros("time")
        # Without publishers in the archive, whoever publishes on a topic is one visitor.
        client = F.coalesce("publisher", F.lit("")).alias("client")
        positions = (
            frame.where("lat is not null and lon is not null")
            .select(*_KEPT, client)
            .observe(seen, F.count("*").alias("rows"), F.min(micros).alias("first"),
                     F.max(micros).alias("last"))
        )  # fmt: skip
        self._positions.write_batch(positions.withColumns(hour_columns(F.col("time"))), batch)
        first, last = moment(seen.get["first"]), moment(seen.get["last"])
        if first is None or last is None:
            return
        hours = self._positions.hours_of(spark, hours_between(first, last), batch)
        for date in sorted({hour.date for hour in hours}):
            self._recompute(spark, date)
        self._taken += int(seen.get["rows"])

    def summary(self) -> list[str]:
        return [
            f"{self._taken:,} positions, {len(self._fences):,} fences",
            f"{self._root} has positions, tracks, visits, dwells",
        ]

    def _recompute(self, spark: SparkSession, date: str) -> None:
        """A day stands alone, and is computed anew when a position of it comes."""
        day = self._positions.read_parts(spark, [f"{DATE}={date}"])
        assert day is not None
        day = day.drop("hour", "batch", DATE).persist()
        dated = F.lit(date).alias(DATE)
        try:
            self._tracks.replace(tracks(day).select("*", dated).coalesce(1))
            found = visits(day, self._fences).persist()
            # Without visits there is nothing that could take the place of what was there.
            self._visits.replace(found.select("*", dated).coalesce(1))
            self._dwells.replace(dwells(found).select("*", dated).coalesce(1))
            found.unpersist()
        finally:
            day.unpersist()


def _fences(settings: PipelineSettings) -> Fences:
    if settings.fences:
        return from_file(settings.fences)
    if settings.admins:
        return from_subscriptions(settings.admins)
    raise PipelineError("name a GeoJSON file of fences (--fences), or admin APIs (--admin)")


GEO: Final = Pipeline(
    "geo",
    "positions to tracks, visits and dwell times of fences",
    ("broker", "offset", "time", "topic", "publisher", "lat", "lon"),
    GeoPipeline,
    _fences,
)
