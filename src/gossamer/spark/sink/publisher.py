"""Publishes rows and returns when the broker has them all. Runs on the executors.

A connection that breaks is made again, and what was not acknowledged is sent again, in order: every
row arrives at least once.
"""

import asyncio
import ssl
import time
from collections.abc import Iterator
from itertools import islice
from typing import Final

from gossamer.backoff import Patience
from gossamer.net.client import Client, Disconnected, Refused
from gossamer.spark.sink.errors import SinkError, refused, untrusted
from gossamer.spark.sink.messages import Row, message_of
from gossamer.spark.sink.settings import SinkSettings
from gossamer.wire.packets import Publish

# So many wait for their acknowledgement together; a broken connection repeats no more than these.
CHUNK: Final = 500


def publish_rows(rows: Iterator[Row], settings: SinkSettings) -> int:
    """How many there were. Raises SinkError."""
    return asyncio.run(_publish_rows(rows, settings))


async def _publish_rows(rows: Iterator[Row], settings: SinkSettings) -> int:
    client = client_of(settings)
    published = 0
    try:
        while chunk := [message_of(row, settings.qos) for row in islice(rows, CHUNK)]:
            await _publish_chunk(client, chunk, settings)
            published += len(chunk)
    except Refused as problem:
        raise refused(settings.url, str(problem), problem.reason) from problem
    finally:
        await client.disconnect()
    return published


async def _publish_chunk(client: Client, chunk: list[Publish], settings: SinkSettings) -> None:
    patience = Patience(settings.retry_seconds)
    while True:
        try:
            if not client.connected:
                await client.connect()
            await _send(client, chunk)
            return
        except Refused:
            raise
        except ssl.SSLCertVerificationError as problem:
            raise untrusted(settings.url, problem) from problem
        except (Disconnected, OSError, TimeoutError) as problem:
            pause = patience.pause(time.monotonic())
            if pause is None:
                raise SinkError(
                    f"{settings.url}: {problem or 'no response'} (tried for "
                    f"{settings.retry_seconds:g} s)"
                ) from problem
            await asyncio.sleep(pause)


async def _send(client: Client, chunk: list[Publish]) -> None:
    """Removes from the front of the chunk what has arrived."""
    sending = [
        asyncio.ensure_future(
            client.publish(one.topic, one.payload, one.qos, one.retain, one.properties)
        )
        for one in chunk
    ]
    done = await asyncio.gather(*sending, return_exceptions=True)
    failures = [result for result in done if isinstance(result, BaseException)]
    arrived = next(
        (at for at, result in enumerate(done) if isinstance(result, BaseException)), len(done)
    )
    del chunk[:arrived]
    if failures:
        raise failures[0]


def client_of(settings: SinkSettings) -> Client:
    context = None
    if settings.url.startswith(("mqtts:", "wss:")):
        context = ssl.create_default_context(cafile=settings.ca_file)
    password = None if settings.password is None else settings.password.encode()
    return Client(settings.url, username=settings.user, password=password, tls=context)
