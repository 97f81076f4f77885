"""A real broker whose disk is full: what it refuses, what it serves, and that it recovers.

The kernel plays the disk: no file of the broker's may grow beyond a limit, until it is lifted.
"""

import asyncio
import resource
from pathlib import Path

import pytest

from gossamer.net.client import Client, Refused
from gossamer.wire.reasons import QUOTA_EXCEEDED
from gossamer_lab.torture.clients import lasting
from gossamer_lab.torture.processes import BrokerProcess

PATIENCE = 90.0
DISK_BYTES = 1_000_000
BLOB = b"x" * 100_000

pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="prlimit is Linux's")


def limit_files(pid: int, size: int) -> None:
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))


def test_a_full_disk(tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(_run(tmp_path), PATIENCE))


async def _run(folder: Path) -> None:
    broker = BrokerProcess(folder, "full")
    await broker.start()
    try:
        await _fill_and_make_room(broker)
    finally:
        await broker.stop()


async def _fill_and_make_room(broker: BrokerProcess) -> None:
    for name, topic in (("reader", "t"), ("other", "o")):
        async with Client(broker.url, name, clean_start=False, properties=lasting()) as client:
            await client.subscribe(topic, qos=1)
    limit_files(broker.pid, DISK_BYTES)
    async with Client(broker.url, "filler") as filler:
        waiting = [asyncio.create_task(filler.publish("t", BLOB, qos=1)) for _ in range(20)]
        await _until_refused(broker.url)
        await _what_is_served(broker.url)
        assert not all(task.done() for task in waiting)
        limit_files(broker.pid, resource.RLIM_INFINITY)
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        kept = sum(answer == 0 for answer in answers)
    await _until_accepted(broker.url)
    await broker.kill()
    await broker.start()
    async with Client(broker.url, "reader", clean_start=False, properties=lasting()) as reader:
        found = 0
        async for message in reader.messages():
            found += message.payload == BLOB
            if message.payload == b"room":
                break
    assert found >= kept > 0


async def _publish_once(url: str, payload: bytes) -> int | None:
    """The reason of the answer; None if there is none yet."""
    async with Client(url) as writer:
        try:
            return await asyncio.wait_for(writer.publish("t", payload, qos=1), 1)
        except TimeoutError:
            return None
        except Refused as refusal:
            return refusal.reason


async def _until_refused(url: str) -> None:
    while await _publish_once(url, b"?") != QUOTA_EXCEEDED:
        await asyncio.sleep(0.05)


async def _until_accepted(url: str) -> None:
    while await _publish_once(url, b"room") != 0:
        await asyncio.sleep(0.05)


async def _what_is_served(url: str) -> None:
    async with Client(url, "passer") as passer:
        await passer.subscribe("live", qos=1)
        await passer.publish("live", b"now", qos=1)
        assert (await anext(passer.messages())).payload == b"now"
    with pytest.raises(Refused) as caught:
        await Client(url, "new", clean_start=False, properties=lasting()).connect()
    assert caught.value.reason == QUOTA_EXCEEDED
    async with Client(url, "other", clean_start=False, properties=lasting()) as other:
        assert other.connack is not None
        assert other.connack.session_present
        assert await other.subscribe("o", qos=1) == [1]
