"""How a run of torture ends: with what was broken, or with a good word."""

from collections.abc import Sequence

import typer

from gossamer.cli.errors import CommandError

MOST_FAULTS_SHOWN = 20


def conclude(faults: Sequence[str]) -> None:
    """Raises CommandError if there are any."""
    for fault in faults[:MOST_FAULTS_SHOWN]:
        typer.echo(fault, err=True)
    if faults:
        raise CommandError(f"{len(faults)} promises were broken")
    typer.echo("every promise was kept")
