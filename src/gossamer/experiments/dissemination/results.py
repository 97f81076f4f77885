"""What was measured, as files: a row a run, and a row a run and second."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from gossamer.experiments.dissemination.measuring import Findings


def rows(findings: Findings) -> dict[str, list[dict[str, Any]]]:
    """By file."""
    runs: list[dict[str, Any]] = []
    seconds: list[dict[str, Any]] = []
    for cell in findings.cells:
        row = asdict(cell)
        measures = row.pop("measures")
        del row["received"]
        output = measures.pop("output")
        runs.append({**row, **measures})
        name = {"kind": cell.kind, "mode": cell.mode, "alpha": cell.alpha}
        seconds.extend({**name, **second} for second in output)
    return {"runs": runs, "seconds": seconds, "summaries": [asdict(s) for s in findings.storms]}


def save(findings: Findings, folder: Path) -> list[Path]:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    paths: list[Path] = []
    for name, table in rows(findings).items():
        path = folder / f"{name}.parquet"
        parquet.write_table(arrow.Table.from_pylist(table), path)
        paths.append(path)
    return paths
