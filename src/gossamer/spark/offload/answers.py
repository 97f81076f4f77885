"""`answer`: a query for each operator that a broker leaves to Spark, as long as it is wanted."""

import logging
import math
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from gossamer.broker.offload import ANSWER, KEY_PROPERTY, TIME_PROPERTY, TOPIC_PROPERTY
from gossamer.plus.plan import PlusError
from gossamer.spark.data_source import register
from gossamer.spark.image_processing import Processor
from gossamer.spark.offload.requests import OffloadRequests, WantedOperator
from gossamer.spark.sink.sink_options import ONCE, read_sink_options
from gossamer.spark.subscription import subscribe
from gossamer.vision.settings import WorkerSettings

# How far the clocks of brokers and Spark may be apart, and how late a message may be archived.
LATENESS: Final = "10 seconds"
EVERY: Final = "1 second"

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.5
SIGNS_OF_LIFE: Final = 5  # within the broker's patience
RESTART_SECONDS: Final = 5.0  # after a query that failed
# A checkpoint that nobody wrote to for so long is of an earlier wish for the same operator.
STALE_SECONDS: Final = 86_400.0


@dataclass(frozen=True)
class QuerySettings:
    """What queries compute with, and where they read and write."""

    source: dict[str, str]  # options of the format, for reading
    sink: dict[str, str]  # and for writing
    folder: Path
    lateness: str = LATENESS
    processors: Mapping[str, Processor] = field(default_factory=dict)
    vision: WorkerSettings | None = None


def answers(spark: SparkSession, wanted: WantedOperator, settings: QuerySettings) -> DataFrame:
    """The results as the broker takes them. Raises PlusError."""
    source: dict[str, Any] = {**settings.source, "starting": wanted.starting()}
    results = subscribe(
        spark,
        wanted.filter,
        reply=wanted.reply,
        ttl=wanted.ttl,
        windows=wanted.own_windows(),
        watermark=settings.lateness,
        processors=settings.processors,
        vision=settings.vision,
        stream=True,
        ticks=True,
        **source,
    )
    said = F.create_map(
        *(F.lit(KEY_PROPERTY), F.lit(wanted.key)),
        *(F.lit(TOPIC_PROPERTY), F.col("topic")),
        *(F.lit(TIME_PROPERTY), (F.unix_micros("time") / 1e6).cast("string")),
    )
    # One task publishes, in the order of time: the broker's own results have an order, too.
    return results.select(
        "time", F.lit(ANSWER).alias("topic"), "payload", said.alias("user_properties")
    ).repartition(1)


def start_query(
    spark: SparkSession, name: str, wanted: WantedOperator, settings: QuerySettings
) -> StreamingQuery:
    return (
        answers(spark, wanted, settings)
        .writeStream.format("gossamer")
        .options(**settings.sink, checkpointLocation=str(settings.folder / name))
        .queryName(f"{wanted.filter} [{name}]")
        .trigger(processingTime=EVERY)
        .start()
    )


class OffloadService:
    """Use it in a `with`; leaving it ends the queries, and their checkpoints stay.

    Queries are started on the thread that calls: Spark finds its session by the thread.
    """

    def __init__(
        self,
        spark: SparkSession,
        asking: OffloadRequests,
        settings: QuerySettings,
        note: Callable[[str], None],
    ) -> None:
        self._spark = spark
        self._asking = asking
        self._settings = settings
        self._note = note
        self._queries: dict[str, StreamingQuery] = {}
        self._not_before: dict[str, float] = {}  # when a query that failed is tried again
        self._impossible: set[str] = set()
        self._told: dict[str, tuple[object, float]] = {}  # the batch, and when the broker was told
        self._stopped = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for query in self._queries.values():
            query.stop()
        self._asking.__exit__()

    def run(self) -> None:
        """Until somebody calls `stop`, on a signal say."""
        while not self._stopped.wait(LOOK_SECONDS):
            self.look()

    def stop(self) -> None:
        self._stopped.set()

    def running(self) -> list[str]:
        """The filters that are answered now."""
        names = [name for name, query in list(self._queries.items()) if query.isActive]
        wanted = self._asking.wanted()
        return sorted(wanted[name].filter for name in names if name in wanted)

    def look(self) -> None:
        """Once: queries begin for what is wanted now, and end for what is not."""
        wanted = self._asking.wanted()
        for name in [name for name in self._queries if name not in wanted]:
            self._end(name)
        for name, one in wanted.items():
            query = self._queries.get(name)
            if query is None or not query.isActive:
                self._begin(name, one, query)
            elif one.patience:
                self._tell(name, one, query)

    def _tell(self, name: str, wanted: WantedOperator, query: StreamingQuery) -> None:
        """That it is computed, as long as batches end."""
        progress, now = query.lastProgress, time.monotonic()
        batch, told_at = self._told.get(name, (None, -math.inf))
        is_due = now - told_at >= wanted.patience / SIGNS_OF_LIFE
        if progress is not None and progress.timestamp != batch and is_due:
            self._told[name] = (progress.timestamp, now)
            self._asking.sign_of_life(wanted)

    def _begin(self, name: str, wanted: WantedOperator, failed: StreamingQuery | None) -> None:
        if failed is not None and name not in self._not_before:
            self._note(f"the query for {wanted.filter} failed and starts again: {_why(failed)}")
            self._not_before[name] = time.monotonic() + RESTART_SECONDS
        if name in self._impossible or time.monotonic() < self._not_before.get(name, 0.0):
            return
        self._not_before.pop(name, None)
        if _is_stale(self._settings.folder / name):
            shutil.rmtree(self._settings.folder / name)
        try:
            self._queries[name] = start_query(self._spark, name, wanted, self._settings)
        except PlusError as problem:
            self._note(f"{wanted.filter} cannot be answered here: {problem}")
            self._impossible.add(name)
            return
        self._note(f"answering {wanted.filter}")

    def _end(self, name: str) -> None:
        """Nobody subscribes any more: what was counted is of no use to those who come later."""
        self._queries.pop(name).stop()
        self._told.pop(name, None)
        self._not_before.pop(name, None)
        shutil.rmtree(self._settings.folder / name, ignore_errors=True)


def _why(query: StreamingQuery) -> str:
    """The first line of it."""
    problem = query.exception()
    return str(problem).strip().split("\n", 1)[0] if problem is not None else "it ended"


def _is_stale(checkpoint: Path) -> bool:
    written = [
        path.stat().st_mtime for path in (checkpoint, *checkpoint.glob("*/")) if path.is_dir()
    ]
    return bool(written) and time.time() - max(written) > STALE_SECONDS


def answer(
    spark: SparkSession,
    *,
    url: str,
    brokers: str,
    checkpoints: str | Path,
    user: str | None = None,
    password: str | None = None,
    caFile: str | None = None,  # as the source and the sink call it
    lateness: str = LATENESS,
    processors: Mapping[str, Processor] | None = None,
    vision: WorkerSettings | None = None,
    note: Callable[[str], None] = logger.info,
    **source: str,
) -> OffloadService:
    """Ready to answer what the broker at `url` leaves to Spark, from the archives of `brokers`:

        with answer(spark, url="mqtt://…", brokers="…", checkpoints="…") as answering:
            answering.run()

    `source` are further options for reading. Raises SinkError if the broker does not want it.
    """
    register(spark)
    login = {"user": user, "password": password, "caFile": caFile}
    given = {name: value for name, value in login.items() if value is not None}
    # Over WebSockets there are no held sessions, and so no exactly once.
    delivery = {"delivery": ONCE} if url.startswith(("mqtt:", "mqtts:")) else {}
    sink = {"url": url, **delivery, **given}
    asking = OffloadRequests(read_sink_options(sink)).__enter__()
    settings = QuerySettings(
        source={"brokers": brokers, **given, **source},
        sink=sink,
        folder=Path(checkpoints),
        lateness=lateness,
        processors=processors or {},
        vision=vision,
    )
    return OffloadService(spark, asking, settings, note)
