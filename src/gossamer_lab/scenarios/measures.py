"""The measures of the paper's figures, from what a run left behind; and all of it as Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any

from gossamer_lab.quantiles import quantile
from gossamer_lab.scenarios.scenario import LinkTotals, Sample, ScenarioResult


@dataclass
class Second:
    """All brokers in one second: averages a broker, and the worst one."""

    second: int
    publications: float
    interests: float
    bytes: float
    most_bytes: int
    queue: float
    queued_interests: float
    longest_queue: int


@dataclass
class Measures:
    """Each field names the figure that it is the measure of."""

    output: list[Second]  # 13, 15, 18, 19
    messages_per_broker: float  # 14: publications and subscriptions sent to neighbours
    bytes_per_broker: float  # 14
    subscriptions_per_broker: float  # 16
    subscription_share: float  # 17: of all messages between brokers
    longest_average_queue: float  # 18
    longest_average_subscription_queue: float  # 19
    longest_queue: int  # 20
    hottest_broker: int  # 20
    latency_median: float  # 21, seconds
    latency_mean: float
    latency_99: float


def measure(result: ScenarioResult) -> Measures:
    brokers = result.settings.brokers
    output = by_second(result)
    messages = result.forwards + result.interests
    worst = max(result.samples, key=lambda sample: sample.longest_queue)
    latencies = sorted(result.latencies)
    return Measures(
        output,
        messages / brokers,
        result.link_bytes / brokers,
        result.interests / brokers,
        result.interests / max(1, messages),
        max(second.queue for second in output),
        max(second.queued_interests for second in output),
        worst.longest_queue,
        worst.broker,
        quantile(latencies, 0.5),
        fmean(latencies) if latencies else 0.0,
        quantile(latencies, 0.99),
    )


def by_second(result: ScenarioResult) -> list[Second]:
    """Samples lie second by second, all brokers of each together."""
    brokers = result.settings.brokers
    starts = range(0, len(result.samples), brokers)
    return [_second(result.samples[start : start + brokers]) for start in starts]


def _second(group: list[Sample]) -> Second:
    return Second(
        group[0].second,
        fmean(sample.publications for sample in group),
        fmean(sample.interests for sample in group),
        fmean(sample.bytes for sample in group),
        max(sample.bytes for sample in group),
        fmean(sample.queue for sample in group),
        fmean(sample.queued_interests for sample in group),
        max(sample.longest_queue for sample in group),
    )


def tables(result: ScenarioResult) -> dict[str, dict[str, list[Any]]]:
    """Columns by table; the keys are the names of the files."""
    measures = asdict(measure(result))
    del measures["output"]
    totals = {
        **asdict(result.settings),
        "published": result.published,
        "deliveries": result.deliveries,
        "forwards": result.forwards,
        "subscription_messages": result.interests,
        "control_bytes": result.control_bytes,
        "link_bytes": result.link_bytes,
        "virtual_seconds": result.virtual_seconds,
        "wall_seconds": result.wall_seconds,
        **measures,
    }
    return {
        "brokers": _columns(result.samples),
        "links": _columns(result.links),
        "latencies": {"seconds": list(result.latencies)},
        "totals": {field: [value] for field, value in totals.items()},
    }


def _columns(rows: Sequence[Sample | LinkTotals]) -> dict[str, list[Any]]:
    names = [field.name for field in fields(rows[0])] if rows else []
    return {name: [getattr(row, name) for row in rows] for name in names}


def save(result: ScenarioResult, folder: Path) -> list[Path]:
    """One file a table; what lay there is replaced."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for name, columns in tables(result).items():
        path = folder / f"{name}.parquet"
        parquet.write_table(arrow.table(columns), path)
        paths.append(path)
    return paths
