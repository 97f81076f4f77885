"""What an experiment is: a grid of cells, the function of a cell, what is read from the results.

A study (one file of `studies/`) declares one `Experiment`. Everything else here, Spark, the tables,
the report, handles all of them alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

SMALL: Final = "small"  # minutes for all experiments together
PAPER: Final = "paper"  # what the papers did
LARGE: Final = "large"  # as far as this code goes
SCALES: Final = (SMALL, PAPER, LARGE)

Parameters = Mapping[str, Any]
Measures = dict[str, Any]


class CellFailed(Exception):
    """A cell could not be measured; the text says why."""


@dataclass(frozen=True)
class Cell:
    """One point of a grid: what makes it, and the seed of everything random in it."""

    parameters: dict[str, Any]
    seed: int

    @property
    def key(self) -> str:
        """The same for the same parameters and seed, in any order."""
        text = json.dumps([self.parameters, self.seed], sort_keys=True)
        return sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        parts = [f"{name}={value}" for name, value in self.parameters.items()]
        return " ".join([*parts, f"seed={self.seed}"])


@dataclass(frozen=True)
class ResultRow:
    """A cell and what was measured in it."""

    parameters: Parameters
    seed: int
    measures: Mapping[str, Any]
    version: str = ""

    def __getitem__(self, name: str) -> Any:
        """A parameter or a measure."""
        return self.parameters[name] if name in self.parameters else self.measures[name]

    def has(self, **wanted: Any) -> bool:
        return all(self.parameters.get(name) == value for name, value in wanted.items())


class ResultRows(Sequence[ResultRow]):
    """What an experiment has measured so far, in the order of its grid."""

    def __init__(self, rows: Iterable[ResultRow]) -> None:
        self._rows = list(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def where(self, **wanted: Any) -> ResultRows:
        """Those with these parameters."""
        return ResultRows(row for row in self._rows if row.has(**wanted))

    def distinct(self, name: str) -> list[Any]:
        """The values of a parameter or measure, each once, in order."""
        return list(dict.fromkeys(row[name] for row in self._rows))

    def values(self, name: str) -> list[Any]:
        return [row[name] for row in self._rows]

    def by(self, name: str) -> dict[Any, ResultRows]:
        """Groups with the same value of a parameter; rows of one group differ in the rest."""
        return {value: self.where(**{name: value}) for value in self.distinct(name)}

    def only(self, **wanted: Any) -> ResultRow:
        """The first one with these parameters. Raises LookupError if there is none."""
        for row in self._rows:
            if row.has(**wanted):
                return row
        raise LookupError(f"no cell with {wanted}")


@dataclass(frozen=True)
class Claim:
    """What a paper says beside what was measured, and the reason where they differ."""

    claim: str
    printed: str
    ours: str
    holds: bool
    because: str = ""
    headline: bool = False  # whether it is a row of the table at the head of the report

    @property
    def verdict(self) -> str:
        if self.holds:
            return "holds"
        return "differs" if self.because else "missed"


@dataclass(frozen=True)
class Figure:
    """One picture of the report with what belongs to it."""

    name: str  # "Figure 4" of a paper, or a name of ours
    title: str
    drawing: Any  # a matplotlib Figure
    says: str  # what the paper says of it
    claims: list[Claim] = field(default_factory=list)
    note: str = ""  # how it was made here, where that is not obvious


@dataclass(frozen=True)
class Experiment:
    """`measure` runs on Spark's workers, so it must be importable by name; see `catalogue.py`."""

    name: str
    title: str
    source: str  # the paper and its figures
    about: str  # a paragraph for the report
    grid: Callable[[str], list[Cell]]  # of a scale; the longest cells first
    measure: Callable[[Parameters, int], Measures]
    figures: Callable[[ResultRows], list[Figure]]
    alone: bool = False  # whether a cell needs the machine to itself, as timings do


def cells(parameters: Iterable[dict[str, Any]], seeds: Iterable[int]) -> list[Cell]:
    """Every combination of them."""
    chosen = list(seeds)
    return [Cell(one, seed) for one in parameters for seed in chosen]
