"""``gossamer demo``: a city on a mesh of three brokers, with the console and a Spark pipeline."""

import asyncio
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.errors import CommandError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from gossamer_lab.demo.crowd import DemoTally
    from gossamer_lab.demo.town import Town

LOOK_SECONDS = 1.0


def demo(
    one: Annotated[
        bool, typer.Option("--one", help="Only one broker in memory and a few sensors.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            "-p",
            "--port",
            metavar="PORT",
            min=0,
            max=65000,
            help="Port of the first broker.",
            show_default="1883, or a free port",
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0, help="Exit after this many seconds.")
    ] = None,
    interval: Annotated[
        float, typer.Option("--interval", min=0.001, help="--one: seconds between two readings.")
    ] = 0.5,
    share: Annotated[
        float, typer.Option("--share", min=0.01, max=10, help="Size of the city: 0.1 is a tenth.")
    ] = 1.0,
    with_console: Annotated[
        bool, typer.Option("--console/--no-console", help="Start the web console.")
    ] = True,
    with_spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Start the Spark pipeline.")
    ] = True,
    data: Annotated[
        Path | None, typer.Option("--data", help="Keep everything in this folder.")
    ] = None,
) -> None:
    """Run the demo: a city of sensors, buses and cameras on three brokers, until Ctrl-C."""
    if one:
        from gossamer_lab.cli.home_demo import show_home

        show_home(port, seconds, interval)
        return
    from rich.console import Console

    from gossamer.cli.signals import ignore_signals, until_stopped
    from gossamer.net.event_loop import run
    from gossamer.net.local.broker import LocalMeshError
    from gossamer_lab.demo.town import Town

    screen = Console(highlight=False)
    with ExitStack() as stack:
        is_kept = data is not None
        if data is None:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-city-")))
        try:
            data.mkdir(parents=True, exist_ok=True)
            status = stack.enter_context(screen.status("starting"))
            town = stack.enter_context(Town(data, port, is_kept=is_kept))
            stack.callback(status.update, "stopping" + ", after a last batch" * is_kept)
            # From here on a second signal must not interrupt the stopping.
            stack.callback(ignore_signals)
            show = _show(screen, status, town, share, seconds, with_console, with_spark)
            run(until_stopped(show))
        except LocalMeshError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"the demo cannot start: {error}") from error
    screen.print("\nEverything has stopped.", style="dim")


async def _show(
    screen: "Console",
    status: "Status",
    town: "Town",
    share: float,
    seconds: float | None,
    with_console: bool,
    with_spark: bool,
) -> None:
    from gossamer_lab.demo.crowd import DemoTally, populate
    from gossamer_lab.demo.things import everything

    await asyncio.to_thread(town.start_brokers, status.update)
    address = ""
    if with_console and not _left_out(screen, "console"):
        address = town.start_console()
    has_archive = not _left_out(screen, "archive")
    has_pipeline = with_spark and has_archive and not _left_out(screen, "pipeline")
    if has_pipeline:
        town.start_pipeline()
    _welcome(screen, town, address, has_pipeline)
    things = everything(share=share)
    tally = DemoTally()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
            tasks.create_task(populate(things, town.urls, tally))
            tasks.create_task(_watch(screen, status, town, tally))


def _left_out(screen: "Console", part: str) -> bool:
    """Whether a part is not installed; says so."""
    from gossamer_lab.demo.town import missing

    why = missing(part)
    if why:
        screen.print(why, style="yellow")
    return bool(why)


def _welcome(screen: "Console", town: "Town", address: str, has_pipeline: bool) -> None:
    first, _, last = town.mesh.brokers
    near = "" if first.port == 1883 else f" -p {first.port}"
    far = f" -p {last.port}"
    ports = ", ".join(str(broker.port) for broker in town.mesh.brokers)
    screen.print(f"[bold]Gossamer[/]: three brokers on 127.0.0.1, ports {ports}, act as one.")
    if address:
        screen.print(
            f"[bold]Console[/]: {address}, sign in with the token {town.token}", soft_wrap=True
        )
    if has_pipeline:
        screen.print(
            f"[bold]Spark[/]: tables of all readings in {town.lake}, in about a minute",
            soft_wrap=True,
        )
    screen.print("\nFive things to try in another terminal:\n")
    gossamer = "export PATH=$PWD/.venv/bin:$PATH"
    lines = (
        (f"gossamer sub{near} -v '$AVG/city/+/temp'", "the city's average, as it changes"),
        (f"gossamer sub{far} -v '$GT;28/city/+/temp'", "only what is above 28, at another broker"),
        (
            f"gossamer sub{near} -v 'city/+/drive' --area {town.folder}/market.geojson "
            "--events enter,exit",
            "buses that enter and leave the market",
        ),
        (
            f"gossamer ctl mesh --url http://127.0.0.1:{first.admin_port} --token-file "
            f"{town.folder}/admin.token",
            "what the links carry",
        ),
        (f"gossamer pub{near} -r -t city/north-1/temp -m 60", "a fire: watch the first two"),
    )
    screen.print(f"    [dim]{gossamer}[/]", soft_wrap=True)
    for line, what in lines:
        screen.print(f"    [green]{line}[/]   [dim]# {what}[/]", soft_wrap=True)
    screen.print(
        f"\nThe demo runs until Ctrl-C. Its files are in {town.folder}.\n",
        soft_wrap=True,
    )


async def _watch(screen: "Console", status: "Status", town: "Town", tally: "DemoTally") -> None:
    """The line at the bottom; a part that ends by itself is said once."""
    told = ""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        ended = town.ended()
        if ended and ended != told:
            told = ended
            screen.print(ended, style="yellow", soft_wrap=True)
        files = town.gold_files()
        spark = f", {files} files of gold tables" if files else ""
        status.update(
            f"{tally.connected} things, {tally.published:,} messages published, "
            f"{tally.received:,} answers read{spark}"
        )
