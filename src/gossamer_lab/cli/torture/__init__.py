"""`gossamer torture`: kills a broker at random moments and looks for one broken promise."""

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import WrongUse
from gossamer.cli.progress import Advance
from gossamer.storage.sqlite_store import SYNC_MODES
from gossamer_lab.cli.torture.conclusion import build, conclude
from gossamer_lab.torture.run import KillOutcome, KillPlan
from gossamer_lab.torture.run import torture as run_torture


def torture(
    context: typer.Context,
    kills: Annotated[int, typer.Option("--kills", min=1, help="Number of kills.")] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 1,
    sync: Annotated[
        str,
        typer.Option(
            "--sync", metavar="MODE", help="Sync mode of the broker: full, normal or off."
        ),
    ] = "full",
) -> None:
    """Kill a real broker under QoS 1 and 2 traffic; fail on any lost or duplicate message."""
    if context.invoked_subcommand is not None:
        return
    if sync not in SYNC_MODES:
        raise WrongUse(f"--sync must be one of {', '.join(SYNC_MODES)}, not {sync!r}")
    plan = KillPlan(kills=kills, seed=seed, sync=sync)
    with (
        tempfile.TemporaryDirectory(prefix="gossamer-torture-") as folder,
        Advance("kills", kills) as advance,
    ):
        outcome = asyncio.run(run_torture(plan, Path(folder), advance.show))
    _report(outcome, plan)


def _report(outcome: KillOutcome, plan: KillPlan) -> None:
    typer.echo(
        f"{build()}; seed {plan.seed}, sync {plan.sync}: "
        f"{outcome.kills} kills, {outcome.acknowledged} messages acknowledged, "
        f"{outcome.received} received ({outcome.repeated} of them again, at QoS 1), "
        f"{len(outcome.faults)} faults in {outcome.seconds:.0f} seconds"
    )
    conclude(outcome.faults)
