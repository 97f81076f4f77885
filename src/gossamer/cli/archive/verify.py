"""`gossamer archive verify`: whether every row can be read, and what to do if not."""

from typing import Annotated

import typer

from gossamer.cli.archive import Folder, Uri, archive_errors
from gossamer.cli.errors import CommandError


def verify(
    folder: Folder,
    repair: Annotated[
        bool, typer.Option("--repair", help="Set damaged files aside, and keep their whole rows.")
    ] = False,
    uri: Uri = "",
) -> None:
    """Read everything in an archive and check it; exit 1 if something is wrong."""
    problems: list[str] = []
    with archive_errors():
        from gossamer.storage.archive import inspecting

        for broker in inspecting.broker_folders(folder):
            if repair:
                for line in inspecting.repair(broker, uri):
                    typer.echo(line)
            problems += inspecting.verify(broker, uri)
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise CommandError(f"{folder}: {len(problems)} problems")
    typer.echo("it is whole")
