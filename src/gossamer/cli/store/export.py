"""`gossamer store export`: everything that can be read of a store, as JSON lines."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError
from gossamer.cli.store import DataFolder, show_problems, store_file
from gossamer.storage.errors import StoreError
from gossamer.storage.exporting import export as export_store


def export(
    data: DataFolder = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here instead of standard output.")
    ] = None,
) -> None:
    """Write sessions, deliveries and retained messages as JSON lines, from a damaged store too."""
    path = store_file(data)
    try:
        if output is None:
            problems = export_store(path, sys.stdout)
        else:
            with output.open("w", encoding="utf-8") as target:
                problems = export_store(path, target)
    except StoreError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        if output is None:
            raise  # the same words for every command that prints
        raise CommandError(f"cannot write {output}: {error.strerror}") from error
    show_problems(problems)
