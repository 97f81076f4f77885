"""`gossamer check FILE`: says whether a configuration is right, and what it will mean."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.net.config import ConfigError, load
from gossamer.net.config.reporting import in_force, warnings
from gossamer.net.material import read_material
from gossamer.net.processing import confinement_warnings


def check(
    file: Annotated[Path, typer.Argument(help="The configuration file, TOML.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only say what is wrong.")] = False,
) -> None:
    """Validate a configuration with the files it names, and print what will be in force."""
    try:
        config = load(file)
        material = read_material(config)
    except ConfigError as error:
        for problem in error.problems:
            typer.echo(problem, err=True)
        raise typer.Exit(2) from error
    for warning in (*warnings(config), *material.notes, *confinement_warnings(config)):
        typer.echo(f"warning: {warning}", err=True)
    if not quiet:
        typer.echo("\n".join(in_force(config)))
