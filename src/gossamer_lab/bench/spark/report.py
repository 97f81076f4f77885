"""The results as rows to show, and as markdown and JSON to keep."""

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from gossamer import __version__
from gossamer_lab.bench.brokers.measurement import Measurement
from gossamer_lab.bench.brokers.report import machine
from gossamer_lab.bench.spark.comparison import Comparison
from gossamer_lab.bench.spark.latency import WANTED_SECONDS, Latency

COLUMNS = ("what", "rows/s", "beside/s", "ratio", "by CPU time", "wanted", "")
LEGEND = (
    "beside: Spark's own reading of the same Parquet files, the hand-written query, or the broker "
    "without an archive. by CPU time: the ratio of the processor time of all processes, the "
    "broker's included; it holds on a busy machine."
)
# With the archive on, so much of the throughput at least.
WANTED_ARCHIVING = 0.75


@dataclass
class Results:
    """What was measured so far."""

    comparisons: list[Comparison] = field(default_factory=list)
    latency: Latency | None = None
    # The broker's QoS 1 without and with the archive.
    publishing: tuple[Measurement, Measurement] | None = None


def rows(results: Results) -> list[list[str]]:
    found = [
        [
            one.title,
            f"{one.rate:,.0f}",
            f"{one.their_rate:,.0f}",
            f"{one.ratio:.2f}",
            f"{one.processor_ratio:.2f}",
            f"{one.wanted:.2f}",
            _verdict(one.ratio >= one.wanted),
        ]
        for one in results.comparisons
    ]
    if results.publishing is not None:
        found.append(_publishing(*results.publishing))
    return found


def latency_line(latency: Latency) -> str:
    return (
        f"from a publication to its row: p50 {latency.p50:.2f} s, p99 {latency.p99:.2f} s of "
        f"{latency.messages:,} messages, {latency.lost} lost (wanted: p50 under "
        f"{WANTED_SECONDS:g} s): {_verdict(latency.p50 < WANTED_SECONDS and not latency.lost)}"
    )


def markdown(results: Results) -> str:
    lines = [f"Machine: {machine()}.", "", LEGEND, ""]
    lines += ["| " + " | ".join(COLUMNS) + " |", "| --- |" + " ---: |" * (len(COLUMNS) - 1)]
    lines += ["| " + " | ".join(cells) + " |" for cells in rows(results)]
    if results.latency is not None:
        lines += ["", latency_line(results.latency)]
    return "\n".join(lines) + "\n"


def save(results: Results, folder: Path) -> list[Path]:
    """Writes both files and returns their names."""
    import pyspark

    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "gossamer": __version__,
        "spark": pyspark.__version__,
        **asdict(results),
    }
    as_json, as_markdown = folder / "spark.json", folder / "spark.md"
    as_json.write_text(json.dumps(document, indent=2) + "\n")
    as_markdown.write_text(markdown(results))
    return [as_json, as_markdown]


def _publishing(off: Measurement, on: Measurement) -> list[str]:
    title = "QoS 1 through the broker, archiving"
    if off.failure or on.failure:
        return [title, *[""] * (len(COLUMNS) - 2), off.failure or on.failure]
    ratio = on.out_per_second() / off.out_per_second()
    costs = [run.cpu_per_delivery() or 0.0 for run in (off, on)]
    return [
        title,
        f"{on.out_per_second():,.0f}",
        f"{off.out_per_second():,.0f}",
        f"{ratio:.2f}",
        f"{costs[0] / costs[1]:.2f}" if costs[1] else "",
        f"{WANTED_ARCHIVING:.2f}",
        _verdict(ratio >= WANTED_ARCHIVING),
    ]


def _verdict(is_met: bool) -> str:
    return "ok" if is_met else "MISSED"
