"""`gossamer serve` on a store that takes a while to read: clients are served meanwhile, and however
the process ends before it has read everything, what it acknowledged holds."""

import asyncio
import random
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from gossamer.cli.main import run
from gossamer.net.client import Client, Disconnected
from gossamer.session.message import Message
from gossamer.session.records import QUEUED, DeliveryRecord, SessionRecord, SubscriptionRecord
from gossamer.storage.damaged_rows import MOST_AT_START
from gossamer.storage.files import FILE_NAME
from gossamer.storage.sqlite_store import SqliteStore
from gossamer_lab.torture.clients import NEVER, lasting
from gossamer_lab.torture.processes import BrokerProcess

PATIENCE = 240.0
RETAINED = 12_000
WAITING = 3_000
READERS = 3
MARKER = "marker"


def a_store(folder: Path, retained: int = RETAINED, waiting: int = WAITING) -> None:
    """Retained messages, and sessions whose queues share messages; every third of those is retained
    too."""
    store = SqliteStore(folder, "off")
    journal = store.journal
    store.start(lambda batch: None, lambda error: None)
    for index in range(READERS):
        name = f"reader-{index}"
        record = SessionRecord(name, "", NEVER)
        record.disconnected_at = 1.0
        journal.session_saved(record)
        journal.subscription_saved(name, SubscriptionRecord("queue/#", 1, False, False, 2, 0))
    for index in range(retained):
        topic = f"old/{index}" if index else MARKER
        journal.retained_saved(Message(topic, b"old", 1, True, None, 0.0, "", ""), 0)
    for number in range(1, waiting + 1):
        message = Message(f"queue/{number}", b"%d" % number, 1, True, None, 0.0, "", "")
        if number % 3 == 0:
            journal.retained_saved(message, 0)
        for index in range(READERS):
            delivery = DeliveryRecord(number, message, 1, False, [], 0, QUEUED)
            journal.delivery_queued(f"reader-{index}", delivery)
    store.end_turn()
    store.close()


class Written:
    """What each topic may have: what was acknowledged last, or sent since; b"" is nothing."""

    def __init__(self) -> None:
        self.values: dict[str, list[bytes]] = {f"old/{i}": [b"old"] for i in range(1, RETAINED)}
        self._random = random.Random(1)
        self._number = 0

    async def write(self, client: Client) -> None:
        """Until the broker is no more."""
        with suppress(Disconnected):
            while True:
                topics = self._random.sample(range(1, RETAINED), 20)
                await asyncio.gather(*[self._publish(client, f"old/{topic}") for topic in topics])

    async def _publish(self, client: Client, topic: str) -> None:
        self._number += 1
        payload = b"" if self._random.random() < 0.5 else b"%d" % self._number
        values = self.values[topic]
        values.append(payload)
        await client.publish(topic, payload, qos=1, retain=True)
        self.values[topic] = [payload]


def test_whatever_ends_it_while_it_reads_breaks_no_promise(tmp_path: Path) -> None:
    a_store(tmp_path)
    asyncio.run(asyncio.wait_for(_lives(tmp_path), PATIENCE))
    assert "Traceback" not in (tmp_path / "broker.log").read_text()


async def _lives(folder: Path) -> None:
    broker = BrokerProcess(folder, "normal")
    written = Written()
    for seconds in (0.0, 0.05, 0.1, 0.15, 0.2, 0.3):
        for end in (broker.kill, broker.stop):
            await broker.start()
            client = Client(broker.url)
            await client.connect()
            writing = asyncio.ensure_future(written.write(client))
            await asyncio.sleep(seconds)
            await end()
            await writing
            client.abort()
    await broker.start()
    await _check_retained(broker.url, written)
    for index in range(READERS):
        await _drain(broker.url, f"reader-{index}")
    await broker.kill()
    await broker.start()
    await _check_retained(broker.url, written)
    await broker.stop()


async def _check_retained(url: str, written: Written) -> None:
    held = await _retained(url)
    for topic, values in written.values.items():
        assert held.pop(topic, b"") in values, topic
    assert held == {f"queue/{number}": b"%d" % number for number in range(3, WAITING + 1, 3)}


async def _retained(url: str) -> dict[str, bytes]:
    """From before everything is read: they come when it is."""
    found: dict[str, bytes] = {}
    async with Client(url) as client:
        await client.subscribe("old/#", qos=0)
        await client.subscribe("queue/#", qos=0)
        await client.subscribe(MARKER, qos=0)
        async for message in client.messages():
            if message.topic == MARKER:
                break
            assert message.topic not in found
            found[message.topic] = message.payload
    return found


async def _drain(url: str, name: str) -> None:
    """All of its queue, in order and once."""
    client = Client(url, name, clean_start=False, properties=lasting())
    assert (await client.connect()).session_present
    got: list[bytes] = []
    async for message in client.messages():
        got.append(message.payload)
        if len(got) == WAITING:
            break
    assert got == [b"%d" % number for number in range(1, WAITING + 1)]
    await client.disconnect()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE message SET payload = x'00'",
        "DELETE FROM message",
        "UPDATE delivery SET qos = 9",
        "UPDATE delivery SET number = 'x' WHERE number = 300",
    ],
)
def test_damage_that_is_not_single_rows_ends_it_with_the_words_of_a_refused_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    """Single rows are set aside while it serves (`tests/storage/test_while_loading.py`)."""
    a_store(tmp_path, 1_200, 500)
    assert READERS * 500 > MOST_AT_START
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.execute(damage)
        connection.commit()
    assert run(["serve", "--port", "0", "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert str(tmp_path / FILE_NAME) in said
    assert "gossamer store repair" in said
