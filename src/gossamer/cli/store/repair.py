"""`gossamer store repair`: a store with everything that can be read of a damaged one."""

import typer

from gossamer.cli.errors import CommandError
from gossamer.cli.store import DataFolder, show_problems, store_file
from gossamer.storage.errors import StoreError
from gossamer.storage.repairing import repair as repair_store


def repair(data: DataFolder = None) -> None:
    """Replace a damaged store by what can be read of it; the damaged file is kept."""
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
