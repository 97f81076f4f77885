"""``gossamer bench spark``: the archive in Spark beside Spark's own files and queries."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse


def spark(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows.")] = False,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each; the median counts.")] = 3,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            help="Only this part: reading, windows, latency, publishing; may be repeated.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("out/spark"),
) -> None:
    """Measure the source, windows over a history, latency, and what archiving costs a broker."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from gossamer_lab.cli.bench.brokers import FILE_WIDTH

    try:
        from gossamer.spark.java import NoJava
        from gossamer_lab.bench.spark import report
        from gossamer_lab.bench.spark import run as running
    except ImportError as error:
        raise CommandError(f"{error}: pip install 'gossamer[spark]'") from error
    unknown = set(only or ()) - set(running.PARTS)
    if unknown:
        raise WrongUse(f"--only must be one of {', '.join(running.PARTS)}, not {unknown.pop()!r}")
    console = Console()
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    size = running.QUICK if quick else running.FULL
    try:
        with console.status("measuring") as status:
            results = running.run(size, only or running.PARTS, repeat, status.update)
    except NoJava as problem:
        raise CommandError(str(problem)) from None
    table = Table(title="Spark and the archive", title_justify="left", box=box.SIMPLE_HEAD)
    for index, column in enumerate(report.COLUMNS):
        table.add_column(column, justify="left" if index == 0 else "right")
    for cells in report.rows(results):
        table.add_row(*cells)
    console.print(table)
    if results.latency is not None:
        console.print(report.latency_line(results.latency), highlight=False)
    console.print(report.LEGEND, highlight=False)
    console.print("kept in " + ", ".join(str(path) for path in report.save(results, out)))
