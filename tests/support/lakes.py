"""A small lake, as a pipeline leaves it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

NEWEST = datetime(2031, 5, 24, 15, 36, 25, tzinfo=UTC)
BATCHES = 3
ROWS = 10


def fill_lake(folder: Path) -> None:
    for batch in range(BATCHES):
        about: dict[str, list[Any]] = {
            "messages": [ROWS],
            "readings": [ROWS],
            "aside": [0],
            "late": [0],
        }
        times: dict[str, list[Any]] = {"newest": [NEWEST], "batch": [batch]}
        _write(folder / "batches", {**about, **times})
        readings: dict[str, list[Any]] = {
            "topic": ["t"] * ROWS,
            "number": [float(row) for row in range(ROWS)],
        }
        _write(folder / "silver/readings", {**readings, "hour": ["2031-05-24T15"] * ROWS}, "hour")
    _write(
        folder / "gold/minute",
        {
            "topic": ["city/0/temp", "city/1/temp"],
            "start": [NEWEST, NEWEST],
            "avg": [21.5, float("nan")],
            "payload": [bytes(1000), b"x"],
            "hour": ["2031-05-24T15"] * 2,
        },
        "hour",
    )


def _write(path: Path, columns: dict[str, list[Any]], cut: str | None = None) -> None:
    write_deltalake(path, pa.table(columns), mode="append", partition_by=cut)
