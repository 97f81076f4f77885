"""``gossamer pub``: publishes one message, a file, or each line of standard input."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli import options
from gossamer.cli.errors import CommandError, WrongUse

if TYPE_CHECKING:
    from gossamer.net.client import Client
    from gossamer.wire.properties import Properties

# How many messages of -l are on their way at once.
LINES_IN_FLIGHT = 100
READ_SIZE = 65_536

# The reader waits when this many lines are not taken yet.
LINES_AHEAD = 1000


@options.with_connection
def pub(
    topic: Annotated[
        str | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Topic to publish to.")
    ] = None,
    message: Annotated[
        str | None, typer.Option("-m", "--message", metavar="TEXT", help="Message payload.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("-f", "--file", metavar="FILE", help="Send the contents of a file."),
    ] = None,
    stdin_lines: Annotated[
        bool,
        typer.Option("-l", "--stdin-line", help="Send each line of standard input as a message."),
    ] = False,
    stdin_file: Annotated[
        bool, typer.Option("-s", "--stdin-file", help="Send all of standard input as one message.")
    ] = False,
    null: Annotated[
        bool,
        typer.Option(
            "-n",
            "--null-message",
            help="Send an empty message (with -r: clear the retained message).",
        ),
    ] = False,
    qos: options.Qos = 0,
    retain: Annotated[bool, typer.Option("-r", "--retain", help="Set the retain flag.")] = False,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Send it this many times.")] = 1,
    repeat_delay: Annotated[
        float, typer.Option("--repeat-delay", min=0, help="Seconds between repeats.")
    ] = 0.0,
    expiry: Annotated[
        int | None, typer.Option("--expiry", min=0, help="Message expiry in seconds, MQTT 5.")
    ] = None,
    content_type: Annotated[
        str | None, typer.Option("--content-type", metavar="TEXT", help="Content type, MQTT 5.")
    ] = None,
    response_topic: Annotated[
        str | None,
        typer.Option("--response-topic", metavar="TOPIC", help="Response topic, MQTT 5."),
    ] = None,
    correlation: Annotated[
        str | None,
        typer.Option("--correlation", metavar="TEXT", help="Correlation data, MQTT 5."),
    ] = None,
    user_property: options.UserProperties = None,
    at: options.At = None,
    within: options.Within = None,
    area: options.AreaFiles = None,
    place: options.PlaceNames = None,
    *,
    connection: options.ConnectionOptions,
) -> None:
    """Publish a message, as mosquitto_pub does.

    Exit codes: 0 published, 1 failed, 2 wrong options.
    """
    from gossamer.cli.connection_options import (
        ClientOptions,
        check_topic,
        trouble_in_one_line,
        user_properties,
    )
    from gossamer.cli.places import place_properties
    from gossamer.cli.signals import until_stopped
    from gossamer.net.event_loop import run
    from gossamer.wire.properties import Properties

    wish = ClientOptions(**vars(connection))
    name = wish.read_url() or topic
    if not name:
        raise WrongUse("no topic: add -t TOPIC")
    check_topic(name)
    sources = [message is not None, file is not None, stdin_lines, stdin_file, null]
    if sum(sources) != 1:
        raise WrongUse("no message: add exactly one of -m TEXT, -f FILE, -l, -s and -n")
    client = wish.client()
    properties = Properties()
    properties.message_expiry = expiry
    properties.content_type = content_type
    properties.response_topic = response_topic
    properties.correlation_data = None if correlation is None else correlation.encode()
    properties.user = user_properties(user_property) + place_properties(
        at, within, area, None, place
    )
    has_properties = properties.user or any((expiry, content_type, response_topic, correlation))
    if has_properties and not wish.speaks_v5:
        raise WrongUse("properties need MQTT 5: leave -V out")
    payload = None if stdin_lines else _payload(message, file, stdin_file=stdin_file)

    async def messages() -> AsyncIterator[bytes]:
        if payload is None:
            async for line in _lines_of(sys.stdin.fileno()):
                yield line
            return
        for number in range(repeat):
            if number and repeat_delay:
                await asyncio.sleep(repeat_delay)
            yield payload

    async def work() -> None:
        with trouble_in_one_line(wish.place):
            async with client:
                await _send(client, name, messages(), qos, retain, properties)

    if run(until_stopped(work())):
        raise CommandError("stopped before everything was sent")


def _payload(message: str | None, file: Path | None, *, stdin_file: bool) -> bytes:
    if message is not None:
        return message.encode("utf-8", "surrogateescape")
    if stdin_file:
        return sys.stdin.buffer.read()
    if file is None:
        return b""
    try:
        return file.read_bytes()
    except OSError as problem:
        raise WrongUse(f"-f {file}: {problem.strerror}") from None


async def _send(
    client: "Client",
    topic: str,
    messages: AsyncIterator[bytes],
    qos: int,
    retain: bool,
    properties: "Properties",
) -> None:
    """Publishes in order, several at a time; the first failure ends it."""
    on_the_way: set[asyncio.Task[int]] = set()
    async for payload in messages:
        task = asyncio.create_task(client.publish(topic, payload, qos, retain, properties))
        on_the_way.add(task)
        if len(on_the_way) >= LINES_IN_FLIGHT:
            done, on_the_way = await asyncio.wait(on_the_way, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    await asyncio.gather(*on_the_way)


async def _lines_of(descriptor: int) -> AsyncIterator[bytes]:
    """The lines without their ends; the last one counts even if it has no end.

    A thread reads, because not every file can be watched by an event loop. It reads past Python's
    buffers, whose locks would keep a command from ending while nothing is typed.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | None] = asyncio.Queue(LINES_AHEAD)

    def read() -> None:
        rest = b""
        try:
            while chunk := os.read(descriptor, READ_SIZE):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    asyncio.run_coroutine_threadsafe(queue.put(line), loop).result()
            for last in [rest, None] if rest else [None]:
                asyncio.run_coroutine_threadsafe(queue.put(last), loop).result()
        except RuntimeError:
            return  # the loop has ended, and the command with it

    threading.Thread(target=read, daemon=True).start()
    while (line := await queue.get()) is not None:
        yield line.removesuffix(b"\r")
