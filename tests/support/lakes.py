"""A small lake, as a pipeline leaves it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

NEWEST = datetime(2031, 5, 24, 15, 36, 25, tzinfo=UTC)
BATCHES = 3
ROWS = 10


def fill_lake(folder: Path) -> None:
    for batch in range(BATCHES):
        about = {"messages": [ROWS], "readings": [ROWS], "aside": [0], "late": [0]}
        times: dict[str, list[Any]] = {"newest": [NEWEST], "watermark": [None]}
        _write(folder / f"batches/batch={batch}/part-0.parquet", {**about, **times})
        _write(
            folder / f"silver/readings/date=2031-05-24/hour=15/batch={batch}/part-0.parquet",
            {"topic": ["t"] * ROWS, "number": [float(row) for row in range(ROWS)]},
        )
    _write(
        folder / "gold/minute/date=2031-05-24/part-0.parquet",
        {
            "topic": ["city/0/temp", "city/1/temp"],
            "start": [NEWEST, NEWEST],
            "avg": [21.5, float("nan")],
            "payload": [bytes(1000), b"x"],
        },
    )


def _write(path: Path, columns: dict[str, list[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
