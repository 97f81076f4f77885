"""From a publication to its row in a running query, both with nothing but defaults.

Messages carry the moment at which they were sent; a row counts as there when a batch hands it to
the program.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from gossamer.net.client import Client
from gossamer_lab.bench.brokers.latency import percentile

RATE: Final = 100  # messages a second
WARM_UP_SECONDS: Final = 5.0
# After the last message, for its row.
PATIENCE_SECONDS: Final = 60.0
WANTED_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.05
_NANOSECONDS: Final = 1e9


@dataclass(frozen=True)
class Latency:
    """In seconds."""

    messages: int
    lost: int
    p50: float
    p99: float


def measure(spark: SparkSession, url: str, replay: str, seconds: float) -> Latency:
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
        percentile(latencies, 0.5),
        percentile(latencies, 0.99),
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
