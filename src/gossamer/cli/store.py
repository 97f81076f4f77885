"""`gossamer store`: check, repair and export what a broker keeps on disk."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError
from gossamer.storage.export import export as export_store
from gossamer.storage.files import FILE_NAME, StoreError, default_folder
from gossamer.storage.repair import check as check_store
from gossamer.storage.repair import repair as repair_store

DataFolder = Annotated[
    Path | None,
    typer.Option("--data", help="Data folder of the broker; by default the one that `serve` uses."),
]


def store_file(data: Path | None) -> Path:
    """The database in that folder, or in the default one."""
    return (data if data is not None else default_folder()) / FILE_NAME


def show_problems(problems: list[str]) -> None:
    for problem in problems:
        typer.echo(problem, err=True)


def check(data: DataFolder = None) -> None:
    """Check every page, row and reference of a store; exit 1 if there is a problem."""
    path = store_file(data)
    try:
        report = check_store(path)
    except StoreError as error:
        raise CommandError(str(error)) from error
    contents = report.contents
    typer.echo(
        f"{path}: {contents.sessions} sessions with {contents.subscriptions} subscriptions, "
        f"{contents.deliveries} deliveries, {contents.retained} retained messages"
    )
    show_problems(report.problems)
    if report.problems:
        raise CommandError(
            f"{path} is damaged: repair it with `gossamer store repair --data {path.parent}`"
        )
    typer.echo("no problems found")


def repair(data: DataFolder = None) -> None:
    """Rebuild a damaged store from what can be read; the damaged file is kept."""
    path = store_file(data)
    try:
        report = repair_store(path)
    except StoreError as error:
        raise CommandError(str(error)) from error
    show_problems(report.problems)
    contents = report.contents
    typer.echo(
        f"saved {contents.sessions} sessions with {contents.subscriptions} subscriptions, "
        f"{contents.deliveries} deliveries, {contents.retained} retained messages; "
        f"{len(report.problems)} problems; the old file is {report.kept}"
    )


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
