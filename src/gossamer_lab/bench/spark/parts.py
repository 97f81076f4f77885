"""The parts of the benchmark of Spark, and the run of those that are wanted.

Reading: rows from the archive through the source, beside Spark's own reading of the sealed files.
Windows: `subscribe` over a history, beside the query that one would write by hand. Latency: from a
publication to its row in a running query, both with nothing but defaults; messages carry the moment
at which they were sent, and a row counts as there when a batch hands it to the program.
"""

import asyncio
import math
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.net.client import Client
from gossamer.spark import read, start, subscribe
from gossamer_lab.bench import archive
from gossamer_lab.bench.archive_rates import texts
from gossamer_lab.bench.harness import run_all
from gossamer_lab.bench.load.scenarios import BY_NAME
from gossamer_lab.bench.spark import archives
from gossamer_lab.bench.spark.results import Comparison, Latency, SparkResults, archiving, compare
from gossamer_lab.quantiles import quantile

SCENARIO: Final = BY_NAME["qos1-20"]
# For millions of rows in groups; the default of Spark is 1 GiB.
MEMORY: Final = "3g"

# Of the rate of Spark's own reading, and of the query by hand.
WANTED: Final = 0.8
TOPICS: Final = 1_000
# Sums are exact in one of the two, and of doubles in the other.
TOLERANCE: Final = 1e-9
FUNCTIONS: Final = {"AVG": F.avg, "MAX": F.max, "COUNT": F.count}

RATE: Final = 100  # messages a second
WARM_UP_SECONDS: Final = 5.0
# After the last message, for its row.
PATIENCE_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.05
_NANOSECONDS: Final = 1e9

Sink = Callable[[DataFrame], None]


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rows: int
    readings: int
    topics: int
    seconds: float


FULL: Final = Size(rows=2_000_000, readings=5_000_000, topics=10_000, seconds=30.0)
QUICK: Final = Size(rows=200_000, readings=200_000, topics=1_000, seconds=5.0)


def run(
    size: Size, parts: Collection[str], repeat: int, report: Callable[[str], None]
) -> SparkResults:
    """`report` hears what is measured now."""
    results = SparkResults()
    last = []
    if "publishing" in parts:  # before Spark is there and takes a core
        peers = archive.peers()
        found = run_all([SCENARIO], peers, seconds=size.seconds / 6, repeat=repeat, report=report)[
            SCENARIO.name
        ]
        off, on = (found[peer.name] for peer in peers)
        results.failure = off.failure or on.failure
        if not results.failure:
            last.append(archiving(off, on))
    if set(parts) - {"publishing"}:
        _on_spark(size, parts, repeat, report, results)
    results.comparisons += last
    return results


def _on_spark(
    size: Size,
    parts: Collection[str],
    repeat: int,
    report: Callable[[str], None],
    results: SparkResults,
) -> None:
    spark = start("gossamer bench", config={"spark.driver.memory": MEMORY})
    try:
        with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as name:
            folder = Path(name)
            if "latency" in parts:
                report("latency")
                with archives.serving(folder / "latency") as (broker, replay):
                    url = f"mqtt://{broker.host}:{broker.port}"
                    results.latency = measure_latency(spark, url, replay, size.seconds)
            if "reading" in parts:
                report("reading")
                results.comparisons += measure_reading(spark, folder, size.rows, repeat)
            if "windows" in parts:
                report("windows")
                results.comparisons += measure_windows(
                    spark, folder / "windows", size.readings, size.topics, repeat
                )
    finally:
        spark.stop()


# Reading ----------------------------------------------------------------------------------------


def measure_reading(
    spark: SparkSession, folder: Path, rows: int, repeat: int
) -> Iterator[Comparison]:
    places = {"the log": folder / "log", "sealed segments": folder / "sealed"}
    for path in places.values():
        archives.fill(path, rows, TOPICS, texts(), seals=path.name == "sealed")
    native = spark.read.parquet(archives.sealed_files(folder / "sealed"))
    sinks: dict[str, Sink] = {
        "no-op": drop,
        "Parquet": lambda frame: write_parquet(frame, folder / "written"),
    }
    for place, path in places.items():
        with archives.serving(path) as (_, address):
            reader = spark.read.format("gossamer").option("brokers", address)
            frames = {place: reader.load()}
            if path.name == "sealed":
                frames[f"{place}, by read()"] = read(spark, brokers=address)
                frames[f"{place}, by the broker"] = reader.option("files", "never").load()
            for what, frame in frames.items():
                for sink, put in sinks.items():
                    ours, theirs = partial(put, frame), partial(put, native)
                    yield compare(f"{what} to {sink}", rows, ours, theirs, repeat, WANTED)


def drop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def write_parquet(frame: DataFrame, folder: Path) -> None:
    frame.write.mode("overwrite").parquet(str(folder))


# Windows ----------------------------------------------------------------------------------------


class OtherResult(Exception):
    """The two queries do not say the same: there is nothing to compare."""


def measure_windows(
    spark: SparkSession, folder: Path, readings: int, topics: int, repeat: int
) -> Iterator[Comparison]:
    archives.fill(folder, readings, topics, archives.numbers(), seals=True)
    source = spark.read.parquet(archives.sealed_files(folder))
    for keyword in FUNCTIONS:
        ours = subscribe(spark, f"$HOURLY{keyword}/plant/#", source)
        theirs = by_hand(source, keyword)
        check(ours, theirs)
        title = f"hourly {keyword} of {topics:,} topics"
        yield compare(title, readings, partial(drop, ours), partial(drop, theirs), repeat, WANTED)


def by_hand(source: DataFrame, keyword: str) -> DataFrame:
    """The same rows: end of the window, topic, and the value as a text and as a number."""
    value: Column = F.col("payload").cast("string").try_cast("double")
    groups = source.where(F.col("topic").startswith("plant/")).groupBy(
        "topic", F.window("time", "1 hour")
    )
    found = groups.agg(FUNCTIONS[keyword](value).cast("double").alias("value"))
    return found.select(
        F.col("window.end").alias("time"),
        F.concat(F.lit(f"$HOURLY{keyword}/"), F.col("topic")).alias("topic"),
        F.col("value").cast("string").cast("binary").alias("payload"),
        "value",
    )


def check(ours: DataFrame, theirs: DataFrame) -> None:
    """Raises OtherResult."""
    both = [{(row.topic, row.time): row.value for row in one.collect()} for one in (ours, theirs)]
    if both[0].keys() != both[1].keys():
        raise OtherResult("the windows of the two queries are not the same")
    for key, value in both[0].items():
        if not math.isclose(value, both[1][key], rel_tol=TOLERANCE):
            raise OtherResult(f"{key}: {value} and {both[1][key]}")


# Latency ----------------------------------------------------------------------------------------


def measure_latency(spark: SparkSession, url: str, replay: str, seconds: float) -> Latency:
    """Through the broker at `url`, whose archive is read at `replay`."""
    found: dict[int, float] = {}

    def arrived(batch: DataFrame, _: int) -> None:
        stamps = [int(row.payload) for row in batch.select("payload").collect()]
        now = time.time_ns()
        found.update((stamp, (now - stamp) / _NANOSECONDS) for stamp in stamps)

    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
        stream = spark.readStream.format("gossamer").option("brokers", replay).load()
        writer = stream.writeStream.foreachBatch(arrived)
        query = writer.option("checkpointLocation", folder).start()
        try:
            _wait_for(lambda: query.lastProgress is not None)
            asyncio.run(publish(url, WARM_UP_SECONDS))
            sent = asyncio.run(publish(url, seconds))
            _wait_for(lambda: found.keys() >= set(sent))
        finally:
            query.stop()
    latencies = sorted(found[stamp] for stamp in sent if stamp in found)
    return Latency(
        len(sent),
        len(sent) - len(latencies),
        quantile(latencies, 0.5),
        quantile(latencies, 0.99),
    )


async def publish(url: str, seconds: float) -> list[int]:
    """At a fixed rate; the moments at which messages were sent."""
    sent: list[int] = []
    began = time.monotonic()
    async with Client(url) as client:
        while len(sent) < RATE * seconds:
            await asyncio.sleep(max(0.0, began + len(sent) / RATE - time.monotonic()))
            sent.append(time.time_ns())
            await client.publish("bench/latency", str(sent[-1]).encode(), 1)
    return sent


def _wait_for(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not done() and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
