"""Brokers that are killed again and again before they have read their store: what was acknowledged
meanwhile holds, what was removed stays away, and no row is left that nobody needs."""

import random
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.storage.files import FILE_NAME
from gossamer.wire.packets import PUBACK, Acknowledgement, Publish, Will
from tests.support.disk_world import DiskClient, DiskWorld
from tests.support.memory import MemoryClient

# More than are read in a few turns.
RETAINED = 1_800
QUEUED = 700


class Reference:
    """What each topic may have: its last acknowledged message, or one that was sent since."""

    def __init__(self) -> None:
        self.retained: dict[str, list[str]] = {}  # "" for none
        self.queued: list[str] = []  # acknowledged: the reader must get them
        self._sent: dict[int, tuple[str, str, bool]] = {}

    def sent(self, packet_id: int, topic: str, payload: str, retain: bool) -> None:
        self._sent[packet_id] = (topic, payload, retain)
        if retain:
            self.retained.setdefault(topic, [""]).append(payload)

    def acknowledged(self, packet_id: int) -> None:
        topic, payload, retain = self._sent.pop(packet_id)
        if retain:
            values = self.retained[topic]
            del values[: values.index(payload)]
        if topic.startswith("q/") and payload:
            self.queued.append(payload)

    def killed(self) -> None:
        self._sent = {}


class Loading:
    """A world with a store of some size, a writer, a session that comes and goes, and another that
    is away."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.reference = Reference()
        self.received: list[str] = []
        self._number = 0
        self.world = DiskWorld(folder, "normal")  # what is not on disk is not acknowledged
        for name in ("other", "reader"):  # they share the messages in their queues
            self.reader = self._reader(name)
            self.reader.subscribe("q/#", qos=1, retain_handling=2)
            self.reader.lose()
        self.writer = self.world.client("writer")
        self.world.turns = False
        for index in range(RETAINED):
            self.publish(f"old/{index}", True)
            if not index % 100:
                self.settle()
        for index in range(QUEUED):
            self.publish(f"q/{index}", index % 3 != 0)
            if not index % 100:
                self.settle()
        self.settle()

    def _reader(self, name: str = "reader") -> DiskClient:
        client = self.world.visitor()
        client.connect(name, clean=False, expiry=100_000)
        return client

    def publish(self, topic: str, retain: bool, is_removal: bool = False) -> None:
        self._number += 1
        payload = "" if is_removal else str(self._number)
        packet_id = self._number % 60_000 + 1
        self.reference.sent(packet_id, topic, payload, retain)
        self.writer.send(Publish(topic, payload.encode(), 1, retain, False, packet_id, None))

    def take_acknowledgements(self) -> None:
        for packet in self.writer.take():
            if isinstance(packet, Acknowledgement):
                self.reference.acknowledged(packet.packet_id)

    def read(self) -> None:
        """The reader acknowledges what has come to it."""
        for packet in self.reader.take():
            if isinstance(packet, Publish):
                self.received.append(packet.payload.decode())
                self.reader.send(Acknowledgement(PUBACK, packet.packet_id))

    def drain(self, name: str) -> None:
        self.reader.lose()
        self.reader = self._reader(name)
        for _ in range(5):
            self.settle()
            self.read()
        self.settle()

    def life(self) -> None:
        self.world.kill_again()
        self.reference.killed()
        self.writer = self.world.client("writer")
        self.reader = self.world.visitor()
        for _ in range(self.random.randrange(60)):
            self.step()
        self.take_acknowledgements()

    def step(self) -> None:
        chance = self.random.random()
        if chance < 0.15:
            self.world.store.turn(self.world.broker, self.world.now)
            self.world.broker.flush(self.world.now)
            self.take_acknowledgements()
        elif chance < 0.20:
            MemoryClient.lose(self.reader)
            self.reader = self._reader()
        elif chance < 0.25:
            self.read()
        elif chance < 0.35:
            self.publish(f"q/{self.random.randrange(QUEUED)}", False)
        else:
            room, most = self.random.choice((("old", RETAINED), ("q", QUEUED)))
            topic = f"{room}/{self.random.randrange(most + 20)}"
            self.publish(topic, True, self.random.random() < 0.5)

    def settle(self) -> None:
        self.world.settle()
        self.take_acknowledgements()

    def held(self) -> dict[str, str]:
        client = self.world.client("looking")
        client.subscribe("old/#", "q/#")
        self.world.settle()
        found = {each.topic: each.payload.decode() for each in client.messages()}
        client.lose()
        return found

    def rows(self) -> dict[str, int]:
        """Of a copy: the file is locked."""
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copytree(self.world.store.folder, Path(folder) / "copy")
            with closing(sqlite3.connect(copy / FILE_NAME)) as connection:
                return {
                    table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                    for table in ("message", "retained", "delivery")
                }


@pytest.mark.parametrize("seed", range(8))
def test_kills_before_all_is_read_break_no_promise(tmp_path: Path, seed: int) -> None:
    loading = Loading(tmp_path, seed)
    for _ in range(loading.random.randrange(2, 6)):
        loading.life()
    loading.settle()
    reference = loading.reference
    held = loading.held()
    for topic, values in reference.retained.items():
        assert held.get(topic, "") in values, topic
    loading.drain("reader")
    assert set(reference.queued) <= set(loading.received)
    loading.received = []
    loading.drain("other")
    assert set(reference.queued) <= set(loading.received)
    for _ in range(2):
        assert loading.held() == held
        loading.world.kill()
        assert loading.rows() == {"message": len(held), "retained": len(held), "delivery": 0}
    loading.world.close()


def test_a_will_that_is_due_while_it_is_read_replaces_what_was_retained_later(
    tmp_path: Path,
) -> None:
    """Its message is older in the store than the one that it replaces."""
    world = DiskWorld(tmp_path)
    mortal = world.visitor()
    mortal.connect(
        "mortal",
        clean=False,
        expiry=1000,
        will=Will("state", b"gone", 1, True, None),
    )
    writer = world.client("writer")
    for index in range(600):
        writer.publish(f"old/{index}", retain=True, qos=1)
    writer.publish("state", "here", qos=1, retain=True)
    world.turns = False
    for _ in range(3):
        world.kill_again()
        world.broker.flush(world.now)
        world.now += 1
        world.broker.tick(world.now)
        world.store.turn(world.broker, world.now)
        assert world.store.journal.unread.has_more
    world.settle()
    reader = world.client("reader")
    reader.subscribe("state")
    world.settle()
    assert reader.payloads() == ["gone"]
    world.close()
