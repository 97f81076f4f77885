"""``gossamer experiment run``: the cells that are not finished, spread by Spark."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse
from gossamer_lab.cli.experiment import RESULTS, Results, Scale, known_scale, made_folder, missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from gossamer_lab.experiments.experiment import Cell, Experiment
    from gossamer_lab.experiments.run import ExperimentPlan
    from gossamer_lab.experiments.spread import Answer

ALL = "all"


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
    known_scale(scale)
    made_folder(out)
    console = Console()
    try:
        from gossamer_lab.experiments.run import failures, plan

        plans = [plan(experiment, scale, out, again) for experiment in chosen]
        left = sum(len(planned.left) for planned in plans)
        if not left:
            console.print("everything is finished already; --again runs it again")
            return
        spark = _spark(master)
    except ModuleNotFoundError as problem:
        raise missing(problem) from None
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


def _chosen(names: list[str]) -> "list[Experiment]":
    from gossamer_lab.experiments.catalogue import UnknownExperiment, everything, find

    if names == [ALL]:
        return everything()
    try:
        return [find(name) for name in names]
    except UnknownExperiment as problem:
        raise WrongUse(str(problem)) from None


def _spark(master: str) -> "SparkSession":
    import gossamer_lab
    from gossamer.spark.java import NoJava
    from gossamer.spark.masters import NoMaster
    from gossamer.spark.session import CONNECT, LOCAL, start

    if master.startswith(CONNECT):
        raise WrongUse(f"experiments need a master, not a Connect server ({master})")
    try:
        return start("gossamer experiments", master or LOCAL, packages=[gossamer_lab])
    except (NoJava, NoMaster) as problem:
        raise CommandError(str(problem)) from None


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
                run_plan(spark, planned, partial(_tell, console, planned))


def _advance(progress: "Progress", bar: "TaskID", cell: "Cell", answer: "Answer") -> None:
    progress.advance(bar)


def _tell(console: "Console", plan: "ExperimentPlan", cell: "Cell", answer: "Answer") -> None:
    took = "failed" if isinstance(answer, str) else f"{answer.seconds:.1f} s"
    done = plan.finished + len(plan.failed)
    line = f"{plan.experiment.name} {done}/{len(plan.grid)}: {cell}: {took}"
    console.print(line, highlight=False, soft_wrap=True, markup=False)
