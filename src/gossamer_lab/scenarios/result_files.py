"""The results of a run as Parquet: brokers by second, links, latencies, and one row of totals."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from gossamer_lab.scenarios.measures import measure
from gossamer_lab.scenarios.scenario import ScenarioResult

SAMPLE_FIELDS = (
    "second",
    "broker",
    "publications",
    "interests",
    "bytes",
    "queue",
    "queued_interests",
    "longest_queue",
)


def tables(result: ScenarioResult) -> dict[str, dict[str, list[Any]]]:
    """Columns by table; the keys are the names of the files."""
    links = [asdict(link) for link in result.links]
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
        "brokers": {
            field: [getattr(sample, field) for sample in result.samples] for field in SAMPLE_FIELDS
        },
        "links": {field: [link[field] for link in links] for field in links[0]} if links else {},
        "latencies": {"seconds": list(result.latencies)},
        "totals": {field: [value] for field, value in totals.items()},
    }


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
