"""`gossamer torture`: kills a broker at random moments and looks for one broken promise."""

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from gossamer.cli.errors import WrongUse
from gossamer.cli.torture.concluding import conclude
from gossamer.storage.sqlite_store import SYNC_MODES
from gossamer.torture.run import Outcome, Plan
from gossamer.torture.run import torture as run_torture


def torture(
    context: typer.Context,
    kills: Annotated[int, typer.Option("--kills", min=1, help="How often it is killed.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Decides all that chance decides.")] = 1,
    sync: Annotated[
        str, typer.Option("--sync", metavar="MODE", help="The broker's: full, normal or off.")
    ] = "full",
) -> None:
    """Kill a real broker under QoS 1 and 2 traffic; fail on one lost or repeated message."""
    if context.invoked_subcommand is not None:
        return
    if sync not in SYNC_MODES:
        raise WrongUse(f"--sync is {', '.join(SYNC_MODES)}, not {sync!r}")
    with tempfile.TemporaryDirectory(prefix="gossamer-torture-") as folder, Progress() as progress:
        bar = progress.add_task("kills", total=kills)
        plan = Plan(kills=kills, seed=seed, sync=sync)
        outcome = asyncio.run(
            run_torture(plan, Path(folder), lambda number: progress.update(bar, completed=number))
        )
    _report(outcome)


def _report(outcome: Outcome) -> None:
    typer.echo(
        f"{outcome.kills} kills, {outcome.acknowledged} messages acknowledged, "
        f"{outcome.received} received ({outcome.repeated} of them again, at QoS 1) "
        f"in {outcome.seconds:.0f} seconds"
    )
    conclude(outcome.faults)
