"""Bronze, silver, gold: messages as archived, typed readings, and aggregates of them.

bronze/messages     as the brokers archived them            by hour received
silver/readings     a row for each number or field          by hour of its time
silver/aside        what could not be read, and why         by hour received
gold/minute …       count, min, max, sum, avg, first, last  by topic and field
gold/corrections    windows that changed after they were final
batches             what each batch held

One pass over a batch writes bronze and silver. Gold is computed from silver, whole parts at a time.
"""

from datetime import datetime
from typing import Final

import pyarrow.compute as pc
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from gossamer.plus.plan import PlusError
from gossamer.plus.values import parse_field
from gossamer.spark.lake.batch_log import BatchEntry, BatchLog
from gossamer.spark.lake.batch_rows import ASIDE, MESSAGES, schemas_of, split
from gossamer.spark.lake.files import BATCH, HOUR, run, schema_of
from gossamer.spark.lake.gold import LEVELS, recompute
from gossamer.spark.lake.readings import READINGS, pointer
from gossamer.spark.lake.tables import LakeTable, Upkeep, span
from gossamer.spark.pipelines.pipeline import Pipeline, PipelineError, PipelineSettings

CORRECTIONS: Final = "gold/corrections"
BATCHES: Final = "batches"
# And the columns that cut them into parts.
TABLES: Final = {
    MESSAGES: HOUR,
    READINGS: HOUR,
    ASIDE: HOUR,
    **{level.name: level.cut for level in LEVELS},
    CORRECTIONS: "",
    BATCHES: "",
}


class LakePipeline:
    def __init__(self, spark: SparkSession, settings: PipelineSettings) -> None:
        self._root = root = settings.lake
        self._tables = {
            name: LakeTable(root, name, cut, settings.history) for name, cut in TABLES.items()
        }
        self._log = BatchLog(self._tables[BATCHES], settings.lateness)
        self._event_field = _pointer(settings.event_field)
        self._keeps_messages = settings.keeps_messages
        self._upkeep = Upkeep(self._tables.values(), settings.compacts)
        self._totals = BatchEntry()

    def take(self, frame: DataFrame, batch: int) -> None:
        spark = frame.sparkSession
        watermark = self._log.watermark(batch)
        self._upkeep.now_and_then(watermark)
        names = (MESSAGES, READINGS, ASIDE) if self._keeps_messages else (READINGS, ASIDE)
        targets = {name: self._tables[name].target for name in names}
        seen = Observation()
        watched = frame.observe(seen, F.count(F.lit(1)).alias("messages"))
        files = run(watched, split(targets, batch, self._event_field))
        schemas = schemas_of(schema_of(frame))
        made = {name: [one for one in files if one.table == name] for name in schemas}
        for name in targets:
            self._tables[name].append(made[name], schemas[name], batch)
        entry = BatchEntry(
            messages=int(seen.get["messages"]),
            readings=sum(one.rows for one in made[READINGS]),
            aside=sum(one.rows for one in made[ASIDE]),
        )
        if not entry.messages:
            return
        first, entry.newest = span(made[READINGS])
        if first is not None:
            hours = sorted({one.part for one in made[READINGS]})
            recompute(spark, self._tables, hours)
            if watermark is not None and first < watermark:
                entry.late = self._note_corrections(spark, hours, batch, watermark)
        self._log.write(batch, entry)
        self._totals = self._totals.plus(entry)

    def summary(self) -> list[str]:
        totals = self._totals
        lines = [
            f"{totals.messages:,} messages, {totals.readings:,} readings, "
            f"{totals.aside:,} payloads set aside"
        ]
        if totals.aside:
            lines.append(f"why they are aside: {self._tables[ASIDE].path}, column reason")
        if totals.late:
            lines.append(f"late readings that corrected final windows: {totals.late:,}, listed in ")
            lines[-1] += self._tables[CORRECTIONS].path
        names = ", ".join(level.name for level in LEVELS)
        lines.append(f"{self._root} has {READINGS}, {names}")
        return lines

    def _note_corrections(
        self, spark: SparkSession, hours: list[str], batch: int, watermark: datetime
    ) -> int:
        """Which minutes had late readings; how many they were."""
        new = self._tables[READINGS].read(spark, hours, "topic", "field", "time", BATCH)
        assert new is not None
        minute = F.date_trunc("minute", F.col("time")).alias("start")
        late = new.where((F.col(BATCH) == batch) & (F.col("time") < F.lit(watermark)))
        counted = late.groupBy("topic", "field", minute).agg(F.count("*").alias("readings"))
        rows = counted.toArrow()
        self._tables[CORRECTIONS].append_rows(rows, batch)
        return int(pc.sum(rows.column("readings")).as_py() or 0)


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
