"""How failed trials are shown: their faults, the end of what happened, and how to repeat them."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import typer

from gossamer_lab.trials.torture import TrialVerdict
from gossamer_lab.trials.trial import run_trial, shrunk

_MOST_SHOWN: Final = 20
# A plan is made smaller by hundreds of trials: enough of them to understand, not one for each seed.
_MOST_SHRUNK: Final = 3


def show_faults(faults: Sequence[str]) -> None:
    for fault in faults[:_MOST_SHOWN]:
        typer.echo(fault, err=True)


def show_failures(failures: Sequence[TrialVerdict], folder: Path) -> None:
    """Every failing seed in a line; plans go into files that `gossamer sim replay` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    for failure in failures[:_MOST_SHRUNK]:
        _explain(failure, folder)
    for failure in failures:
        case, fault = failure.case, failure.faults[0].splitlines()[-1]
        typer.echo(f"seed {case.seed} in {case.mode}: {fault}", err=True)
        typer.echo(f"  reproduce it with: {case.command()}", err=True)


def _explain(failure: TrialVerdict, folder: Path) -> None:
    """The smallest plan found that fails, and how it ends; the whole plan of one that raised."""
    case, plan = failure.case, failure.case.plan()
    path = folder / f"sim-failure-{case.seed}-{case.mode}.json"
    path.write_text(plan.as_text())
    with suppress(Exception):  # it is shown with the faults, as it was first raised
        outcome = run_trial(plan, keeps_trace=True)
        if outcome.faults:
            outcome = run_trial(shrunk(plan), keeps_trace=True)
            path.write_text(outcome.plan.as_text())
        for line in outcome.trace[-_MOST_SHOWN:]:
            typer.echo(line, err=True)
    show_faults(failure.faults)
    typer.echo(f"event by event: gossamer sim replay {path}", err=True)
