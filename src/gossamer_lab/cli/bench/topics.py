"""`gossamer bench topics`: covers of many filters, and matching among a million."""

from typing import Annotated

import typer

from gossamer_lab.bench.topics import run


def topics(
    filters: Annotated[
        int, typer.Option(min=1000, help="Filters that stand in each measured cover.")
    ] = 100_000,
    matched: Annotated[
        int, typer.Option(min=1000, help="Filters that topics are matched against.")
    ] = 1_000_000,
    searches: Annotated[int, typer.Option(min=1000, help="Topics to match.")] = 200_000,
) -> None:
    """Measure adding to and removing from covers, and matching beside two plain ways of it."""
    run(filters, matched, searches)
