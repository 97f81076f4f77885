"""``gossamer sub``: prints what arrives on some filters."""

import asyncio
import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.backoff import Backoff
from gossamer.cli import options
from gossamer.cli.errors import CommandError, WrongUse

if TYPE_CHECKING:
    from gossamer.cli.connection_options import ClientOptions
    from gossamer.cli.formats import Formatter
    from gossamer.net.client import Client
    from gossamer.wire.packets import Request
    from gossamer.wire.properties import Properties

LONGEST_WAIT_SECONDS = 30.0


@options.with_connection
def sub(
    filter: Annotated[
        list[str] | None, typer.Argument(metavar="FILTER", help="Topic filter; the same as -t.")
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option("-t", "--topic", metavar="FILTER", help="Topic filter; may be repeated."),
    ] = None,
    not_topic: Annotated[
        list[str] | None,
        typer.Option(
            "-T",
            "--filter-out",
            metavar="FILTER",
            help="Do not print topics that match; may be repeated.",
        ),
    ] = None,
    qos: options.Qos = 0,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print the topic before the message.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per message.")
    ] = False,
    output_format: Annotated[
        str | None,
        typer.Option(
            "-F",
            "--format",
            metavar="FORMAT",
            help="Output format, such as '%I %t %p'; %j is JSON.",
        ),
    ] = None,
    no_end: Annotated[bool, typer.Option("-N", help="No newline after a message.")] = False,
    count: Annotated[
        int | None, typer.Option("-C", "--count", min=1, help="Exit after this many messages.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("-W", "--wait", min=0, help="Exit after this many seconds.")
    ] = None,
    no_retained: Annotated[
        bool, typer.Option("-R", "--no-retained", help="Do not print retained messages.")
    ] = False,
    retained_only: Annotated[
        bool,
        typer.Option("--retained-only", help="Exit at the first message that is not retained."),
    ] = False,
    retain_as_published: Annotated[
        bool, typer.Option("--retain-as-published", help="Retain as published, MQTT 5.")
    ] = False,
    no_local: Annotated[
        bool, typer.Option("--no-local", help="No Local: skip messages from this client, MQTT 5.")
    ] = False,
    subscription_id: Annotated[
        int | None, typer.Option("--subscription-id", min=1, help="Subscription identifier.")
    ] = None,
    only_subscribe: Annotated[
        bool, typer.Option("-E", help="Exit when the broker has acknowledged the subscriptions.")
    ] = False,
    user_property: options.UserProperties = None,
    at: options.At = None,
    within: options.Within = None,
    area: options.AreaFiles = None,
    place: options.PlaceNames = None,
    events: Annotated[
        str | None,
        typer.Option(
            "--events", metavar="LIST", help="Events of the area to receive: enter,exit,dwell."
        ),
    ] = None,
    *,
    connection: options.ConnectionOptions,
) -> None:
    """Subscribe and print messages, as mosquitto_sub does; reconnects if needed.

    Exit codes: 0 count reached, time over (without a count) or Ctrl-C;
    1 failed, or time over before the count was reached; 2 wrong options.
    """
    from gossamer.cli.connection_options import ClientOptions, check_filters, user_properties
    from gossamer.cli.formats import compile_format
    from gossamer.cli.places import place_properties
    from gossamer.cli.signals import until_stopped
    from gossamer.net.event_loop import run
    from gossamer.wire.packets import Request
    from gossamer.wire.properties import Properties

    wish = ClientOptions(**vars(connection))
    in_url = wish.read_url()
    filters = [*(filter or ()), *(topic or ()), *([in_url] if in_url else [])]
    if not filters:
        raise WrongUse("no filter: add -t FILTER")
    check_filters(filters + (not_topic or []))
    if sum((verbose, json, output_format is not None)) > 1:
        raise WrongUse("choose one of -v, --json and -F")
    text = output_format or ("%j" if json else "%t %p" if verbose else "%p")
    client = wish.client()
    properties = Properties()
    places = place_properties(at, within, area, events, place)
    properties.user = user_properties(user_property) + places
    if subscription_id is not None:
        properties.subscription_ids = [subscription_id]
    if not wish.speaks_v5 and (properties.user or subscription_id or no_local):
        raise WrongUse("properties and --no-local need MQTT 5: leave -V out")
    subscription = _Subscription(
        client,
        wish,
        [Request(name, qos, no_local, retain_as_published) for name in filters],
        properties,
        compile_format(text if no_end else text + "\\n"),
    )
    subscription.hidden = not_topic or []
    subscription.no_retained = no_retained
    subscription.retained_only = retained_only
    subscription.left = count
    subscription.only_subscribe = only_subscribe

    async def work() -> None:
        try:
            async with asyncio.timeout(seconds):
                await subscription.run()
        except TimeoutError:
            if subscription.left:
                raise CommandError(
                    f"{seconds:g} s are over and {subscription.left} messages are missing"
                ) from None
        finally:
            await client.disconnect()

    try:
        run(until_stopped(work()))
    except BrokenPipeError:
        # Whoever read this has enough; Python must not complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Subscription:
    """The loop of the command: subscribe, print, and again after a loss."""

    def __init__(
        self,
        client: "Client",
        wish: "ClientOptions",
        requests: "list[Request]",
        properties: "Properties",
        formatter: "Formatter",
    ) -> None:
        self.client = client
        self.wish = wish
        self.requests = requests
        self.properties = properties
        self.formatter = formatter
        self.hidden: list[str] = []
        self.no_retained = False
        self.retained_only = False
        self.only_subscribe = False
        self.left: int | None = None

    async def run(self) -> None:
        from gossamer.cli.connection_options import trouble_in_one_line
        from gossamer.net.client import Disconnected

        with trouble_in_one_line(self.wish.place):
            await self._subscribe()
        while not self.only_subscribe:
            try:
                await self._print_all()
                return
            except Disconnected as problem:
                print(f"gossamer: {problem}; reconnecting", file=sys.stderr)
            await self._connect_again()

    async def _connect_again(self) -> None:
        from gossamer.net.client import Refused

        tries = Backoff(1.0, LONGEST_WAIT_SECONDS)
        while True:
            await asyncio.sleep(tries.pause())
            try:
                await self._subscribe()
                return
            except Refused as problem:
                raise CommandError(str(problem)) from None
            except (OSError, TimeoutError):
                continue

    async def _subscribe(self) -> None:
        from gossamer.cli.connection_options import describe
        from gossamer.wire.reasons import UNSPECIFIED_ERROR

        await self.client.connect()
        answers = await self.client.subscribe(*self.requests, properties=self.properties)
        for request, answer in zip(self.requests, answers, strict=True):
            if answer >= UNSPECIFIED_ERROR:
                words = self.client.reason_string or describe(answer)
                raise CommandError(f"the broker refused the filter {request.filter}: {words}")

    async def _print_all(self) -> None:
        from gossamer.topics.names import matches

        out = sys.stdout.buffer
        async for message in self.client.messages():
            if self.retained_only and not message.retain:
                return
            if self.no_retained and message.retain:
                continue
            if any(matches(name, message.topic) for name in self.hidden):
                continue
            out.write(self.formatter(message, time.time()))
            out.flush()
            if self.left is not None:
                self.left -= 1
                if self.left == 0:
                    return
