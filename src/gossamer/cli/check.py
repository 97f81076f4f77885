"""`gossamer check FILE`: says whether a configuration is right, and what it will mean."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.net.assembly import confinement_warnings
from gossamer.net.config import ConfigError, load
from gossamer.net.config.reporting import in_force, warnings
from gossamer.net.resolved_config import read_resolved


def check(
    file: Annotated[Path, typer.Argument(help="The configuration file (TOML).")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print problems only.")] = False,
) -> None:
    """Validate a configuration and the files it names, and print the effective settings."""
    try:
        config = load(file)
        resolved = read_resolved(config)
    except ConfigError as error:
        for problem in error.problems:
            typer.echo(problem, err=True)
        raise typer.Exit(2) from error
    told = (
        *warnings(config),
        *resolved.budgets.warnings(),
        *resolved.notes,
        *confinement_warnings(config),
    )
    for warning in told:
        typer.echo(f"warning: {warning}", err=True)
    if not quiet:
        typer.echo("\n".join(in_force(config)))
        typer.echo("\n".join(f"# {line}" for line in resolved.budgets.lines()))
