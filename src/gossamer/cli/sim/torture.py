"""`gossamer sim torture`: random small meshes under storms, cuts and crashes, until time is up."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.cli.sim.reporting import show_failure
from gossamer.mesh.settings import MODES
from gossamer.sim.trials.torture import torture as run_torture


def torture(
    minutes: Annotated[float, typer.Option("--minutes", min=0.0, help="How long.")] = 1.0,
    seed: Annotated[int, typer.Option("--seed", help="The first trial's; then one more each.")] = 1,
    mode: Annotated[
        str, typer.Option("--mode", help=f"One of {', '.join(MODES)}; any if not named.")
    ] = "",
    roaming: Annotated[
        bool, typer.Option("--roaming", help="Clients move, and members share.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", help="Where the trace of a failure goes.")] = Path(),
) -> None:
    """Look for one lost or repeated message in random meshes; fail with a trace that repeats it."""
    if mode and mode not in MODES:
        raise WrongUse(f"--mode is one of {', '.join(MODES)}, not {mode!r}")
    with Progress() as progress:
        bar = progress.add_task("trials", total=minutes * 60)
        report = run_torture(
            minutes * 60,
            seed,
            mode,
            roaming,
            lambda seconds: progress.update(bar, completed=seconds),
        )
    typer.echo(
        f"{report.trials} meshes, {report.receipts} messages received, "
        f"{report.events} events in {report.seconds:.0f} seconds"
    )
    if report.failure is not None:
        show_failure(report.failure, out)
        raise CommandError(f"the mesh of seed {report.failure.plan.seed} broke a promise")
    typer.echo("every promise was kept")
