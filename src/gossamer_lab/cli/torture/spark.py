"""`gossamer torture spark`: kills driver, executors and broker while a query runs into files."""

import asyncio
import tempfile
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError
from gossamer.cli.progress import Advance
from gossamer_lab.cli.torture.conclusion import build, conclude


def spark(
    kills: Annotated[int, typer.Option("--kills", min=1, help="Number of kills.")] = 40,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 1,
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Keep all files in this folder; must be empty.")
    ] = None,
) -> None:
    """Kill driver, executors and broker during a stream; fail on any wrong row."""
    try:
        from gossamer.spark.java import NoJava
        from gossamer_lab.torture.spark.run import QueryOutcome, torture
    except ImportError as error:
        raise CommandError(f"{error}: pip install 'gossamer[spark]'") from error

    def run(folder: Path) -> QueryOutcome:
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
