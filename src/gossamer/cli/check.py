"""`gossamer check FILE`: says whether a configuration is right, and what it will mean."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from gossamer.net.assembly import confinement_warnings
from gossamer.net.config import Config, ConfigError, load
from gossamer.net.config.reporting import clashes, in_force, warnings
from gossamer.net.resolved_config import read_resolved

REACH_SECONDS = 3.0


def check(
    file: Annotated[Path, typer.Argument(help="The configuration file (TOML).")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print problems only.")] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not try to reach the other brokers that it names.")
    ] = False,
) -> None:
    """Validate a configuration and the files it names, and print the effective settings."""
    problems: list[str] = []
    resolved = None
    try:
        config = load(file)
        problems += clashes(config)
        resolved = read_resolved(config)
    except ConfigError as error:
        problems += error.problems
    if problems or resolved is None:
        for problem in problems:
            typer.echo(problem, err=True)
        raise typer.Exit(2)
    config = resolved.config
    told = (
        *warnings(config),
        *resolved.budgets.warnings(),
        *resolved.notes,
        *confinement_warnings(config),
        *(() if offline else unreachable(config)),
    )
    for warning in told:
        typer.echo(f"warning: {warning}", err=True)
    if not quiet:
        typer.echo("\n".join(in_force(config)))
        typer.echo("\n".join(f"# {line}" for line in resolved.budgets.lines()))


def unreachable(config: Config) -> list[str]:
    """Brokers that the configuration names and that do not answer from here, now."""
    mesh = config.mesh
    if mesh is None:
        return []
    wanted = [("mesh.peer", one.host, one.port) for one in mesh.peer]
    wanted += [("mesh.stock", one.host, one.port) for one in mesh.stock]
    with ThreadPoolExecutor(max(1, min(len(wanted), 16))) as several:
        troubles = several.map(_trouble, [place[1:] for place in wanted])
        return [
            f"{key} {host}:{port}: cannot be reached from here now: {trouble}"
            for (key, host, port), trouble in zip(wanted, troubles, strict=True)
            if trouble
        ]


def _trouble(address: tuple[str, int]) -> str:
    try:
        socket.create_connection(address, REACH_SECONDS).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""
