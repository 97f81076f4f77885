"""Publishes rows and returns when the broker has them all. Runs on the executors.

A connection that breaks is made again, and what was not acknowledged is sent again, in order: every
row arrives at least once.
"""

import asyncio
import ssl
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from gossamer.backoff import Patience
from gossamer.net.client import Client, Disconnected, Refused
from gossamer.spark.sink.sink_options import SinkOptions
from gossamer.topics.names import TopicError, check_name
from gossamer.wire.packets import Publish
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import BAD_USER_NAME_OR_PASSWORD, NOT_AUTHORIZED

Row = dict[str, Any]

# So many wait for their acknowledgement together; a broken connection repeats no more than these.
CHUNK: Final = 500

# What to do about answers that another try does not change.
_WAYS_OUT: Final = {
    BAD_USER_NAME_OR_PASSWORD: ": see the options user and password",
    NOT_AUTHORIZED: ": see the options user and password, and the broker's permissions",
}


class SinkError(Exception):
    """Rows cannot be published; the text says where and why."""


def refused(url: str, text: str, reason: int) -> SinkError:
    """The broker said no, with this reason code."""
    return SinkError(f"{url}: {text}{_WAYS_OUT.get(reason, '')}")


def pause_after(problem: Exception, patience: Patience, options: SinkOptions) -> float:
    """Seconds until another try. Raises SinkError if there is none, or it would change nothing."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        raise SinkError(
            f"the certificate of {options.url} is not trusted: {problem.verify_message}: name its "
            "authority in the option caFile"
        ) from problem
    pause = patience.pause(time.monotonic())
    if pause is None:
        raise SinkError(
            f"{options.url}: {problem or 'no response'} (tried for {options.retry_seconds:g} s)"
        ) from problem
    return pause


def message_of(row: Row, qos: int) -> Publish:
    """`qos` holds where the row does not say one. Raises SinkError."""
    try:
        check_name(row["topic"] or "")
    except TopicError as problem:
        raise SinkError(f"no message can go to {row['topic']!r}: {problem}") from None
    stated = row.get("qos")
    return Publish(
        row["topic"],
        _bytes(row["payload"]) or b"",
        qos if stated is None else int(stated),
        bool(row.get("retain")),
        False,
        0,
        _properties(row),
    )


def _properties(row: Row) -> Properties:
    properties = Properties()
    properties.content_type = row.get("content_type")
    properties.payload_format = row.get("format_indicator")
    properties.response_topic = row.get("response_topic")
    properties.correlation_data = _bytes(row.get("correlation_data"))
    properties.message_expiry = row.get("expiry")
    pairs = row.get("user_properties") or []
    properties.user = [(name, value or "") for name, value in pairs]
    return properties


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def publish_rows(rows: Iterator[Row], options: SinkOptions) -> None:
    """Raises SinkError."""
    asyncio.run(_publish_rows(rows, options))


async def _publish_rows(rows: Iterator[Row], options: SinkOptions) -> None:
    client = client_of(options)
    try:
        while chunk := [message_of(row, options.qos) for row in islice(rows, CHUNK)]:
            await _publish_chunk(client, chunk, options)
    except Refused as problem:
        raise refused(options.url, str(problem), problem.reason) from problem
    finally:
        await client.disconnect()


async def _publish_chunk(client: Client, chunk: list[Publish], options: SinkOptions) -> None:
    patience = Patience(options.retry_seconds)
    while True:
        try:
            if not client.connected:
                await client.connect()
            await _send(client, chunk)
            return
        except Refused:
            raise
        except (Disconnected, OSError, TimeoutError) as problem:
            await asyncio.sleep(pause_after(problem, patience, options))


async def _send(client: Client, chunk: list[Publish]) -> None:
    """Removes from the front of the chunk what has arrived."""
    sending = [
        asyncio.ensure_future(
            client.publish(one.topic, one.payload, one.qos, one.retain, one.properties)
        )
        for one in chunk
    ]
    done = await asyncio.gather(*sending, return_exceptions=True)
    for at, result in enumerate(done):
        if isinstance(result, BaseException):
            del chunk[:at]
            raise result


def client_of(options: SinkOptions) -> Client:
    context = None
    if options.url.startswith(("mqtts:", "wss:")):
        context = ssl.create_default_context(cafile=options.ca_file)
    password = None if options.password is None else options.password.encode()
    return Client(options.url, username=options.user, password=password, tls=context)
