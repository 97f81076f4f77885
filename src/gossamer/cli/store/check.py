"""`gossamer store check`: whether a store is whole, and what it holds."""

import typer

from gossamer.cli.errors import CommandError
from gossamer.cli.store import DataFolder, show_problems, store_file
from gossamer.storage.checking import check as check_store
from gossamer.storage.errors import StoreError


def check(data: DataFolder = None) -> None:
    """Look at every page, row and reference of a store; exit 1 if something is wrong."""
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
            f"{path} is damaged: mend it with `gossamer store repair --data {path.parent}`"
        )
    typer.echo("it is whole")
