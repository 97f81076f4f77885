"""Writes the page and the pictures beside it."""

from __future__ import annotations

from pathlib import Path

from gossamer_lab.experiments.report.content import ExperimentReport
from gossamer_lab.experiments.report.page import html
from gossamer_lab.experiments.report.pictures import save_png


def write(report: ExperimentReport, page: Path) -> Path:
    """The page holds everything that it shows."""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(html(report), encoding="utf-8")
    return page


def write_pictures(report: ExperimentReport, folder: Path) -> list[Path]:
    """Each figure as PNG, named after its experiment and place in it."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        save_png(figure.drawing, folder / f"{section.experiment.name}-{number}.png")
        for section in report.sections
        for number, figure in enumerate(section.figures, 1)
    ]
