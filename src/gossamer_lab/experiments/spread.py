"""Spreads the cells of a grid over Spark's workers, and takes each result the moment it is there.

A cell is a Spark job of one task, and as many are under way as Spark has slots. So results come to
the driver one by one, on any cluster and without a shared disk, and a run that is ended keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING

from gossamer_lab.experiments.experiment import Cell, Experiment
from gossamer_lab.experiments.results import Finished
from gossamer_lab.experiments.worker import work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Answer = Finished | str  # what was measured, or what went wrong
Report = Callable[[Cell, Answer], None]


def spread(
    spark: SparkSession, experiment: Experiment, chosen: Sequence[Cell], report: Report
) -> None:
    """Returns when every cell has been reported, in any order, from this thread."""
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
