"""``gossamer demo --one``: a broker, a few sensors, and a subscriber that prints what arrives."""

import asyncio
import math
import random
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.cli.errors import CommandError

if TYPE_CHECKING:
    from rich.console import Console

ROOMS = ("kitchen", "bedroom", "office", "garage")
WARM = 23.0
WARM_FILTER = f"$GT;{WARM:g}/home/+/temperature"
PREFERRED_PORT = 1883
START_SECONDS = 20.0
STOP_SECONDS = 5.0

_BROKER = """\
[[listener]]
port = {port}
[store]
kind = "memory"
[log]
level = "warning"
"""


def show_home(port: int | None, seconds: float | None, interval: float) -> None:
    """Until Ctrl-C, or for so many seconds."""
    from rich.console import Console

    from gossamer.cli.signals import until_stopped
    from gossamer.net.event_loop import run

    chosen = _free_port((PREFERRED_PORT, 0) if port is None else (port,))
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory(prefix="gossamer-home-") as folder:
        broker = _started(chosen, Path(folder))

        async def work() -> None:
            await _until_it_answers(broker, chosen)
            _welcome(console, chosen)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
                    tasks.create_task(_print_incoming_sessions(console, chosen))
                    tasks.create_task(_publish_readings(chosen, interval))

        try:
            run(until_stopped(work()))
        except BaseExceptionGroup as problems:
            raise problems.exceptions[0] from None
        finally:
            _stop(broker)
    console.print("\nThe broker has stopped.", style="dim")


def _started(port: int, folder: Path) -> "subprocess.Popen[bytes]":
    """A broker in memory, whose log does not come between what is shown, unless it warns."""
    file = folder / "broker.toml"
    file.write_text(_BROKER.format(port=port))
    return subprocess.Popen(
        [sys.executable, "-m", "gossamer", "serve", "--config", str(file)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        # Ctrl-C is for this process, which then ends the broker.
        start_new_session=True,
    )


def _free_port(wishes: tuple[int, ...]) -> int:
    """The first of these ports that is free; 0 stands for any."""
    import socket

    for wish in wishes:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", wish))
                probe.listen()
            except OSError:
                continue
            port: int = probe.getsockname()[1]
            return port
    raise CommandError(f"port {wishes[0]} is taken or not allowed: choose another with --port")


def _stop(broker: "subprocess.Popen[bytes]") -> None:
    broker.terminate()
    try:
        broker.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        broker.kill()
        broker.wait()


async def _until_it_answers(broker: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while broker.poll() is None and time.monotonic() < deadline:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
    raise CommandError(f"the broker did not start on port {port}: choose another with --port")


def _welcome(console: "Console", port: int) -> None:
    flag = "" if port == PREFERRED_PORT else f" -p {port}"
    console.print(f"[bold]Gossamer[/] listens on 127.0.0.1:{port}. Paste into another terminal:\n")
    for line in (
        f".venv/bin/gossamer sub{flag} -t 'home/#' -v",
        f".venv/bin/gossamer sub{flag} -t '{WARM_FILTER}' -v",
        f".venv/bin/gossamer pub{flag} -t home/kitchen/lamp -m on",
        f"mosquitto_sub{flag} -t 'home/#' -v",
    ):
        console.print(f"    [green]{line}[/]")
    console.print(
        f"\n[yellow]●[/] marks a temperature above {WARM:g}, which the broker picked out itself "
        f"for the subscription {WARM_FILTER}. Ctrl-C ends.\n"
    )


async def _publish_readings(port: int, interval: float) -> None:
    """Rooms whose temperature swings slowly, and whose light is sometimes switched."""
    from gossamer.cli.connection_options import trouble_in_one_line
    from gossamer.net.client import Client

    chance = random.Random(1)
    place = f"mqtt://127.0.0.1:{port}"
    with trouble_in_one_line(place):
        async with Client(place, "demo-sensors") as client:
            step = 0
            while True:
                room = ROOMS[step % len(ROOMS)]
                swing = 3 * math.sin(step / 9) + chance.gauss(0, 0.4)
                await client.publish(f"home/{room}/temperature", f"{21 + swing:.1f}", qos=1)
                if chance.random() < 0.2:
                    state = chance.choice(("on", "off"))
                    await client.publish(f"home/{room}/light", state, qos=1, retain=True)
                step += 1
                await asyncio.sleep(interval)


async def _print_incoming_sessions(console: "Console", port: int) -> None:
    from rich.markup import escape

    from gossamer.cli.connection_options import trouble_in_one_line
    from gossamer.net.client import Client

    place = f"mqtt://127.0.0.1:{port}"
    with trouble_in_one_line(place):
        async with Client(place, "demo-display") as client:
            await client.subscribe("home/#", WARM_FILTER, qos=1)
            async for message in client.messages():
                mark = "[yellow]●[/]" if message.topic.startswith("$GT") else " "
                text = escape(message.payload.decode(errors="replace"))
                console.print(
                    f"[dim]{time.strftime('%H:%M:%S')}[/] {mark} "
                    f"[cyan]{escape(message.topic):32}[/] [bold]{text}[/]"
                )
