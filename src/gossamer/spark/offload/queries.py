"""The streaming query that answers one wanted operator."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from gossamer.broker.offload import ANSWER, KEY_PROPERTY, TOPIC_PROPERTY
from gossamer.spark.offload.wanted import WantedOperator
from gossamer.spark.processors import Processor
from gossamer.spark.subscription import subscribe
from gossamer.vision.settings import WorkerSettings

# How far the clocks of brokers and Spark may be apart, and how late a message may be archived.
LATENESS: Final = "10 seconds"
EVERY: Final = "1 second"


@dataclass(frozen=True)
class Means:
    """What queries compute with, and where they read and write."""

    source: dict[str, str]  # options of the format, for reading
    sink: dict[str, str]  # and for writing
    folder: Path
    lateness: str = LATENESS
    processors: Mapping[str, Processor] = field(default_factory=dict)
    vision: WorkerSettings | None = None


def answers(spark: SparkSession, wanted: WantedOperator, means: Means) -> DataFrame:
    """The results as the broker takes them. Raises PlusError."""
    source: dict[str, Any] = {**means.source, "starting": wanted.starting()}
    results = subscribe(
        spark,
        wanted.filter,
        reply=wanted.reply,
        ttl=wanted.ttl,
        windows=wanted.own_windows(),
        watermark=means.lateness,
        processors=means.processors,
        vision=means.vision,
        stream=True,
        ticks=True,
        **source,
    )
    said = F.create_map(
        F.lit(KEY_PROPERTY), F.lit(wanted.key), F.lit(TOPIC_PROPERTY), F.col("topic")
    )
    # One task publishes, in the order of time: the broker's own results have an order, too.
    return results.select(
        "time", F.lit(ANSWER).alias("topic"), "payload", said.alias("user_properties")
    ).repartition(1)


def start_query(
    spark: SparkSession, name: str, wanted: WantedOperator, means: Means
) -> StreamingQuery:
    return (
        answers(spark, wanted, means)
        .writeStream.format("gossamer")
        .options(**means.sink, checkpointLocation=str(means.folder / name))
        .queryName(f"{wanted.filter} [{name}]")
        .trigger(processingTime=EVERY)
        .start()
    )
