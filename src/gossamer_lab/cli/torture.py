"""`gossamer torture`: a broker, a query or a mesh under what may go wrong, held to its promises."""

from __future__ import annotations

import asyncio
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from gossamer import __version__
from gossamer.cli.errors import CommandError, WrongUse
from gossamer.cli.progress import Advance
from gossamer.mesh.settings import MODES
from gossamer.storage.sqlite_store import SYNC_MODES
from gossamer.wire import frames
from gossamer_lab.tables import console, table
from gossamer_lab.torture.broker_kills import KillPlan
from gossamer_lab.torture.broker_kills import torture as run_torture
from gossamer_lab.torture.soak.levels import Trend, warm_up

if TYPE_CHECKING:
    from gossamer_lab.torture.soak.soak import SoakOutcome, SoakPlan, SoakProgress
    from gossamer_lab.torture.spark.query_kills import QueryOutcome

Outcome = TypeVar("Outcome")

MOST_FAULTS_SHOWN = 20
# Trends and their limits, side by side in a log.
FILE_WIDTH = 140

Seed = Annotated[int, typer.Option(help="Random seed.")]
Kills = Annotated[int, typer.Option(min=1, help="Number of kills.")]
Keep = Annotated[Path | None, typer.Option(help="Keep all files in this folder; must be empty.")]


def torture(
    context: typer.Context,
    kills: Kills = 200,
    seed: Seed = 1,
    sync: Annotated[
        str,
        typer.Option(metavar="MODE", help="Sync mode of the broker: full, normal or off."),
    ] = "full",
) -> None:
    """Kill a real broker under QoS 1 and 2 traffic; fail on any lost or duplicate message."""
    if context.invoked_subcommand is not None:
        return
    if sync not in SYNC_MODES:
        raise WrongUse(f"--sync must be one of {', '.join(SYNC_MODES)}, not {sync!r}")
    plan = KillPlan(kills=kills, seed=seed, sync=sync)
    with Advance("kills", kills) as advance:
        outcome = _in_folder(
            None, lambda folder: asyncio.run(run_torture(plan, folder, advance.show))
        )
    typer.echo(
        f"{build()}; seed {seed}, sync {sync}: "
        f"{outcome.kills} kills, {outcome.acknowledged} messages acknowledged, "
        f"{outcome.received} received ({outcome.repeated} of them again, at QoS 1), "
        f"{len(outcome.faults)} faults in {outcome.seconds:.0f} seconds"
    )
    conclude(outcome.faults)


def spark(kills: Kills = 40, seed: Seed = 1, keep: Keep = None) -> None:
    """Kill driver, executors and broker during a stream; fail on any wrong row."""
    try:
        from gossamer.spark.java import NoJava
        from gossamer_lab.torture.spark.query_kills import torture as run_query
    except ImportError as error:
        raise CommandError(f"{error}: pip install 'gossamer[spark]'") from error

    def run(folder: Path) -> QueryOutcome:
        done = count(1)
        with Advance("kills", kills) as advance:
            return asyncio.run(run_query(kills, seed, folder, lambda _: advance.show(next(done))))

    try:
        outcome = _in_folder(keep, run)
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


def roaming(
    moves: Annotated[int, typer.Option(min=1, help="Number of moves.")] = 100,
    seed: Seed = 1,
    mode: Annotated[
        str, typer.Option(help=f"Mode of the mesh: one of {', '.join(MODES)}.")
    ] = "ssf",
    keep: Keep = None,
) -> None:
    """Kill brokers of a mesh while sessions follow their clients; fail on any broken promise.

    Three brokers with stores. Nothing acknowledged may be lost, nothing may come twice at QoS 2 or
    after an UNSUBSCRIBE was answered, and no session may vanish."""
    if mode not in MODES:
        raise WrongUse(f"--mode must be one of {', '.join(MODES)}, not {mode!r}")
    from gossamer_lab.torture.roaming_kills import RoamingPlan
    from gossamer_lab.torture.roaming_kills import torture as run_roaming

    plan = RoamingPlan(moves, seed, mode)
    with Advance("moves", moves) as advance:
        outcome = _in_folder(
            keep, lambda folder: asyncio.run(run_roaming(plan, folder, advance.show))
        )
    kills = ", ".join(f"{number} × {what}" for what, number in outcome.kills.items() if number)
    typer.echo(
        f"{build()}; seed {seed}, {plan.brokers} brokers, mode {mode}: {outcome.moves} moves, "
        f"kills: {kills or 'none'}; {outcome.acknowledged} messages acknowledged, "
        f"{outcome.received} received ({outcome.repeated} of them again, at QoS 1), "
        f"{outcome.ended} filters given up, "
        f"{len(outcome.faults)} faults in {outcome.seconds:.0f} seconds"
    )
    conclude(outcome.faults)


def fuzz(
    inputs: Annotated[int, typer.Option(min=1, help="Number of inputs.")] = 20_000,
    seed: Seed = 1,
    first: Annotated[
        int,
        typer.Option(min=0, help="Start with this round; a fault prints its round."),
    ] = 0,
) -> None:
    """Send a broker malformed packets and fields at their limits; fail on any exception."""
    from gossamer_lab.torture.fuzz.fuzz import fuzz as run

    began = time.monotonic()
    with Advance("inputs", inputs) as advance:
        outcome = run(inputs, seed, first, advance.show)
    typer.echo(
        f"{build()}; seed {seed}: {outcome.inputs} inputs of {outcome.bytes} bytes, "
        f"{outcome.logins} logins, {outcome.refused} connections ended for them, "
        f"{outcome.answers} packets in answer ({outcome.delivered} of them publications), "
        f"{len(outcome.faults)} faults in {time.monotonic() - began:.0f} seconds"
    )
    conclude(outcome.faults)


def soak(
    minutes: Annotated[float, typer.Option(min=0.25, help="Duration.")] = 10.0,
    seed: Seed = 1,
    rate: Annotated[
        float,
        typer.Option(
            min=1.0,
            help="Messages a second of each of six streams; more show a leak sooner.",
        ),
    ] = 50.0,
    mode: Annotated[
        str, typer.Option(help=f"Mode of the mesh: one of {', '.join(MODES)}.")
    ] = "ssf",
    keep: Keep = None,
) -> None:
    """Run a mesh under load for long; fail on any lost message or rising memory.

    Three brokers with stores and archives, clients that connect and disconnect, links that are cut.
    Nothing acknowledged may be lost, and memory, descriptors, disk and latency must not rise."""
    if mode not in MODES:
        raise WrongUse(f"--mode must be one of {', '.join(MODES)}, not {mode!r}")
    try:
        from gossamer_lab.torture.soak.soak import SoakPlan
        from gossamer_lab.torture.soak.soak import soak as run_soak
    except ModuleNotFoundError as problem:
        way = "the archive needs pip install 'gossamer[data]'"
        raise CommandError(f"{problem.name} is missing: {way}") from None
    plan = SoakPlan(minutes, seed, mode=mode, rate=rate)

    def run(folder: Path) -> SoakOutcome:
        with Advance("seconds", minutes * 60) as advance:

            def show(progress: SoakProgress) -> None:
                advance.show(
                    progress.seconds,
                    f"{progress.acknowledged} acknowledged, {progress.memory}, "
                    f"{progress.faults} faults",
                )

            return asyncio.run(run_soak(plan, folder, show))

    _report_soak(_in_folder(keep, run), plan)


def _report_soak(outcome: SoakOutcome, plan: SoakPlan) -> None:
    begin = warm_up(plan.minutes * 60)
    console(FILE_WIDTH).print(
        table(
            f"after {begin:.0f} seconds of warm-up, in which caches fill",
            ("measure", "of", "level", "slope an hour", "drift", "allowed", ""),
            [_trend_row(one) for one in outcome.trends],
            left=2,
        )
    )
    typer.echo(
        f"{build()}; seed {plan.seed}, {plan.brokers} brokers, mode {plan.mode}, "
        f"{plan.rate:g} messages a second a stream: "
        f"{outcome.acknowledged} messages acknowledged, {outcome.received} received "
        f"({outcome.repeated} of them again, at QoS 1), {outcome.offsets} offsets archived, "
        f"{outcome.visits} visits ({outcome.refused} refused), {outcome.cuts} cuts of a link, "
        f"{len(outcome.faults)} faults in {outcome.seconds:.0f} seconds"
    )
    _show_faults(outcome.faults)
    rising = [one for one in outcome.trends if not one.is_level]
    if outcome.faults or rising:
        raise CommandError(
            f"{len(outcome.faults)} promises were broken, {len(rising)} measures are not level"
        )
    typer.echo("every promise was kept, and every measure is level")


def _trend_row(one: Trend) -> list[str]:
    unit = f" {one.measure.unit}" if one.measure.unit else ""
    return [
        one.measure.name,
        one.subject,
        f"{one.level:,.1f}{unit}",
        f"{one.slope:+,.1f}{unit}",
        f"{one.drift:+,.2f}{unit}",
        f"{one.allowed:,.1f}{unit}",
        "level" if one.is_level else "RISING",
    ]


def _in_folder(keep: Path | None, run: Callable[[Path], Outcome]) -> Outcome:
    """Runs in the folder to keep, or in one that is gone afterwards."""
    if keep is not None:
        return run(keep.absolute())
    with tempfile.TemporaryDirectory(prefix="gossamer-torture-") as folder:
        return run(Path(folder))


def build() -> str:
    """What was run, for the record: brokers are started with this interpreter and these modules."""
    core = "from its sources" if frames.__file__.endswith(".py") else "compiled"
    python = platform.python_version()
    return f"gossamer {__version__}, core {core}, Python {python} on {platform.machine()}"


def conclude(faults: Sequence[str]) -> None:
    """What was broken, as a CommandError, or that nothing was."""
    _show_faults(faults)
    if faults:
        raise CommandError(f"{len(faults)} promises were broken")
    typer.echo("every promise was kept")


def _show_faults(faults: Sequence[str]) -> None:
    for fault in faults[:MOST_FAULTS_SHOWN]:
        typer.echo(fault, err=True)
