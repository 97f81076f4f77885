"""What an experiment is: a grid of cells, the function of a cell, what is read from the results.

A study (one file of `studies/`) declares one `Experiment`. Everything else here, Spark, the tables,
the report, handles all of them alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib import import_module
from itertools import product
from math import sqrt
from multiprocessing import get_context
from statistics import fmean, stdev
from typing import Any, Final

SMALL: Final = "small"  # minutes for all experiments together
PAPER: Final = "paper"  # what the papers did
LARGE: Final = "large"  # as far as this code goes
SCALES: Final = (SMALL, PAPER, LARGE)

# All experiments, in the order of the report; each is the file of `studies/` of that name.
NAMES: Final = (
    "bloom-queries",
    "bloom-errors",
    "bloom-broker",
    "testbed-grid",
    "testbed-shapes",
    "mesh-traffic",
    "mesh-hotspots",
    "mesh-deliveries",
    "mesh-summaries",
    "plus-scalars",
    "plus-images",
    "geo-matching",
    "geo-traffic",
    "mesh-healing",
    "beyond-scale",
)

# Student's t for 95 %, by degrees of freedom; beyond the last the normal distribution is near.
_T: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_NORMAL: Final = 1.96


class UnknownExperiment(LookupError):
    """The text names those there are."""


class CellFailed(Exception):
    """A cell could not be measured; the text says why."""


# The grid ---------------------------------------------------------------------------------------


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
class Scaled:
    """What differs from scale to scale; `large` is as the paper where it is not given."""

    small: Any
    paper: Any
    large: Any = None

    def at(self, scale: str) -> Any:
        if scale == SMALL:
            return self.small
        return self.paper if scale == PAPER or self.large is None else self.large


@dataclass(frozen=True)
class Grid:
    """Every combination of the values of `axes`, the first changing slowest, with seeds from 1 to
    `seeds`; `fixed` is the same in all cells, unless an axis has that name. Anything may be
    `Scaled`. Grids are joined by `+`: the longest cells come first, so that none is waited for at
    the end."""

    axes: Mapping[str, Any]
    seeds: int | Scaled = 1
    fixed: Mapping[str, Any] | Scaled = field(default_factory=dict)
    others: tuple[Grid, ...] = ()

    def __add__(self, other: Grid) -> Grid:
        return replace(self, others=(*self.others, other))

    def __call__(self, scale: str) -> list[Cell]:
        fixed = {name: _at(value, scale) for name, value in _at(self.fixed, scale).items()}
        cells = []
        for values in product(*(_at(values, scale) for values in self.axes.values())):
            point = dict(zip(self.axes, values, strict=True))
            for seed in range(1, 1 + _at(self.seeds, scale)):
                cells.append(Cell({**point, **fixed, **point}, seed))
        return cells + [cell for other in self.others for cell in other(scale)]


def _at(value: Any, scale: str) -> Any:
    return value.at(scale) if isinstance(value, Scaled) else value


# Results ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Band:
    """An average over seeds, and how far to trust it: the 95 % confidence interval of the mean."""

    mean: float
    half: float  # of the interval's width; 0 where there is one value only

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half


def band(values: Sequence[float]) -> Band:
    count = len(values)
    if count < 2:
        return Band(fmean(values), 0.0)
    freedom = count - 1
    t = _T[freedom - 1] if freedom <= len(_T) else _NORMAL
    return Band(fmean(values), t * stdev(values) / sqrt(count))


@dataclass(frozen=True)
class ResultRow:
    """A cell and what was measured in it."""

    parameters: dict[str, Any]
    seed: int
    measures: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        """A parameter or a measure."""
        return self.parameters[name] if name in self.parameters else self.measures[name]

    def has(self, **wanted: Any) -> bool:
        return all(self.parameters.get(name) == value for name, value in wanted.items())


# A measure by its name, or what is computed from a row.
Quantity = str | Callable[[ResultRow], float]


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

    def values(self, quantity: Quantity) -> list[Any]:
        if isinstance(quantity, str):
            return [row[quantity] for row in self._rows]
        return [quantity(row) for row in self._rows]

    def band(self, quantity: Quantity, **wanted: Any) -> Band:
        """Over those with these parameters."""
        return band(self.where(**wanted).values(quantity))

    def mean(self, quantity: Quantity, **wanted: Any) -> float:
        return self.band(quantity, **wanted).mean

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


# Experiments ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    """`measure` runs on Spark's workers, which find it by the name of its experiment."""

    name: str
    title: str
    source: str  # the paper and its figures
    about: str  # a paragraph for the report
    grid: Callable[[str], list[Cell]]  # of a scale
    measure: Callable[[dict[str, Any], int], dict[str, Any]]  # of a cell and its seed
    figures: Callable[[ResultRows], list[Figure]]
    alone: bool = False  # whether a cell needs the machine to itself, as timings do


def find(name: str) -> Experiment:
    """Raises UnknownExperiment."""
    if name not in NAMES:
        raise UnknownExperiment(f"no experiment {name!r}; there are {', '.join(NAMES)}")
    module = import_module(f"gossamer_lab.experiments.studies.{name.replace('-', '_')}")
    experiment: Experiment = module.EXPERIMENT
    return experiment


def everything() -> list[Experiment]:
    return [find(name) for name in NAMES]


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """What it returns; its memory and processor time are its own. It is found by its name."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
