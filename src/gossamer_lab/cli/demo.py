"""``gossamer demo``: a city on three brokers with console and Spark, or a home on one broker."""

import asyncio
import math
import random
import tempfile
import time
from contextlib import ExitStack, asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rich.console import Console
    from rich.status import Status

    from gossamer.net.client import Client
    from gossamer.net.local.mesh import LocalMesh
    from gossamer_lab.demo.change_over import CoreBuild
    from gossamer_lab.demo.clients import DemoTally
    from gossamer_lab.demo.processes import CityProcesses

LOOK_SECONDS = 1.0

ROOMS = ("kitchen", "bedroom", "office", "garage")
WARM = 23.0
WARM_FILTER = f"$GT;{WARM:g}/home/+/temperature"


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
        float | None, typer.Option(min=0, help="Exit after this many seconds.")
    ] = None,
    interval: Annotated[
        float, typer.Option(min=0.001, help="--one: seconds between two readings.")
    ] = 0.5,
    share: Annotated[
        float, typer.Option(min=0.01, max=10, help="Size of the city: 0.1 is a tenth.")
    ] = 1.0,
    with_console: Annotated[
        bool, typer.Option("--console/--no-console", help="Start the web console.")
    ] = True,
    with_spark: Annotated[
        bool, typer.Option("--spark/--no-spark", help="Start the Spark pipeline.")
    ] = True,
    data: Annotated[Path | None, typer.Option(help="Keep everything in this folder.")] = None,
    compile_with: Annotated[
        Path | None,
        typer.Option(
            metavar="SCRIPT",
            help="Compile the core with this script meanwhile, and then change the brokers over.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Run the demo: a city of sensors, buses and cameras on three brokers, until Ctrl-C."""
    from rich.console import Console

    from gossamer.cli.signals import ignore_signals, until_stopped
    from gossamer.net.event_loop import run
    from gossamer.net.local.broker import LocalMeshError
    from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
    from gossamer_lab.demo.change_over import CoreBuild
    from gossamer_lab.demo.processes import CityProcesses, first_port

    screen = Console(highlight=False)
    with ExitStack() as stack:
        is_kept = data is not None
        if data is None:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-demo-")))
        try:
            data.mkdir(parents=True, exist_ok=True)
            if one:
                plan = LocalMeshPlan(1, base_port=first_port(1, port))
                mesh = stack.enter_context(LocalMesh(data, plan))
                show = _show_home(screen, mesh, seconds, interval)
            else:
                status = stack.enter_context(screen.status("starting"))
                city = stack.enter_context(CityProcesses(data, port, is_kept=is_kept))
                stack.callback(status.update, "stopping" + ", after a last batch" * is_kept)
                build = None
                if compile_with is not None:
                    build = CoreBuild(compile_with.resolve(), data)
                    stack.callback(build.stop)
                show = _show_city(
                    screen, status, city, build, share, seconds, with_console, with_spark
                )
            # From here on a second signal must not interrupt the stopping.
            stack.callback(ignore_signals)
            run(until_stopped(show))
        except LocalMeshError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"the demo cannot start: {error}") from error
        except BaseExceptionGroup as problems:
            raise problems.exceptions[0] from None
    screen.print(f"\n{'The broker' if one else 'Everything'} has stopped.", style="dim")


# The city ---------------------------------------------------------------------------------------


async def _show_city(
    screen: "Console",
    status: "Status",
    city: "CityProcesses",
    build: "CoreBuild | None",
    share: float,
    seconds: float | None,
    with_console: bool,
    with_spark: bool,
) -> None:
    from gossamer_lab.demo.change_over import change_over
    from gossamer_lab.demo.clients import DemoTally, run_clients
    from gossamer_lab.demo.devices import all_devices

    await asyncio.to_thread(city.start_brokers, status.update)
    address = ""
    if with_console and not _left_out(screen, "console"):
        address = city.start_console()
    has_archive = not _left_out(screen, "archive")
    has_pipeline = with_spark and has_archive and not _left_out(screen, "pipeline")
    if has_pipeline:
        city.start_pipeline()
    _welcome_to_city(screen, city, address, has_pipeline)
    devices = all_devices(share=share)
    tally = DemoTally()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
            tasks.create_task(run_clients(devices, city.urls, tally))
            tasks.create_task(_watch(screen, status, city, tally))
            if build is not None:
                build.start()
                tasks.create_task(change_over(build, city.mesh, screen.print))


def _left_out(screen: "Console", part: str) -> bool:
    """Whether a part is not installed; says so."""
    from gossamer_lab.demo.processes import missing

    why = missing(part)
    if why:
        screen.print(why, style="yellow")
    return bool(why)


def _welcome_to_city(
    screen: "Console", city: "CityProcesses", address: str, has_pipeline: bool
) -> None:
    first, _, last = city.mesh.brokers
    near = "" if first.port == 1883 else f" -p {first.port}"
    far = f" -p {last.port}"
    ports = ", ".join(str(broker.port) for broker in city.mesh.brokers)
    screen.print(f"[bold]Gossamer[/]: three brokers on 127.0.0.1, ports {ports}, act as one.")
    if address:
        screen.print(f"[bold]Console[/]: {address} (this link signs in once)", soft_wrap=True)
    if has_pipeline:
        screen.print(
            f"[bold]Spark[/]: tables of all readings in {city.lake}, in about a minute",
            soft_wrap=True,
        )
    screen.print("\nThings to try in another terminal, each with Ctrl-C to end it:\n")
    lines = (
        (f". {city.write_environment()}", "so that these commands are short"),
        (f"gossamer sub{near} -v '$AVG/city/+/temp'", "the mean of all, as it changes"),
        (f"gossamer sub{far} -v '$GT;60/city/+/temp'", "fires only: silent so far, and ..."),
        (
            f"gossamer pub{near} -t city/fire/temp -m 90 --at 43.716,10.397",
            "... here is one, at another broker; the map of the console has it too",
        ),
        (
            f"gossamer sub{near} -v city/+/drive -T '#' --area $MARKET --events enter,exit",
            "buses that come to the market and leave it",
        ),
        ("gossamer ctl mesh", "what the links carry"),
    )
    for line, what in lines:
        screen.print(f"    [green]{line}[/]\n        [dim]{what}[/]", soft_wrap=True)
    screen.print(
        f"\nThe demo runs until Ctrl-C. Its files are in {city.folder}.\n",
        soft_wrap=True,
    )


async def _watch(
    screen: "Console", status: "Status", city: "CityProcesses", tally: "DemoTally"
) -> None:
    """The line at the bottom; a part that ends by itself is said once."""
    told = ""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        ended = city.ended()
        if ended and ended != told:
            told = ended
            screen.print(ended, style="yellow", soft_wrap=True)
        files = city.gold_files()
        spark = f", {files} files of gold tables" if files else ""
        status.update(
            f"{tally.connected} devices, {tally.published:,} messages published, "
            f"{tally.received:,} answers read{spark}"
        )


# The home ---------------------------------------------------------------------------------------


async def _show_home(
    screen: "Console", mesh: "LocalMesh", seconds: float | None, interval: float
) -> None:
    """A few sensors, and a subscriber that prints what arrives."""
    await asyncio.to_thread(mesh.start)
    port = mesh.brokers[0].port
    _welcome_home(screen, port)
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
            tasks.create_task(_print_messages(screen, port))
            tasks.create_task(_publish_readings(port, interval))


def _welcome_home(screen: "Console", port: int) -> None:
    flag = "" if port == 1883 else f" -p {port}"
    screen.print(f"[bold]Gossamer[/] listens on 127.0.0.1:{port}. Paste into another terminal:\n")
    for line in (
        f".venv/bin/gossamer sub{flag} -t 'home/#' -v",
        f".venv/bin/gossamer sub{flag} -t '{WARM_FILTER}' -v",
        f".venv/bin/gossamer pub{flag} -t home/kitchen/lamp -m on",
        f"mosquitto_sub{flag} -t 'home/#' -v",
    ):
        screen.print(f"    [green]{line}[/]")
    screen.print(
        f"\n[yellow]●[/] marks a temperature above {WARM:g}, which the broker picked out itself "
        f"for the subscription {WARM_FILTER}. Ctrl-C ends.\n"
    )


@asynccontextmanager
async def _client(port: int, name: str) -> "AsyncIterator[Client]":
    from gossamer.cli.connection_options import trouble_in_one_line
    from gossamer.net.client import Client

    url = f"mqtt://127.0.0.1:{port}"
    with trouble_in_one_line(url):
        async with Client(url, name) as client:
            yield client


async def _publish_readings(port: int, interval: float) -> None:
    """Rooms whose temperature swings slowly, and whose light is sometimes switched."""
    chance = random.Random(1)
    async with _client(port, "demo-sensors") as client:
        for step in count():
            room = ROOMS[step % len(ROOMS)]
            swing = 3 * math.sin(step / 9) + chance.gauss(0, 0.4)
            await client.publish(f"home/{room}/temperature", f"{21 + swing:.1f}", qos=1)
            if chance.random() < 0.2:
                state = chance.choice(("on", "off"))
                await client.publish(f"home/{room}/light", state, qos=1, retain=True)
            await asyncio.sleep(interval)


async def _print_messages(screen: "Console", port: int) -> None:
    from rich.markup import escape

    async with _client(port, "demo-display") as client:
        await client.subscribe("home/#", WARM_FILTER, qos=1)
        async for message in client.messages():
            mark = "[yellow]●[/]" if message.topic.startswith("$GT") else " "
            text = escape(message.payload.decode(errors="replace"))
            screen.print(
                f"[dim]{time.strftime('%H:%M:%S')}[/] {mark} "
                f"[cyan]{escape(message.topic):32}[/] [bold]{text}[/]"
            )
