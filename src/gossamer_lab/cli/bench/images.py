"""``gossamer bench images``: what looking at images takes, and what it saves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse

if TYPE_CHECKING:
    from rich.table import Table

    from gossamer_lab.bench.images.crowd import CrowdRun
    from gossamer_lab.bench.images.steps import StepRun

# A table in a file or a pipe has no window that it must fit.
FILE_WIDTH = 120

NEEDED = ("CNTPPL", "CNTFEMALE")
SUBSCRIBERS = 10
RUNS = (("MQTT", 1), ("CNTPPL", 1), ("CNTPPL", 2))


def images(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Photographs; by default those in packages."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Images to publish in each run.")] = 200,
    quick: Annotated[bool, typer.Option("--quick", help="A short run.")] = False,
) -> None:
    """Measure the models' steps, and a broker with cameras, subscribers and real workers."""
    from rich.console import Console
    from rich.progress import Progress

    from gossamer.plus.vocabulary import Vocabulary
    from gossamer.vision.models import models_folder
    from gossamer.vision.registry import find_processors
    from gossamer.vision.settings import WorkerSettings
    from gossamer_lab.bench.images.crowd import run_crowd
    from gossamer_lab.bench.images.photographs import photographs
    from gossamer_lab.bench.images.steps import run_steps

    settings = WorkerSettings(str(models_folder()), seconds=60.0)
    installed = find_processors(Vocabulary(), settings)
    for kind in installed.kinds:
        if kind.keyword in NEEDED and kind.trouble:
            raise CommandError(kind.trouble)
    try:
        found = photographs(files or [])
    except OSError as error:
        raise WrongUse(f"cannot read {error.filename}: {error.strerror}") from error
    contents = list(found.values())
    published = [contents[at % len(contents)] for at in range(min(count, 20) if quick else count)]
    console = Console()
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("measuring", total=len(found) + len(RUNS))
        steps: list[StepRun] = []
        for name, data in found.items():
            steps.append(run_steps(name, data, settings))
            progress.advance(task)
        crowds: list[CrowdRun] = []
        for way, workers in RUNS:
            crowds.append(run_crowd(way, published, SUBSCRIBERS, workers, installed, settings))
            progress.advance(task)
    console.print(_step_table(steps))
    console.print(_crowd_table(crowds))


def _table(title: str, *columns: str) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _step_table(runs: list["StepRun"]) -> "Table":
    from gossamer_lab.bench.images.steps import STEPS

    table = _table("One image on one core, in ms", "image", "pixels", "people", *STEPS)
    for run in runs:
        times = (f"{run.milliseconds[step]:.1f}" for step in STEPS)
        table.add_row(run.name, f"{run.width}×{run.height}", str(run.people), *times)
    return table


def _crowd_table(runs: list["CrowdRun"]) -> "Table":
    table = _table(
        f"{runs[0].images} images, {SUBSCRIBERS} subscribers, with the recogniser",
        "way",
        "workers",
        "images/s",
        "downlink bytes",
        "broker CPU s",
        "workers CPU s",
        "longest wait of the broker ms",
    )
    for run in runs:
        table.add_row(
            run.way,
            "" if run.way == "MQTT" else str(run.workers),
            f"{run.rate:,.0f}",
            f"{run.downlink:,}",
            f"{run.broker_cpu:.2f}",
            f"{run.worker_cpu:.2f}",
            f"{run.longest_wait * 1000:.1f}",
        )
    return table
