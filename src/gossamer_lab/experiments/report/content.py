"""What the report is made of: for each experiment its figures, its claims, and how it was run."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import gossamer
from gossamer_lab.experiments.experiment import Claim, Experiment, Figure
from gossamer_lab.experiments.run import plan
from gossamer_lab.experiments.worker import is_compiled


@dataclass(frozen=True)
class ReportSection:
    """One experiment: what it shows, or why it shows nothing."""

    experiment: Experiment
    figures: list[Figure]
    finished: int
    cells: int
    seeds: list[int]
    seconds: float  # added up over the cells
    processor_seconds: float
    problem: str = ""

    def headlines(self) -> list[Claim]:
        return [claim for figure in self.figures for claim in figure.claims if claim.headline]


@dataclass
class ExperimentReport:
    scale: str
    sections: list[ReportSection]
    version: str = gossamer.__version__
    made: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))
    machine: str = field(default_factory=lambda: _machine())
    remark: str = ""  # what a reader of this copy must know

    @property
    def seconds(self) -> float:
        return sum(section.seconds for section in self.sections)

    @property
    def processor_seconds(self) -> float:
        return sum(section.processor_seconds for section in self.sections)


def gather(experiments: Iterable[Experiment], scale: str, folder: Path) -> ExperimentReport:
    """From the tables in that folder; what has not run is said, not left out."""
    return ExperimentReport(
        scale, [_section(experiment, scale, folder) for experiment in experiments]
    )


def _section(experiment: Experiment, scale: str, folder: Path) -> ReportSection:
    planned = plan(experiment, scale, folder)
    rows = planned.table.rows(planned.grid)
    figures: list[Figure] = []
    problem = ""
    if len(rows):
        try:
            figures = experiment.figures(rows)
        except (LookupError, ValueError) as missing:
            problem = f"too few of its cells have run for its figures ({missing})"
    else:
        problem = "it has not run at this scale"
    return ReportSection(
        experiment,
        figures,
        planned.finished,
        len(planned.grid),
        sorted({cell.seed for cell in planned.grid}),
        planned.table.total("seconds", planned.grid),
        planned.table.total("processor_seconds", planned.grid),
        problem,
    )


def _machine() -> str:
    core = "compiled core" if is_compiled() else "core not compiled"
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {core}"
    )
