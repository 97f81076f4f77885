"""``gossamer bench spark``: the archive in Spark beside Spark's own files and queries."""

from pathlib import Path
from typing import Annotated, Final

import typer

from gossamer.cli.errors import CommandError, WrongUse
from gossamer_lab import tables
from gossamer_lab.bench import harness, report

PARTS: Final = ("reading", "windows", "latency", "publishing")


def spark(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows.")] = False,
    repeat: harness.Repeat = 3,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            help="Only this part: reading, windows, latency, publishing; may be repeated.",
        ),
    ] = None,
    out: harness.Out = Path("out/spark"),
) -> None:
    """Measure the source, windows over a history, latency, and what archiving costs a broker."""
    try:
        from gossamer.spark.java import NoJava
        from gossamer_lab.bench.spark import parts, results
    except ImportError as error:
        raise CommandError(f"{error}: pip install 'gossamer[spark]'") from error
    unknown = set(only or ()) - set(PARTS)
    if unknown:
        raise WrongUse(f"--only must be one of {', '.join(PARTS)}, not {unknown.pop()!r}")
    console = tables.console()
    size = parts.QUICK if quick else parts.FULL
    try:
        with console.status("measuring") as status:
            found = parts.run(size, only or PARTS, repeat, status.update)
    except NoJava as problem:
        raise CommandError(str(problem)) from None
    console.print(tables.records("Spark and the archive", results.COLUMNS, found.comparisons))
    if found.failure:
        console.print(f"not measured: {found.failure}", style="yellow")
    if found.latency is not None:
        console.print(results.latency_line(found.latency))
    console.print(results.LEGEND)
    report.say_where(console, results.save(found, out))
