"""`gossamer sim replay`: a trial again, as the trace of a failure describes it."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError
from gossamer_lab.cli.sim.failures import show_faults
from gossamer_lab.trials.plan import read_plan
from gossamer_lab.trials.trial import run_trial


def replay(
    trace: Annotated[
        Path, typer.Argument(help="Trace file written by `sim torture`.", exists=True)
    ],
) -> None:
    """Replay a failure, event by event."""
    try:
        plan = read_plan(trace.read_text())
    except (ValueError, TypeError) as problem:
        raise CommandError(f"{trace} is not a simulation trace: {problem}") from problem
    outcome = run_trial(plan, keeps_trace=True)
    for line in outcome.trace:
        typer.echo(line)
    if outcome.faults:
        show_faults(outcome.faults)
        raise CommandError("it still fails")
    typer.echo("every promise was kept")
