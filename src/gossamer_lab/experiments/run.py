"""Runs experiments: which cells are left, Spark for those, every result into its table.

A cell is a Spark job of one task, and as many are under way as Spark has slots. So results come to
the driver one by one, on any cluster and without a shared disk, and a run that is ended keeps them.
"""

from __future__ import annotations

import resource
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import gossamer
from gossamer.wire import frames
from gossamer_lab.experiments.experiment import Cell, CellFailed, Experiment, find
from gossamer_lab.experiments.results import Finished, ResultTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Answer = Finished | str  # what was measured, or what went wrong
Report = Callable[[Cell, Answer], None]


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


def run(spark: SparkSession, plan: ExperimentPlan, report: Report) -> None:
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


def spread(
    spark: SparkSession, experiment: Experiment, chosen: Sequence[Cell], report: Report
) -> None:
    """Over Spark's workers. Returns when every cell has been reported, in any order, from this
    thread."""
    context = spark.sparkContext
    slots = 1 if experiment.alone else max(1, context.defaultParallelism)
    name = experiment.name

    def submit(cell: Cell) -> Answer:
        answer: Answer = context.parallelize([cell], 1).map(lambda one: work(name, one)).first()
        return answer

    pool = ThreadPoolExecutor(slots)
    try:
        under_way = {pool.submit(submit, cell): cell for cell in chosen}
        for done in as_completed(under_way):
            report(under_way[done], done.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        context.cancelAllJobs()


def work(name: str, cell: Cell) -> Answer:
    """One cell on one worker; one that goes wrong does not end the others."""
    began, spent = time.perf_counter(), _processor_seconds()
    try:
        measures = find(name).measure(cell.parameters, cell.seed)
    except CellFailed as problem:
        return str(problem)
    except Exception:
        return traceback.format_exc(limit=-4)
    return Finished(
        cell,
        measures,
        gossamer.__version__,
        is_compiled(),
        time.perf_counter() - began,
        _processor_seconds() - spent,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )


def is_compiled() -> bool:
    return not frames.__file__.endswith(".py")


def _processor_seconds() -> float:
    """Of this process and of those of its children that have ended."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
