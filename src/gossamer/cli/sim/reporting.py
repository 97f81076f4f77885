"""How a failed trial is shown: its faults, the end of what happened, and how to repeat it."""

from pathlib import Path
from typing import Final

import typer

from gossamer.sim.trials.trial import Outcome

_MOST_SHOWN: Final = 20


def show_faults(faults: list[str]) -> None:
    for fault in faults[:_MOST_SHOWN]:
        typer.echo(fault, err=True)


def show_failure(outcome: Outcome, folder: Path) -> None:
    """The plan goes into a file that `gossamer sim replay` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"sim-failure-{outcome.plan.seed}.json"
    path.write_text(outcome.plan.as_text())
    for line in outcome.trace[-_MOST_SHOWN:]:
        typer.echo(line, err=True)
    show_faults(outcome.faults)
    typer.echo(f"seed {outcome.plan.seed}; repeat it with: gossamer sim replay {path}", err=True)
