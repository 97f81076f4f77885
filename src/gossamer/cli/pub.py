"""``gossamer pub``: publishes one message, a file, or each line of standard input."""

import asyncio
import sys
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


def pub(
    topic: Annotated[
        str | None, typer.Option("-t", "--topic", metavar="TOPIC", help="Where to.")
    ] = None,
    message: Annotated[
        str | None, typer.Option("-m", "--message", metavar="TEXT", help="What to say.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", metavar="FILE", help="Send a file.")
    ] = None,
    stdin_lines: Annotated[
        bool, typer.Option("-l", "--stdin-line", help="Send each line of standard input.")
    ] = False,
    stdin_file: Annotated[
        bool, typer.Option("-s", "--stdin-file", help="Send all of standard input as one.")
    ] = False,
    null: Annotated[
        bool, typer.Option("-n", "--null-message", help="Send nothing (with -r: forget).")
    ] = False,
    qos: options.Qos = 0,
    retain: Annotated[bool, typer.Option("-r", "--retain", help="Keep it on the topic.")] = False,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Send it so many times.")] = 1,
    repeat_delay: Annotated[
        float, typer.Option("--repeat-delay", min=0, help="Seconds between repeats.")
    ] = 0.0,
    expiry: Annotated[
        int | None, typer.Option("--expiry", min=0, help="Seconds it is worth having, MQTT 5.")
    ] = None,
    content_type: Annotated[
        str | None, typer.Option("--content-type", metavar="TEXT", help="What it is, MQTT 5.")
    ] = None,
    response_topic: Annotated[
        str | None,
        typer.Option("--response-topic", metavar="TOPIC", help="Where answers go, MQTT 5."),
    ] = None,
    correlation: Annotated[
        str | None,
        typer.Option("--correlation", metavar="TEXT", help="What answers refer to, MQTT 5."),
    ] = None,
    user_property: options.UserProperties = None,
    at: options.At = None,
    within: options.Within = None,
    area: options.AreaFiles = None,
    host: options.Host = "127.0.0.1",
    port: options.Port = None,
    url: options.Url = None,
    client_id: options.ClientId = "",
    username: options.Username = None,
    password: options.Password = None,
    scram: options.Scram = False,
    version: options.Version = "5",
    keep_alive: options.KeepAlive = 60,
    keep_session: options.KeepSession = False,
    session_expiry: options.SessionExpiry = None,
    tls: options.Tls = False,
    cafile: options.CaFile = None,
    cert: options.Certificate = None,
    key: options.Key = None,
    insecure: options.Insecure = False,
    will_topic: options.WillTopic = None,
    will_payload: options.WillPayload = "",
    will_qos: options.WillQos = 0,
    will_retain: options.WillRetain = False,
) -> None:
    """Publish a message, as mosquitto_pub does.

    Exit codes: 0 the broker has it, 1 it failed, 2 wrong options.
    """
    from gossamer.cli.connecting import Wish, check_topic, trouble_in_one_line, user_properties
    from gossamer.cli.lines import lines_of
    from gossamer.cli.places import place_properties
    from gossamer.cli.signals import until_stopped
    from gossamer.net.loops import run
    from gossamer.wire.properties import Properties

    wish = Wish(
        host, port, url, username, password, client_id, version, keep_alive, keep_session,
        session_expiry, tls, cafile, cert, key, insecure,
        will_topic, will_payload, will_qos, will_retain, scram,
    )  # fmt: skip
    name = wish.read_url() or topic
    if not name:
        raise WrongUse("no topic: add -t TOPIC")
    check_topic(name)
    sources = [message is not None, file is not None, stdin_lines, stdin_file, null]
    if sum(sources) != 1:
        raise WrongUse("what to send? Give exactly one of -m TEXT, -f FILE, -l, -s and -n")
    client = wish.client()
    properties = Properties()
    properties.message_expiry = expiry
    properties.content_type = content_type
    properties.response_topic = response_topic
    properties.correlation_data = None if correlation is None else correlation.encode()
    properties.user = user_properties(user_property) + place_properties(at, within, area)
    has_properties = properties.user or any((expiry, content_type, response_topic, correlation))
    if has_properties and not wish.speaks_v5:
        raise WrongUse("properties need MQTT 5: leave -V out")
    payload = None if stdin_lines else _payload(message, file, stdin_file=stdin_file)

    async def messages() -> AsyncIterator[bytes]:
        if payload is None:
            async for line in lines_of(sys.stdin.fileno()):
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
