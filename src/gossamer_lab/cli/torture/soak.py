"""`gossamer torture soak`: a mesh under everything at once, for as long as one likes."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.cli.progress import Advance
from gossamer.mesh.settings import MODES
from gossamer_lab.cli.torture.conclusion import MOST_FAULTS_SHOWN, build
from gossamer_lab.torture.soak.trends import Trend, warm_up

if TYPE_CHECKING:
    from gossamer_lab.torture.soak.run import SoakOutcome, SoakPlan, SoakProgress


def soak(
    minutes: Annotated[float, typer.Option("--minutes", min=0.25, help="Duration.")] = 10.0,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 1,
    rate: Annotated[
        float,
        typer.Option(
            "--rate",
            min=1.0,
            help="Messages a second of each of six streams; more show a leak sooner.",
        ),
    ] = 50.0,
    mode: Annotated[
        str, typer.Option("--mode", help=f"Mode of the mesh: one of {', '.join(MODES)}.")
    ] = "ssf",
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Keep all files in this folder; must be empty.")
    ] = None,
) -> None:
    """Run a mesh under load for long; fail on any lost message or rising memory.

    Three brokers with stores and archives, clients that connect and disconnect, links that are cut.
    Nothing acknowledged may be lost, and memory, descriptors, disk and latency must not rise."""
    if mode not in MODES:
        raise WrongUse(f"--mode must be one of {', '.join(MODES)}, not {mode!r}")
    try:
        from gossamer_lab.torture.soak.run import SoakPlan
    except ModuleNotFoundError as problem:
        way = "the archive needs pip install 'gossamer[data]'"
        raise CommandError(f"{problem.name} is missing: {way}") from None
    plan = SoakPlan(minutes, seed, mode=mode, rate=rate)
    if keep is not None:
        outcome = _run(plan, keep.absolute())
    else:
        with tempfile.TemporaryDirectory(prefix="gossamer-soak-") as folder:
            outcome = _run(plan, Path(folder))
    _report(outcome, plan)


def _run(plan: SoakPlan, folder: Path) -> SoakOutcome:
    from gossamer_lab.torture.soak.run import soak as run_soak

    with Advance("seconds", plan.minutes * 60) as advance:

        def show(progress: SoakProgress) -> None:
            advance.show(
                progress.seconds,
                f"{progress.acknowledged} acknowledged, {progress.memory}, "
                f"{progress.faults} faults",
            )

        return asyncio.run(run_soak(plan, folder, show))


def _report(outcome: SoakOutcome, plan: SoakPlan) -> None:
    begin = warm_up(plan.minutes * 60)
    # As wide as it needs, so that a log has whole lines.
    Console(width=None if Console().is_terminal else 140).print(_table(outcome.trends, begin))
    typer.echo(
        f"{build()}; seed {plan.seed}, {plan.brokers} brokers, mode {plan.mode}, "
        f"{plan.rate:g} messages a second a stream: "
        f"{outcome.acknowledged} messages acknowledged, {outcome.received} received "
        f"({outcome.repeated} of them again, at QoS 1), {outcome.offsets} offsets archived, "
        f"{outcome.visits} visits ({outcome.refused} refused), {outcome.cuts} cuts of a link, "
        f"{len(outcome.faults)} faults in {outcome.seconds:.0f} seconds"
    )
    for fault in outcome.faults[:MOST_FAULTS_SHOWN]:
        typer.echo(fault, err=True)
    rising = [one for one in outcome.trends if not one.is_level]
    if outcome.faults or rising:
        raise CommandError(
            f"{len(outcome.faults)} promises were broken, {len(rising)} measures are not level"
        )
    typer.echo("every promise was kept, and every measure is level")


def _table(trends: list[Trend], begin: float) -> Table:
    table = Table(title=f"after {begin:.0f} seconds of warm-up, in which caches fill")
    for name, side in (
        ("measure", "left"),
        ("of", "left"),
        ("level", "right"),
        ("slope an hour", "right"),
        ("drift", "right"),
        ("allowed", "right"),
        ("", "left"),
    ):
        table.add_column(name, justify="right" if side == "right" else "left")
    for one in trends:
        unit = f" {one.measure.unit}" if one.measure.unit else ""
        table.add_row(
            one.measure.name,
            one.subject,
            f"{one.level:,.1f}{unit}",
            f"{one.slope:+,.1f}{unit}",
            f"{one.drift:+,.2f}{unit}",
            f"{one.allowed:,.1f}{unit}",
            "level" if one.is_level else "RISING",
        )
    return table
