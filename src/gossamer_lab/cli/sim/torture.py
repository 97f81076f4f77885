"""`gossamer sim torture`: random small meshes under storms, cuts and crashes, seed by seed."""

import os
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.cli.progress import Advance
from gossamer_lab.cli.sim.failures import show_failures
from gossamer_lab.trials.torture import ALL_MODES, TrialReport, cases
from gossamer_lab.trials.torture import torture as run_torture

_DEFAULT_MINUTES = 1.0


def torture(
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="Number of seeds to run in each mode.")
    ] = None,
    first: Annotated[
        int, typer.Option("--first", "--seed", min=0, help="The first seed; the others follow.")
    ] = 1,
    modes: Annotated[
        str,
        typer.Option(
            "--modes",
            "--mode",
            help=f"Of {', '.join(ALL_MODES)}, with commas between; all if not named. "
            "In mixed ones operators change the mode.",
        ),
    ] = "",
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0.0, help="Start no further mesh after this many seconds."),
    ] = None,
    roaming: Annotated[
        bool, typer.Option("--roaming", help="Include roaming clients and shared subscriptions.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="Number of processes; by default one per core."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="Folder for the plans of failed runs.")
    ] = Path(),
) -> None:
    """Search random meshes for lost or duplicate messages; print every failing seed."""
    chosen = [mode.strip() for mode in modes.split(",") if mode.strip()] or list(ALL_MODES)
    for mode in chosen:
        if mode not in ALL_MODES:
            raise WrongUse(f"--modes accepts {', '.join(ALL_MODES)}, not {mode!r}")
    if seeds is None and minutes is None:
        minutes = _DEFAULT_MINUTES
    total = seeds * len(chosen) if seeds is not None else 60 * (minutes or 0.0)
    with Advance("trials" if seeds is not None else "seconds", total) as advance:

        def show(report: TrialReport) -> None:
            failed = f"{len(report.failures)} failed" if report.failures else ""
            advance.show(report.trials if seeds is not None else report.seconds, failed)

        report = run_torture(
            cases(first, seeds, chosen, roaming),
            jobs or os.cpu_count() or 1,
            None if minutes is None else minutes * 60,
            show,
        )
    typer.echo(_summary(report, chosen, roaming))
    if report.failures:
        show_failures(report.failures, out)
        raise CommandError(
            f"{len(report.failures)} of {report.trials} meshes broke a promise, "
            f"of {len({failure.case.seed for failure in report.failures})} seeds"
        )
    typer.echo("every promise was kept")


def _summary(report: TrialReport, modes: list[str], roaming: bool) -> str:
    span = f"{min(report.seeds)} to {max(report.seeds)}" if report.seeds else "none"
    kind = ", with roaming clients" if roaming else ""
    return (
        f"{len(report.seeds)} seeds ({span}) in {len(modes)} modes ({', '.join(modes)}){kind}: "
        f"{report.trials} meshes, {report.receipts} messages received, {report.events} events, "
        f"{len(report.failures)} failures in {report.seconds:.0f} seconds"
    )
