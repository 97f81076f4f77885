"""A pipeline's lake, read by the logs of its tables: what its batches held, and what is in them.

A pipeline writes while this reads, so a file may be gone when it is opened: it is left out then.
Everything here blocks; pages ask from a worker thread.
"""

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

BATCHES: Final = "batches"
LOG: Final = "_delta_log"  # the folder that makes a folder a table
MOST_TABLES: Final = 200  # looked at in one lake
DEEPEST: Final = 3  # folders from the lake to a table's log
SHOWN_BATCHES: Final = 60
SHOWN_ROWS: Final = 50
LONGEST_CELL: Final = 80
AGGREGATE: Final = {"topic", "start", "avg"}  # columns of a table that can be drawn
MOST_CHARTED: Final = 20_000  # rows that a chart is made of
SHOWN_LINES: Final = 5


@dataclass(frozen=True)
class TableSummary:
    name: str
    files: tuple[Path, ...]  # the newest first
    size: int
    rows: int
    changed: float


@dataclass(frozen=True)
class PipelineBatch:
    number: int
    messages: int
    readings: int
    aside: int
    late: int
    newest: float | None  # seconds since 1970, as the next two
    watermark: float | None
    written: float


@dataclass(frozen=True)
class View:
    tables: tuple[TableSummary, ...]
    batches: tuple[PipelineBatch, ...]  # the last ones, oldest first
    at: float

    @property
    def lag(self) -> float | None:
        """Seconds from the newest time that is in the lake to now."""
        known = [batch.newest for batch in self.batches if batch.newest is not None]
        return max(0.0, self.at - max(known)) if known else None


class LakeFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def look(self) -> View:
        tables = tuple(filter(None, (self._table(log.parent) for log in self._logs())))
        batches = next((one.files for one in tables if one.name == BATCHES), ())
        return View(tables, tuple(_batches(batches)), time.time())

    def rows(self, table: TableSummary) -> tuple[list[str], list[dict[str, Any]]]:
        """The columns and some of the newest rows, as texts and numbers."""
        columns: dict[str, None] = {}
        rows: list[dict[str, Any]] = []
        for file in table.files:
            for row in _read(file, SHOWN_ROWS - len(rows)):
                rows.append({name: _cell(value) for name, value in row.items()})
                columns.update(dict.fromkeys(row))
            if len(rows) >= SHOWN_ROWS:
                break
        return list(columns), rows

    def series(self, table: TableSummary) -> dict[str, list[tuple[float, float]]]:
        """Of a table of aggregates, the averages of the busiest topics; empty for other tables."""
        lines: dict[str, list[tuple[float, float]]] = {}
        counts: dict[str, int] = {}
        for row in self._aggregates(table):
            at, value = _seconds(row["start"]), row["avg"]
            if at is None or not isinstance(value, float) or not math.isfinite(value):
                continue
            name = f"{row['topic']} {row.get('field') or ''}".strip()
            lines.setdefault(name, []).append((at, value))
            counts[name] = counts.get(name, 0) + int(row.get("count") or 0)
        busiest = sorted(lines, key=lambda name: (-counts[name], name))[:SHOWN_LINES]
        return {name: sorted(lines[name]) for name in busiest}

    @staticmethod
    def _aggregates(table: TableSummary) -> Iterator[dict[str, Any]]:
        left = MOST_CHARTED
        for file in table.files:
            for row in _read(file, left):
                if not row.keys() >= AGGREGATE:
                    return
                left -= 1
                yield row

    def _logs(self) -> list[Path]:
        depths = ("/".join(["*"] * depth) for depth in range(1, DEEPEST))
        found = (log for depth in depths for log in self.folder.glob(f"{depth}/{LOG}"))
        return sorted(islice(found, MOST_TABLES))

    def _table(self, folder: Path) -> TableSummary | None:
        """None if its log cannot be read."""
        try:
            listed = pa.table(DeltaTable(folder).get_add_actions(flatten=True))
        except DeltaError:
            return None
        times = [one / 1e3 for one in listed.column("modification_time").to_pylist()]
        names = listed.column("path").to_pylist()
        newest = sorted(zip(times, names, strict=True), reverse=True)
        return TableSummary(
            str(folder.relative_to(self.folder)),
            tuple(folder / name for _, name in newest),
            sum(listed.column("size_bytes").to_pylist()),
            sum(one or 0 for one in listed.column("num_records").to_pylist()),
            max(times, default=folder.stat().st_mtime),
        )


def _batches(files: Sequence[Path]) -> list[PipelineBatch]:
    """Of the newest files, each of which has one or more."""
    found: dict[int, PipelineBatch] = {}
    for path in files:
        if len(found) >= SHOWN_BATCHES:
            break
        for row in _read(path, MOST_CHARTED):
            batch = _batch(row, path.stat().st_mtime)
            found[batch.number] = batch
    return [found[number] for number in sorted(found)][-SHOWN_BATCHES:]


def _batch(row: dict[str, Any], written: float) -> PipelineBatch:
    def count(name: str) -> int:
        return int(row.get(name) or 0)

    return PipelineBatch(
        count("batch"),
        count("messages"),
        count("readings"),
        count("aside"),
        count("late"),
        _seconds(row.get("newest")),
        _seconds(row.get("watermark")),
        written,
    )


def _read(path: Path, most: int) -> Iterator[dict[str, Any]]:
    """The first rows of a file, with what its folders say of them."""
    if most <= 0:
        return
    named = dict(part.split("=", 1) for part in path.parts if "=" in part)
    try:
        with pq.ParquetFile(path) as file:
            for chunk in file.iter_batches(batch_size=most):
                for row in chunk.to_pylist():
                    yield {**row, **named}
                return
    except (OSError, pa.ArrowException):
        return


def _seconds(value: Any) -> float | None:
    if not isinstance(value, datetime):
        return None
    # What has no zone is UTC: the lake's times all are.
    return (value if value.tzinfo is not None else value.replace(tzinfo=UTC)).timestamp()


def _cell(value: Any) -> str | int | float | None:
    """What a table can show: short, and JSON can carry it."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime | date):
        text = value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
    elif isinstance(value, bytes):
        is_short = len(value) < LONGEST_CELL
        text = value.decode("utf-8", "replace") if is_short else f"{len(value):,} bytes"
    else:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
