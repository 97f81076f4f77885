"""A session that moves to another broker takes a queue along that is longer than memory holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.session.handover import merge
from gossamer.session.message import Message
from gossamer.session.queue import AWAY_MESSAGES
from gossamer.session.records import QUEUED, DeliveryRecord
from gossamer.session.subscription import NO_IDENTIFIERS
from tests.support.memory import MemoryClient, World
from tests.support.meshes import Net, Node
from tests.support.stores import TurnedStore

MANY = AWAY_MESSAGES + 3_000


class Two:
    """Two joined brokers, each on a store of its own."""

    def __init__(self, folder: Path) -> None:
        self.net = Net("ssf")
        self.stores = {name: TurnedStore(folder / name) for name in ("here", "there")}
        for name, store in self.stores.items():
            self.net.node(name, journal=store.journal)
        self.net.join("here", "there")
        self.settle()

    def node(self, name: str) -> Node:
        return self.net.nodes[name]

    def step(self) -> bool:
        self.net.run()
        found = [
            store.turn(self.node(name).broker, self.node(name).now)
            for name, store in self.stores.items()
        ]
        return any(found)

    def settle(self) -> None:
        while self.step():
            pass
        self.net.run()

    def client(self, name: str, broker: str) -> MemoryClient:
        """Its CONNECT may have to wait for what another broker has."""
        client = self.node(broker).visitor()
        client.connect(name, clean=False, expiry=1000)
        self.settle()
        return client

    def publish(self, broker: str, first: int, last: int) -> None:
        writer = self.client(f"writer{first}", broker)
        for number in range(first, last):
            writer.publish("t", str(number), qos=1, packet_id=number % 60_000 + 1)
            if number % 500 == 0:
                self.step()
        self.settle()

    def restart(self, name: str) -> None:
        """As after a kill."""
        for other in self.net.nodes:
            if other != name:
                self.net.cut("here", "there")
        store = self.stores[name]
        self.stores[name] = store.killed(store.folder.with_name(store.folder.name + "+"))
        store.close()
        again = self.stores[name]
        self.net.nodes[name] = Node(
            name, "ssf", journal=again.journal, snapshot=again.store.snapshot
        )
        self.net.join("here", "there")

    def numbers(self, client: MemoryClient) -> list[int]:
        found: list[int] = []
        while payloads := client.payloads():
            found += [int(text) for text in payloads]
            self.settle()
        return found

    def close(self) -> None:
        for store in self.stores.values():
            store.close()


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    made = Two(tmp_path)
    yield made
    made.close()


def a_long_queue(two: Two) -> None:
    client = two.client("rover", "here")
    client.subscribe("t", qos=1)
    two.settle()
    client.lose()
    two.publish("here", 0, MANY)


def test_a_long_queue_moves_whole_and_in_order(two: Two) -> None:
    a_long_queue(two)
    assert two.node("here").broker.core.sessions["rover"].lane.messages > 0
    rover = two.client("rover", "there")
    two.publish("here", MANY, MANY + 50)
    two.publish("there", MANY + 50, MANY + 100)
    assert two.numbers(rover) == list(range(MANY + 100))
    assert two.stores["here"].journal.spilled_bytes == 0


def test_a_queue_that_came_from_elsewhere_is_on_disk_again(two: Two) -> None:
    a_long_queue(two)
    rover = two.node("there").visitor()
    rover.connect("rover", clean=False, expiry=1000)
    rover.lose()
    two.settle()
    session = two.node("there").broker.core.sessions["rover"]
    assert session.queued() + session.lane.messages == MANY
    assert session.queued() <= AWAY_MESSAGES
    two.restart("there")
    two.settle()
    rover = two.client("rover", "there")
    assert two.numbers(rover) == list(range(MANY))


@pytest.mark.parametrize("steps", [1, 3, 6, 10])
def test_a_kill_while_it_moves_loses_nothing(two: Two, steps: int) -> None:
    a_long_queue(two)
    rover = two.node("there").visitor()
    rover.connect("rover", clean=False, expiry=1000)
    for _ in range(steps):
        two.step()
    two.restart("here")
    two.settle()
    received = two.numbers(rover)
    assert sorted(set(received)) == list(range(MANY))


def delivery_of(number: int) -> DeliveryRecord:
    message = Message("t", str(number).encode(), 1, False, None, 0.0, "", "")
    return DeliveryRecord(number, message, 1, False, NO_IDENTIFIERS, 0, QUEUED)


def test_what_came_before_the_end_of_a_transfer_waits_behind_what_it_brought() -> None:
    world = World()
    client = world.client("roamer", clean=False, expiry=1000)
    client.subscribe("t", qos=1)
    client.lose()
    writer = world.client("writer")
    writer.publish("t", "3", qos=1, packet_id=1)
    session = world.broker.core.sessions["roamer"]
    brought = [delivery_of(number) for number in (-2, -1)]
    merge(session, brought, [])
    client = world.client("roamer", clean=False, expiry=1000)
    assert client.payloads() == ["-2", "-1", "3"]
