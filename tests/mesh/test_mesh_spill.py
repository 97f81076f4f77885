"""A neighbour that is away costs bounded memory: what is too much waits in the store, in order.

On the store that ships and on the one in memory, with kills while it waits and while it is sent.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from gossamer.broker.broker import Broker
from gossamer.session.queue import AWAY_MESSAGES
from gossamer.session.records import Snapshot
from gossamer.storage.journal import CollectingJournal
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.storage.sqlite_store import READ_MESSAGES
from tests.support.memory import MemoryClient
from tests.support.meshes import Net, Node
from tests.support.stores import TurnedStore

SPILLED = 2_500
MESSAGES = AWAY_MESSAGES + SPILLED


class Disk(Protocol):
    journal: CollectingJournal
    snapshot: Snapshot

    def turn(self, broker: Broker, now: float) -> bool: ...

    def killed(self) -> "Disk": ...

    def close(self) -> None: ...


class MemoryDisk:
    def __init__(self, journal: MemoryJournal) -> None:
        self.journal: CollectingJournal = journal
        self.snapshot = journal.snapshot
        self._memory = journal

    def turn(self, broker: Broker, now: float) -> bool:
        if not self.journal.dirty:
            return False
        broker.committed(self._memory.commit(), now)
        return True

    def killed(self) -> "MemoryDisk":
        return MemoryDisk(self._memory.restarted())

    def close(self) -> None: ...


class SqliteDisk:
    def __init__(self, store: TurnedStore) -> None:
        self._store = store
        self.journal = store.journal
        self.snapshot = store.store.snapshot
        self._others: list[SqliteDisk] = []

    def turn(self, broker: Broker, now: float) -> bool:
        return self._store.turn(broker, now)

    def killed(self) -> "SqliteDisk":
        folder = self._store.folder
        other = SqliteDisk(self._store.killed(folder.with_name(folder.name + "+")))
        self._others.append(other)
        return other

    def close(self) -> None:
        self._store.close()
        for other in self._others:
            other.close()


@pytest.fixture(params=["memory", "sqlite"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    made: Disk
    if request.param == "memory":
        made = MemoryDisk(MemoryJournal())
    else:
        made = SqliteDisk(TurnedStore(tmp_path / "store"))
    yield made
    made.close()


class Spilling:
    """Two brokers; `near` has the disk, and a reader behind `far` is away from it for a while."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.net = Net("ssf")
        self.near = self.net.node("near", journal=disk.journal)
        self.net.node("far")
        self.net.join("far", "near")
        self.reader: MemoryClient = self.far.client("reader", expiry=1000, receive_maximum=65535)
        self.reader.subscribe("t", qos=1)
        self.received: list[int] = []
        self.longest = 0  # of what memory held of the queue
        self.settle()

    @property
    def far(self) -> Node:
        return self.net.nodes["far"]

    @property
    def spilled(self) -> int:
        return self.near.broker.core.sessions["$mesh/far"].lane.messages

    def settle(self) -> None:
        has_news = True
        while has_news:
            self.net.run()
            has_news = self.disk.turn(self.near.broker, self.near.now)
            queue = self.near.broker.core.sessions["$mesh/far"].queue
            self.longest = max(self.longest, len(queue or ()))
        self.net.run()

    def wait(self, seconds: int) -> None:
        for _ in range(seconds * 4):
            for node in self.net.nodes.values():
                node.now += 0.25
            for node in self.net.nodes.values():
                node.broker.tick(node.now)
            self.settle()

    def publish(self, first: int, last: int) -> None:
        writer = self.near.client("writer")
        for number in range(first, last):
            writer.publish("t", str(number), qos=1, packet_id=number % 60_000 + 1)
            if number % 1000 == 0:
                self.disk.turn(self.near.broker, self.near.now)
        self.settle()
        writer.lose()

    def kill(self) -> None:
        """The near broker starts again from what its disk has."""
        self.disk = self.disk.killed()
        journal, snapshot = self.disk.journal, self.disk.snapshot
        again = Node("near", "ssf", journal=journal, snapshot=snapshot, begins=self.near.now)
        self.net.nodes["near"] = self.near = again

    def join(self) -> None:
        self.net.join("far", "near")

    def cut(self) -> None:
        self.net.cut("far", "near")

    def read(self) -> None:
        self.received += [int(payload) for payload in self.reader.payloads()]


def in_first_order(numbers: list[int]) -> list[int]:
    return list(dict.fromkeys(numbers))


@pytest.mark.parametrize("restarts", [False, True])
def test_spilled_messages_arrive_in_order(disk: Disk, restarts: bool) -> None:
    mesh = Spilling(disk)
    mesh.cut()
    mesh.publish(0, MESSAGES)
    assert len(mesh.near.broker.core.sessions["$mesh/far"].queue or ()) == AWAY_MESSAGES
    assert mesh.spilled == SPILLED
    if restarts:
        mesh.kill()
        assert mesh.spilled == SPILLED
    mesh.join()
    mesh.settle()
    mesh.read()
    assert mesh.received == list(range(MESSAGES))
    assert mesh.spilled == 0


def test_kills_while_it_is_read_back(disk: Disk) -> None:
    """What was on its way may come twice, as QoS 1 allows; nothing is lost or out of order."""
    mesh = Spilling(disk)
    mesh.cut()
    mesh.publish(0, MESSAGES)
    for _ in range(6):
        mesh.join()
        for _ in range(3):
            mesh.disk.turn(mesh.near.broker, mesh.near.now)
            mesh.net.run()
        mesh.read()
        mesh.cut()
        mesh.kill()
    mesh.publish(MESSAGES, MESSAGES + 100)
    mesh.join()
    mesh.settle()
    mesh.read()
    assert in_first_order(mesh.received) == list(range(MESSAGES + 100))
    assert mesh.spilled == 0


def test_what_is_published_meanwhile_comes_behind(disk: Disk) -> None:
    mesh = Spilling(disk)
    mesh.cut()
    mesh.publish(0, MESSAGES)
    mesh.join()
    mesh.publish(MESSAGES, MESSAGES + 500)
    mesh.settle()
    mesh.read()
    assert mesh.received == list(range(MESSAGES + 500))


def test_a_spilled_queue_goes_round_another_way(disk: Disk) -> None:
    """The link stays cut, and the neighbour comes back behind another one."""
    mesh = Spilling(disk)
    net = mesh.net
    net.node("other")
    net.join("other", "near")
    mesh.settle()
    mesh.cut()
    mesh.wait(20)
    mesh.publish(0, MESSAGES)
    assert mesh.spilled > 0
    net.join("other", "far")
    for _ in range(40):
        mesh.wait(1)
        mesh.read()
        if len(mesh.received) >= MESSAGES:
            break
    assert sorted(set(mesh.received)) == list(range(MESSAGES))
    assert mesh.received == list(range(MESSAGES))
    assert mesh.spilled == 0
    assert mesh.longest <= READ_MESSAGES


class Deep(Spilling):
    """A third broker was behind `far`, and has a reader too; now both are alone."""

    def __init__(self, disk: Disk) -> None:
        super().__init__(disk)
        self.net.node("third")
        self.net.join("third", "far")
        third = self.net.nodes["third"]
        self.deep = third.client("deep", expiry=1000, receive_maximum=65535)
        self.deep.subscribe("t", qos=1)
        self.had: list[int] = []
        self.wait(2)
        self.cut()
        self.net.cut("third", "far")
        self.wait(20)
        self.publish(0, MESSAGES)

    def read(self) -> None:
        super().read()
        self.had += [int(payload) for payload in self.deep.payloads()]

    def wait_for(self, seconds: int) -> None:
        for _ in range(seconds):
            self.wait(1)
            self.read()


def test_those_who_were_behind_it_get_the_queue_and_it_stays(disk: Disk) -> None:
    mesh = Deep(disk)
    mesh.net.join("third", "near")
    mesh.wait_for(10)
    assert mesh.had == list(range(MESSAGES))
    assert mesh.longest <= AWAY_MESSAGES
    assert mesh.spilled == SPILLED
    mesh.publish(MESSAGES, MESSAGES + 10)
    mesh.join()
    mesh.wait_for(10)
    assert mesh.received == list(range(MESSAGES + 10))
    assert mesh.had == list(range(MESSAGES + 10))
    assert mesh.spilled == 0


@pytest.mark.parametrize("turns", [0, 2, 4])
@pytest.mark.parametrize("what", ["kill", "join", "cut"])
def test_what_happens_while_the_queue_is_looked_through(disk: Disk, what: str, turns: int) -> None:
    """Nothing is lost, whatever had been looked at."""
    mesh = Deep(disk)
    mesh.net.join("third", "near")
    for _ in range(turns):
        mesh.net.run()
        mesh.disk.turn(mesh.near.broker, mesh.near.now)
    if what == "join":
        mesh.join()
    else:
        mesh.net.cut("third", "near")
        if what == "kill":
            mesh.kill()
        mesh.wait_for(3)
        mesh.net.join("third", "near")
        mesh.wait_for(10)
        mesh.join()
    mesh.wait_for(12)
    assert sorted(set(mesh.had)) == list(range(MESSAGES))
    assert in_first_order(mesh.received) == list(range(MESSAGES))
    assert mesh.spilled == 0
    assert mesh.longest <= READ_MESSAGES


def test_those_left_behind_are_sent_the_queue_before_the_neighbour(disk: Disk) -> None:
    """The link is back, and somebody who was behind it when its queue began is elsewhere."""
    mesh = Spilling(disk)
    mesh.net.node("other")
    mesh.net.join("other", "near")
    mesh.wait(2)
    mesh.cut()
    mesh.wait(20)
    mesh.publish(0, MESSAGES)
    tree_links = mesh.near.mesh.tree_links
    link = mesh.near.mesh.by_name["far"]
    link.behind = {"far", "other"}
    begun = tree_links.rebroadcast.begun
    mesh.join()
    for _ in range(10):
        mesh.wait(1)
        mesh.read()
    assert tree_links.rebroadcast.begun >= begun + MESSAGES
    assert mesh.received == list(range(MESSAGES))
    assert mesh.spilled == 0
    assert mesh.longest <= READ_MESSAGES + AWAY_MESSAGES
