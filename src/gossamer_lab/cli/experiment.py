"""`gossamer experiment`: the experiments of the papers listed, run and reported.

Spark and matplotlib are imported where they are needed: a list needs neither.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from gossamer_lab.experiments.experiment import Cell, Experiment
    from gossamer_lab.experiments.run import Answer, ExperimentPlan

RESULTS = Path("out/experiments")
ALL = "all"

Scale = Annotated[
    str, typer.Option(help="small (minutes), paper (what the papers did) or large (beyond).")
]
Results = Annotated[Path, typer.Option("--out", help="The folder with the tables of results.")]


def list_(scale: Scale = "small", out: Results = RESULTS) -> None:
    """List the experiments, what they reproduce, and how many cells are finished."""
    from rich.console import Console

    from gossamer_lab.experiments.experiment import everything
    from gossamer_lab.tables import table

    try:
        from gossamer_lab.experiments.run import plan
    except ModuleNotFoundError as problem:
        raise _missing(problem) from None
    _check_scale(scale)
    rows = []
    for experiment in everything():
        planned = plan(experiment, scale, out)
        finished = f"{planned.finished} of {len(planned.grid)}"
        rows.append((experiment.name, experiment.source, finished))
    Console().print(table("", ("name", "repeats", "finished"), rows, left=2))


def run(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME…", help="Names of experiments, or “all”; see list.")
    ],
    scale: Scale = "small",
    master: Annotated[str, typer.Option(help="Spark's master URL; this machine by default.")] = "",
    out: Results = RESULTS,
    again: Annotated[bool, typer.Option("--again", help="Run finished cells again.")] = False,
) -> None:
    """Run experiments; finished cells are not run again."""
    from rich.console import Console

    chosen = _chosen(names)
    _check_scale(scale)
    _make_folder(out)
    console = Console()
    try:
        from gossamer_lab.experiments.run import failures, plan

        plans = [plan(experiment, scale, out, again) for experiment in chosen]
        left = sum(len(planned.left) for planned in plans)
        if not left:
            console.print("everything is finished already; --again runs it again")
            return
    except ModuleNotFoundError as problem:
        raise _missing(problem) from None
    spark = _spark(master)
    try:
        run_plans(console, spark, plans)
    finally:
        spark.stop()
    failed = failures(plans)
    for experiment, cell, reason in failed:
        console.print(f"FAILED {experiment} {cell}: {reason}", highlight=False, soft_wrap=True)
    console.print(f"kept in {out}; gossamer experiment report --scale {scale} shows it")
    if failed:
        raise CommandError(
            f"{len(failed)} of {left} cells failed; run the same command to try again"
        )


def run_plans(console: "Console", spark: "SparkSession", plans: "list[ExperimentPlan]") -> None:
    """Bars for a person who watches; a line a cell for a file."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from gossamer_lab.experiments.run import run as run_plan

    with Progress(
        TextColumn("{task.description:18}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as progress:
        for planned in plans:
            bar = progress.add_task(
                planned.experiment.name, total=len(planned.grid), completed=planned.finished
            )
            if console.is_terminal:
                run_plan(spark, planned, partial(_advance, progress, bar))
            else:
                run_plan(spark, planned, partial(_print_cell, console, planned))


def _advance(progress: "Progress", bar: "TaskID", cell: "Cell", answer: "Answer") -> None:
    progress.advance(bar)


def _print_cell(console: "Console", plan: "ExperimentPlan", cell: "Cell", answer: "Answer") -> None:
    took = "failed" if isinstance(answer, str) else f"{answer.seconds:.1f} s"
    done = plan.finished + len(plan.failed)
    line = f"{plan.experiment.name} {done}/{len(plan.grid)}: {cell}: {took}"
    console.print(line, highlight=False, soft_wrap=True, markup=False)


def report(
    scale: Scale = "small",
    out: Results = RESULTS,
    page: Annotated[
        Path | None,
        typer.Option(help="Output file; by default in the folder of results."),
    ] = None,
    remark: Annotated[str, typer.Option(help="A sentence for the top of the page.")] = "",
    pictures: Annotated[bool, typer.Option(help="Write the figures as PNG files too.")] = True,
    open_it: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write the report: each figure with the paper's result and ours."""
    from rich.console import Console

    from gossamer_lab.experiments.experiment import everything

    _check_scale(scale)
    _make_folder(out)
    try:
        from gossamer_lab.experiments.report import gather, write, write_pictures

        gathered = gather(everything(), scale, out)
    except ModuleNotFoundError as problem:
        raise _missing(problem) from None
    gathered.remark = remark
    written = write(gathered, page or out / f"report-{scale}.html")
    console = Console()
    console.print(f"the report is in {written}", soft_wrap=True)
    if pictures:
        files = write_pictures(gathered, out / f"figures-{scale}")
        console.print(f"{len(files)} figures are in {out / f'figures-{scale}'}", soft_wrap=True)
    if open_it:
        typer.launch(str(written))


def speedup(
    cores: Annotated[int, typer.Option(min=2, help="Number of cores to compare with one.")] = 2,
    count: Annotated[int, typer.Option("--cells", min=2, help="Simulations in the grid.")] = 12,
) -> None:
    """Run simulations with Spark on one core and on several, and print the speed-up."""
    from rich.console import Console

    console = Console()
    try:
        from gossamer_lab.experiments.speedup import WANTED, SpeedupFailed, grid, measure
    except ModuleNotFoundError as problem:
        raise _missing(problem) from None
    timings = []
    for number in (1, cores):
        spark = _spark(f"local[{number}]")
        try:
            with console.status(f"{count} simulations on {number} of the cores"):
                timings.append(measure(spark, number, grid(count)))
        except SpeedupFailed as problem:
            raise CommandError(str(problem)) from None
        finally:
            spark.stop()
        timing = timings[-1]
        console.print(
            f"local[{number}]: {timing.cells} simulations in {timing.seconds:.1f} s "
            f"({timing.work:.1f} s of work)",
            highlight=False,
        )
    ratio = timings[0].seconds / timings[1].seconds
    wanted = f"; at least {WANTED} is wanted" if cores == 2 else ""
    console.print(f"{ratio:.2f} times as fast on {cores} as on one{wanted}", highlight=False)


def _chosen(names: list[str]) -> "list[Experiment]":
    from gossamer_lab.experiments.experiment import UnknownExperiment, everything, find

    if names == [ALL]:
        return everything()
    try:
        return [find(name) for name in names]
    except UnknownExperiment as problem:
        raise WrongUse(str(problem)) from None


def _spark(master: str) -> "SparkSession":
    import gossamer_lab

    try:
        from gossamer.spark.java import NoJava
        from gossamer.spark.session import CONNECT, LOCAL, NoMaster, start
    except ModuleNotFoundError as problem:
        raise _missing(problem) from None
    if master.startswith(CONNECT):
        raise WrongUse(f"experiments need a master, not a Connect server ({master})")
    try:
        return start("gossamer experiments", master or LOCAL, packages=[gossamer_lab])
    except (NoJava, NoMaster) as problem:
        raise CommandError(str(problem)) from None


def _check_scale(scale: str) -> None:
    from gossamer_lab.experiments.experiment import SCALES

    if scale not in SCALES:
        raise WrongUse(f"there is no scale {scale!r}; scales are {', '.join(SCALES)}")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise CommandError(f"cannot write to {folder}: {problem.strerror}") from None


def _missing(problem: ModuleNotFoundError) -> CommandError:
    """What to install for a package that is not there."""
    extras = {"pyspark": "gossamer[spark]", "matplotlib": "gossamer-lab[plots]"}
    name = (problem.name or "").split(".")[0]
    return CommandError(f"{name} is missing: pip install '{extras.get(name, 'gossamer[data]')}'")
