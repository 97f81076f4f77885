"""`gossamer store`: check, repair and export what a broker keeps on disk."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.storage.files import FILE_NAME, default_folder

DataFolder = Annotated[
    Path | None,
    typer.Option("--data", help="The broker's data folder; by default the one `serve` uses."),
]


def store_file(data: Path | None) -> Path:
    """The database in that folder, or in the default one."""
    return (data if data is not None else default_folder()) / FILE_NAME


def show_problems(problems: list[str]) -> None:
    for problem in problems:
        typer.echo(problem, err=True)
