"""`gossamer torture spark`: kills driver, executors and broker while a query runs into files."""

import asyncio
import tempfile
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError
from gossamer.cli.progress import Advance
from gossamer.cli.torture.concluding import build, conclude


def spark(
    kills: Annotated[int, typer.Option("--kills", min=1, help="How many, in turns.")] = 40,
    seed: Annotated[int, typer.Option("--seed", help="Decides who and when.")] = 1,
    keep: Annotated[
        Path | None, typer.Option("--keep", help="An empty folder to leave everything in.")
    ] = None,
) -> None:
    """Kill driver, executors and broker under a stream into files; fail on one wrong row."""
    try:
        from gossamer.spark.java import NoJava
        from gossamer.torture.spark.run import Outcome, torture
    except ImportError as error:
        raise CommandError(f"{error}: pip install 'gossamer[spark]'") from error

    def run(folder: Path) -> Outcome:
        done = count(1)
        with Advance("kills", kills) as advance:
            return asyncio.run(torture(kills, seed, folder, lambda _: advance.show(next(done))))

    try:
        if keep is not None:
            outcome = run(keep.absolute())
        else:
            with tempfile.TemporaryDirectory(prefix="gossamer-torture-") as folder:
                outcome = run(Path(folder))
    except NoJava as problem:
        raise CommandError(str(problem)) from None
    who = ", ".join(f"{number} × {victim}" for victim, number in outcome.kills.items())
    typer.echo(
        f"{build()}; seed {seed}: kills: {who}; "
        f"{outcome.restarts} restarts of a query that gave up; "
        f"{outcome.acknowledged} messages acknowledged, {outcome.rows} rows in the files, "
        f"{len(outcome.faults)} faults in {outcome.seconds:.0f} seconds"
    )
    conclude(outcome.faults)
