"""Runs experiments: which cells are left, Spark for those, every result into its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import gossamer
from gossamer_lab.experiments.experiment import Cell, Experiment
from gossamer_lab.experiments.results import ResultTable
from gossamer_lab.experiments.spread import Answer, spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class ExperimentPlan:
    """One experiment at one scale: its whole grid, and the cells that are not finished."""

    experiment: Experiment
    table: ResultTable
    grid: list[Cell]
    left: list[Cell]
    failed: dict[str, str] = field(default_factory=dict)  # by cell, what went wrong

    @property
    def finished(self) -> int:
        return len(self.grid) - len(self.left)


def plan(experiment: Experiment, scale: str, folder: Path, again: bool = False) -> ExperimentPlan:
    """`again`: finished cells are left, too."""
    table = ResultTable(folder, experiment.name, gossamer.__version__)
    grid = experiment.grid(scale)
    if again:
        table.forget(grid)
    return ExperimentPlan(experiment, table, grid, [cell for cell in grid if not table.has(cell)])


def run(spark: SparkSession, plan: ExperimentPlan, report: Callable[[Cell, Answer], None]) -> None:
    """What is finished leaves `plan.left`; what failed stays there and is in `plan.failed`."""

    def keep(cell: Cell, answer: Answer) -> None:
        if isinstance(answer, str):
            plan.failed[str(cell)] = answer
        else:
            plan.table.add(answer)
            plan.left.remove(cell)
        report(cell, answer)

    spread(spark, plan.experiment, list(plan.left), keep)


def failures(plans: Sequence[ExperimentPlan]) -> list[tuple[str, str, str]]:
    """Experiment, cell and reason of everything that failed."""
    return [
        (plan.experiment.name, cell, reason)
        for plan in plans
        for cell, reason in plan.failed.items()
    ]
