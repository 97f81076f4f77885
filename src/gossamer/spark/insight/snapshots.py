"""What the admin APIs told, kept in the lake: who was there and what links had carried by then."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.spark.insight import facts
from gossamer.spark.insight.tables import frame_of
from gossamer.spark.lake.hours import BATCH, DATE, hours_between
from gossamer.spark.lake.tables import LakeTable
from gossamer.spark.pipelines.pipeline import AdminAccess

# Clients come and go within minutes; a snapshot has a row for each of their subscriptions.
PAUSE_SECONDS: Final = 300.0

_SCHEMAS: Final = {
    "sessions": facts.SESSIONS,
    "subscriptions": facts.SUBSCRIPTIONS,
    "links": facts.LINKS,
}


class Snapshots:
    def __init__(self, root: str, brokers: Sequence[str], admins: Sequence[AdminAccess]) -> None:
        self._brokers = brokers
        self._admins = admins
        self._tables = {name: LakeTable(root, name, DATE, BATCH) for name in _SCHEMAS}
        self._taken_at: float | None = None
        self.silent: list[str] = []  # brokers that did not answer the last time

    def take(self, spark: SparkSession, batch: int) -> None:
        """Unless the last one is recent."""
        now = time.monotonic()
        if self._taken_at is not None and now < self._taken_at + PAUSE_SECONDS:
            return
        told = facts.ask_all(self._brokers, self._admins)
        date = F.lit(datetime.now(UTC).date().isoformat()).alias(DATE)
        rows = {
            "sessions": told.sessions,
            "subscriptions": told.subscriptions,
            "links": told.links,
        }
        for name, table in self._tables.items():
            frame = frame_of(spark, rows[name], _SCHEMAS[name])
            table.write_batch(frame.select("*", date), batch)
        self._taken_at = now
        self.silent = told.silent

    def read(self, spark: SparkSession, name: str, since: datetime) -> DataFrame:
        """All from that day on."""
        dates = {hour.date for hour in hours_between(since, datetime.now(UTC))}
        found = self._tables[name].read_parts(spark, [f"{DATE}={date}" for date in sorted(dates)])
        if found is None:
            return spark.createDataFrame([], f"{_SCHEMAS[name]}, {BATCH} int")
        return found.drop(DATE)
