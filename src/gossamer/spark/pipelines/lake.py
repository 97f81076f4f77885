"""Bronze, silver, gold: messages as archived, typed readings, and aggregates of them.

bronze/messages     as the brokers archived them            by date, hour received, batch
silver/readings     a row for each number or field          by date, hour of its time, batch
silver/aside        what could not be read, and why         by date, hour received, batch
gold/minute …       count, min, max, sum, avg, first, last  by topic and field
gold/corrections    windows that changed after they were final
batches             what each batch held
"""

from datetime import datetime
from typing import Final

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from gossamer.plus.plan import PlusError
from gossamer.plus.values import parse_field
from gossamer.spark.lake.batch_log import BatchEntry, BatchLog
from gossamer.spark.lake.compaction import Compactor
from gossamer.spark.lake.gold import LEVELS, READINGS, recompute
from gossamer.spark.lake.readings import pointer, readings
from gossamer.spark.lake.tables import RowsWritten, by_batch, by_hour_and_batch
from gossamer.spark.pipelines.pipeline import Pipeline, PipelineError, PipelineSettings

# Listing all hours takes a while in an old lake.
BATCHES_BETWEEN_COMPACTIONS: Final = 100


class LakePipeline:
    def __init__(self, spark: SparkSession, settings: PipelineSettings) -> None:
        self._root = root = settings.lake
        self._messages = by_hour_and_batch(root, "bronze/messages")
        self._readings = by_hour_and_batch(root, READINGS)
        self._aside = by_hour_and_batch(root, "silver/aside")
        self._corrections = by_batch(root, "gold/corrections")
        self._log = BatchLog(spark, root, settings.lateness)
        self._event_field = _pointer(settings.event_field)
        self._until_compaction = 0
        self._totals = BatchEntry()
        tables = (self._messages, self._readings, self._aside) if settings.compacts else ()
        self._compactors = [Compactor(spark, table) for table in tables]
        for compactor in self._compactors:
            compactor.finish()

    def take(self, frame: DataFrame, batch: int) -> None:
        spark = frame.sparkSession
        watermark = self._log.watermark(batch)
        self._compact_now_and_then(watermark, batch)
        written = self._messages.write_hours(frame, batch)
        messages = self._messages.read_batch(spark, written.hours(), batch)
        if messages is None:
            return
        entry = BatchEntry(messages=written.rows)
        made = self._write_silver(messages, batch, entry)
        if made.first is not None:
            entry.newest = made.last
            hours = self._readings.hours_of(spark, made.hours(), batch)
            recompute(spark, self._root, hours)
            new = self._readings.read_batch(spark, hours, batch)
            if watermark is not None and made.first < watermark and new is not None:
                entry.late = self._note_corrections(new, batch, watermark)
        self._log.write(batch, entry)
        self._totals = self._totals.plus(entry)

    def summary(self) -> list[str]:
        totals = self._totals
        lines = [
            f"{totals.messages:,} messages, {totals.readings:,} readings, "
            f"{totals.aside:,} payloads set aside"
        ]
        if totals.aside:
            lines.append(f"why they are aside: {self._aside.path}, column reason")
        if totals.late:
            lines.append(f"late readings that corrected final windows: {totals.late:,}, listed in ")
            lines[-1] += self._corrections.path
        names = ", ".join(level.name for level in LEVELS)
        lines.append(f"{self._root} has {self._readings.name}, {names}")
        return lines

    def _write_silver(self, messages: DataFrame, batch: int, entry: BatchEntry) -> RowsWritten:
        bad = Observation()
        read = readings(messages, self._event_field)
        made = read.observe(bad, F.count("reason").alias("aside")).where("reason is null")
        written = self._readings.write_hours(made.drop("content_type", "payload", "reason"), batch)
        entry.readings = written.rows
        entry.aside = int(bad.get["aside"])
        if entry.aside:
            aside = read.where("reason is not null").drop("field", "kind", "number", "text")
            self._aside.write_hours(aside, batch)
        return written

    def _note_corrections(self, new: DataFrame, batch: int, watermark: datetime) -> int:
        """Which minutes had late readings; how many they were."""
        minute = F.date_trunc("minute", F.col("time")).alias("start")
        late = new.where(F.col("time") < F.lit(watermark)).groupBy("topic", "field", minute)
        counted = late.agg(F.count("*").alias("readings")).persist()
        self._corrections.write_batch(counted.coalesce(1), batch)
        total = counted.agg(F.coalesce(F.sum("readings"), F.lit(0))).first()
        counted.unpersist()
        return 0 if total is None else int(total[0])

    def _compact_now_and_then(self, watermark: datetime | None, batch: int) -> None:
        self._until_compaction -= 1
        if watermark is not None and self._until_compaction < 0:
            self._until_compaction = BATCHES_BETWEEN_COMPACTIONS
            for compactor in self._compactors:
                compactor.compact(watermark, batch)


def _pointer(text: str) -> str:
    try:
        return pointer(parse_field(text)) if text else ""
    except PlusError as problem:
        raise PipelineError(f"the field of the event time: {problem}") from None


LAKE: Final = Pipeline(
    "lake",
    "archive to typed readings to 1-minute, 15-minute, hourly and daily aggregates",
    (),
    LakePipeline,
    lambda settings: _pointer(settings.event_field),
)
