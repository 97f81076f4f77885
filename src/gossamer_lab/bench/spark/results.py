"""What the benchmark of Spark found: two ways to the same rows, timed in turns, and latency.

Wall time, and processor time of all processes, which holds on a machine that has other work.
"""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from gossamer import __version__
from gossamer_lab.bench import report
from gossamer_lab.bench.measurement import Measurement
from gossamer_lab.bench.processes import family_cpu_seconds
from gossamer_lab.bench.report import machine
from gossamer_lab.tables import markdown_table

Work = Callable[[], object]

COLUMNS = {
    "what": "{.title}",
    "rows/s": "{.rate:,.0f}",
    "beside/s": "{.their_rate:,.0f}",
    "ratio": "{.ratio:.2f}",
    "by CPU time": "{.processor_ratio:.2f}",
    "wanted": "{.wanted:.2f}",
    "": "{.verdict}",
}
LEGEND = (
    "beside: Spark's own reading of the same Parquet files, the hand-written query, or the broker "
    "without an archive. by CPU time: the ratio of the processor time of all processes, the "
    "broker's included; it holds on a busy machine."
)
# With the archive on, so much of the throughput at least.
WANTED_ARCHIVING = 0.75
# From a publication to its row.
WANTED_SECONDS = 1.0
# Processor time comes in ticks of the clock.
_LEAST_SECONDS: Final = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class RunCost:
    """What one way took, in seconds."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Comparison:
    """`ours` beside `theirs` for so many rows; `wanted` is the least ratio of the rates."""

    title: str
    rows: int
    ours: RunCost
    theirs: RunCost
    wanted: float

    @property
    def rate(self) -> float:
        return self.rows / self.ours.wall

    @property
    def their_rate(self) -> float:
        return self.rows / self.theirs.wall

    @property
    def ratio(self) -> float:
        """Of the rates: above 1 is faster than they are."""
        return self.theirs.wall / self.ours.wall

    @property
    def processor_ratio(self) -> float:
        return self.theirs.processor / max(self.ours.processor, _LEAST_SECONDS)

    @property
    def verdict(self) -> str:
        return _verdict(self.ratio >= self.wanted)


def compare(
    title: str, rows: int, ours: Work, theirs: Work, repeat: int, wanted: float
) -> Comparison:
    """Once each to warm up, then in turns; the medians count."""
    costs: dict[Work, list[RunCost]] = {ours: [], theirs: []}
    for _ in range(repeat + 1):
        for work, found in costs.items():
            found.append(cost_of(work))
    return Comparison(title, rows, _middle(costs[ours][1:]), _middle(costs[theirs][1:]), wanted)


def cost_of(work: Work) -> RunCost:
    began, used = time.perf_counter(), family_cpu_seconds()
    work()
    return RunCost(time.perf_counter() - began, family_cpu_seconds() - used)


def _middle(costs: list[RunCost]) -> RunCost:
    return RunCost(median(one.wall for one in costs), median(one.processor for one in costs))


@dataclass(frozen=True)
class Latency:
    """In seconds."""

    messages: int
    lost: int
    p50: float
    p99: float


@dataclass
class SparkResults:
    """What was measured so far."""

    comparisons: list[Comparison] = field(default_factory=list)
    latency: Latency | None = None
    failure: str = ""  # of the broker without or with the archive


def archiving(off: Measurement, on: Measurement) -> Comparison:
    """The broker's QoS 1 without and with the archive, for as many deliveries."""
    count = on.delivered
    theirs = RunCost(count / off.out_per_second(), count * (off.cpu_per_delivery() or 0.0) / 1e6)
    ours = RunCost(on.seconds, on.broker_cpu_seconds)
    return Comparison("QoS 1 through the broker, archiving", count, ours, theirs, WANTED_ARCHIVING)


def rows(results: SparkResults) -> list[list[str]]:
    return [[form.format(one) for form in COLUMNS.values()] for one in results.comparisons]


def latency_line(latency: Latency) -> str:
    return (
        f"from a publication to its row: p50 {latency.p50:.2f} s, p99 {latency.p99:.2f} s of "
        f"{latency.messages:,} messages, {latency.lost} lost (wanted: p50 under "
        f"{WANTED_SECONDS:g} s): {_verdict(latency.p50 < WANTED_SECONDS and not latency.lost)}"
    )


def save(results: SparkResults, folder: Path) -> list[Path]:
    """Writes markdown and JSON and returns their names."""
    import pyspark

    lines = [
        f"Machine: {machine()}.",
        "",
        LEGEND,
        "",
        *markdown_table(list(COLUMNS), rows(results)),
    ]
    if results.latency is not None:
        lines += ["", latency_line(results.latency)]
    versions = {"gossamer": __version__, "spark": pyspark.__version__}
    return report.save("spark", folder, "\n".join(lines) + "\n", **versions, **asdict(results))


def _verdict(is_met: bool) -> str:
    return "ok" if is_met else "MISSED"
