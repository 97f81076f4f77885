"""How a run of torture ends: with what was tried, and what was broken or a good word."""

import platform
from collections.abc import Sequence

import typer

from gossamer import __version__
from gossamer.cli.errors import CommandError
from gossamer.wire import frames

MOST_FAULTS_SHOWN = 20


def build() -> str:
    """What was run, for the record: brokers are started with this interpreter and these modules."""
    core = "from its sources" if frames.__file__.endswith(".py") else "compiled"
    python = platform.python_version()
    return f"gossamer {__version__}, core {core}, Python {python} on {platform.machine()}"


def conclude(faults: Sequence[str]) -> None:
    """Raises CommandError if there are any."""
    for fault in faults[:MOST_FAULTS_SHOWN]:
        typer.echo(fault, err=True)
    if faults:
        raise CommandError(f"{len(faults)} promises were broken")
    typer.echo("every promise was kept")
