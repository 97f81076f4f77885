"""The whole benchmark, one part after the other."""

import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer.spark import start
from gossamer_lab.bench.archive import publish as publishing
from gossamer_lab.bench.brokers.runner import run_all
from gossamer_lab.bench.brokers.scenarios import BY_NAME
from gossamer_lab.bench.spark import archives, latency, windows
from gossamer_lab.bench.spark import source_reads as reading
from gossamer_lab.bench.spark.report import Results

READING: Final = "reading"
WINDOWS: Final = "windows"
LATENCY: Final = "latency"
PUBLISHING: Final = "publishing"
PARTS: Final = (READING, WINDOWS, LATENCY, PUBLISHING)

SCENARIO: Final = BY_NAME["qos1-20"]
# For millions of rows in groups; the default of Spark is 1 GiB.
MEMORY: Final = "3g"


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rows: int
    readings: int
    topics: int
    seconds: float


FULL: Final = Size(rows=2_000_000, readings=5_000_000, topics=10_000, seconds=30.0)
QUICK: Final = Size(rows=200_000, readings=200_000, topics=1_000, seconds=5.0)


def run(size: Size, parts: Collection[str], repeat: int, report: Callable[[str], None]) -> Results:
    """`report` hears what is measured now."""
    results = Results()
    if PUBLISHING in parts:
        report(PUBLISHING)
        peers = publishing.peers()
        found = run_all(
            [SCENARIO],
            peers,
            seconds=size.seconds / 6,
            scale=1.0,
            repeat=repeat,
            report=lambda scenario, broker: report(f"{scenario.title}: {broker.name}"),
        )[SCENARIO.name]
        results.publishing = found[peers[0].name], found[peers[1].name]
    if set(parts) - {PUBLISHING}:
        _on_spark(size, parts, repeat, report, results)
    return results


def _on_spark(
    size: Size,
    parts: Collection[str],
    repeat: int,
    report: Callable[[str], None],
    results: Results,
) -> None:
    spark = start("gossamer bench", config={"spark.driver.memory": MEMORY})
    try:
        with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as name:
            folder = Path(name)
            if LATENCY in parts:
                report(LATENCY)
                with archives.serving(folder / "latency") as (broker, replay):
                    url = f"mqtt://{broker.host}:{broker.port}"
                    results.latency = latency.measure(spark, url, replay, size.seconds)
            if READING in parts:
                report(READING)
                results.comparisons += reading.measure(spark, folder, size.rows, repeat)
            if WINDOWS in parts:
                report(WINDOWS)
                results.comparisons += windows.measure(
                    spark, folder / "windows", size.readings, size.topics, repeat
                )
    finally:
        spark.stop()
