"""Results as Parquet: one table an experiment, a row a cell, whole after every cell.

Columns: `key`, `parameters` (a struct), `seed`, `measures` (a struct), `version`, `compiled`,
`seconds`, `processor_seconds` and `finished` (UTC). The file is replaced at once, so that a run
that is killed leaves every cell that it finished, and the next run goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet

from gossamer_lab.experiments.experiment import Cell, ResultRow, ResultRows


@dataclass(frozen=True)
class Finished:
    """What comes back from a worker. Its fields after the cell are columns of the table."""

    cell: Cell
    measures: dict[str, Any]
    version: str
    compiled: bool
    seconds: float
    processor_seconds: float  # of the worker and the processes that it started
    finished: str

    def record(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)[1:]}
        cell = self.cell
        return {"key": cell.key, "parameters": cell.parameters, "seed": cell.seed, **values}


class ResultTable:
    """The results of one experiment; those of another version count as not there."""

    def __init__(self, folder: Path, name: str, version: str) -> None:
        self.path = folder / f"{name}.parquet"
        self.version = version
        self._records: dict[str, dict[str, Any]] = {}
        if self.path.exists():
            for record in parquet.read_table(self.path).to_pylist():
                self._records[record["key"]] = record

    def has(self, cell: Cell) -> bool:
        record = self._records.get(cell.key)
        return record is not None and record["version"] == self.version

    def add(self, finished: Finished) -> None:
        self._records[finished.cell.key] = finished.record()
        fresh = self.path.with_suffix(".new")
        parquet.write_table(arrow.Table.from_pylist(list(self._records.values())), fresh)
        fresh.replace(self.path)

    def forget(self, chosen: Iterable[Cell]) -> None:
        """So that they are measured again."""
        for cell in chosen:
            self._records.pop(cell.key, None)

    def rows(self, chosen: Iterable[Cell]) -> ResultRows:
        """Of these cells, as far as they are finished; parameters as the grid has them."""
        return ResultRows(
            ResultRow(
                cell.parameters, cell.seed, _without_gaps(self._records[cell.key]["measures"])
            )
            for cell in chosen
            if self.has(cell)
        )

    def total(self, column: str, chosen: Iterable[Cell]) -> float:
        """Of these cells, for example of `seconds`: what they took, one after the other."""
        return float(sum(self._records[cell.key][column] for cell in chosen if self.has(cell)))


def _without_gaps(measures: dict[str, Any]) -> dict[str, Any]:
    """A cell that lacks a measure of the others has a null in the table."""
    return {name: value for name, value in measures.items() if value is not None}
