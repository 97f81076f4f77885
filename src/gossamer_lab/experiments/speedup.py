"""What more cores bring: the same grid of simulations by Spark on one and on several."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gossamer_lab.experiments.dissemination.simulation import NETWORK, TENTH
from gossamer_lab.experiments.experiment import SMALL, Cell, Grid, find
from gossamer_lab.experiments.run import Answer, spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STUDY: Final = "mesh-traffic"
WANTED: Final = 1.6  # with two cores


class SpeedupFailed(Exception):
    """A cell failed; the text says why."""


@dataclass(frozen=True)
class Timing:
    cores: int
    cells: int
    seconds: float
    work: float  # seconds that the cells took on their workers, added up


def grid(count: int) -> list[Cell]:
    """As many simulations of about the same length; every mode of the mesh tells something."""
    return Grid({"mode": ["sf"], "alpha": [0.3]}, count, NETWORK)(SMALL)


def measure(spark: SparkSession, cores: int, chosen: Sequence[Cell]) -> Timing:
    """Without what starting Spark and its workers takes."""
    experiment = find(STUDY)
    work: list[float] = []

    def keep(cell: Cell, answer: Answer) -> None:
        if isinstance(answer, str):
            raise SpeedupFailed(f"{cell}: {answer}")
        work.append(answer.seconds)

    warming = Grid({"mode": ["sf"], "alpha": [0.3]}, 2 * cores, TENTH)
    spread(spark, experiment, warming(SMALL), keep)
    work.clear()
    began = time.perf_counter()
    spread(spark, experiment, chosen, keep)
    return Timing(cores, len(chosen), time.perf_counter() - began, sum(work))
