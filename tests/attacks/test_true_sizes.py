"""What the ledger counts is what the allocator gave, or up to a quarter more: never less.

Measured as brokers run: with a store, whose index knows every name again, and with many of each, so
that what is measured is what one of them costs. Numbers are chosen so that dictionaries are as full
as can be, or have just grown.
"""

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.broker.retained_stamps import Stamp, with_stamp
from gossamer.broker.settings import Settings
from gossamer.budget.division import MIB
from gossamer.session.message import Message
from gossamer.wire.packets import Request, Subscribe
from gossamer.wire.properties import Properties
from tests.support.attacks import KIB
from tests.support.disk_world import DiskWorld

CLIENTS = 10
BATCH = 100
# The count may be more than the truth by so much, and not less.
MOST = 1.25


class Stored(DiskWorld):
    """A broker with a store on disk, and ten clients whose sessions last."""

    def __init__(self, folder: Path) -> None:
        roomy = dict.fromkeys(("sessions", "subscriptions", "retained"), 512 * MIB)
        others = dict.fromkeys(Settings().budgets, 64 * KIB)  # caches hold next to nothing
        super().__init__(folder, budgets={**others, **roomy}, max_subscriptions=100_000)
        self.clients = [self.visitor() for _ in range(CLIENTS)]
        for number, client in enumerate(self.clients):
            client.connect(f"client-{number}", clean=False, expiry=9_999)

    def settle(self) -> None:
        """What clients did is on disk, and they were answered."""
        super().settle()
        for client in getattr(self, "clients", []):
            client.sink.data = b""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Stored]:
    made = Stored(tmp_path)
    yield made
    made.close()


def subscribe(world: Stored, count: int, filter: Callable[[int], str]) -> None:
    for first in range(0, count, BATCH):
        requests = [Request(filter(first + more), 1) for more in range(BATCH)]
        client = world.clients[first // BATCH % CLIENTS]
        client.send(Subscribe(1, requests))


def retain(world: Stored, count: int, topic: Callable[[int], str]) -> None:
    world.turns = False
    for number in range(count):
        world.clients[number % CLIENTS].publish(topic(number), "x" * 50, retain=True)
        if number % BATCH == 0:
            world.settle()


FILTERS: dict[str, Callable[[int], str]] = {
    "of a site": lambda n: f"site/{n % 100}/device-{n}/temperature",
    "flat": lambda n: f"device-{n}",
    "with wildcards": lambda n: f"a/{n}/+/#",
    "four of each device": lambda n: f"a/{n // 4}/{n % 4}",
    "long": lambda n: f"a/{n}" + "x" * 200,
    "deep": lambda n: f"a/{n // 2}/b/c/d/e/f/g/h/{n % 2}",
    "of one shared group": lambda n: f"$share/g/a/{n}",
}


@pytest.mark.parametrize("count", [6_000, 14_000])
@pytest.mark.parametrize("shape", FILTERS)
def test_a_filter_is_counted_for_what_it_costs(world: Stored, shape: str, count: int) -> None:
    account = world.broker.core.ledger.subscriptions
    real, counted = measured(
        world, lambda: account.held, lambda: subscribe(world, count, FILTERS[shape])
    )
    assert real <= counted <= MOST * real, (real / count, counted / count)


TOPICS: dict[str, Callable[[int], str]] = {
    "of a site": lambda n: f"site/{n % 100}/device-{n}/temperature",
    "flat": lambda n: f"device-{n}",
    "long": lambda n: f"a/{n}" + "x" * 200,
    "deep, in pairs": lambda n: f"a/{n // 2}/of/many/levels/before/they/part/{n % 2:02d}",
    "in groups of five": lambda n: f"site/{n // 5}/sensor/{n % 5:02d}",
}


@pytest.mark.parametrize("count", [6_000, 14_000])
@pytest.mark.parametrize("shape", TOPICS)
def test_a_retained_message_is_counted_for_what_it_costs(
    world: Stored, shape: str, count: int
) -> None:
    account = world.broker.core.ledger.retained
    real, counted = measured(
        world, lambda: account.held, lambda: retain(world, count, TOPICS[shape])
    )
    assert real <= counted <= MOST * real, (real / count, counted / count)


@pytest.mark.parametrize("count", [6_000, 14_000])
@pytest.mark.parametrize("kind", ["that ends", "with a stamp", "that was removed"])
def test_a_retained_message_of_any_kind_is_counted_for_what_it_costs(
    world: Stored, kind: str, count: int
) -> None:
    retained = world.broker.core.retained

    def keep() -> None:
        for number in range(count):
            payload = b"" if kind == "that was removed" else b"x" * 50
            ends = 1_000.0 + number if kind == "that ends" else 0.0
            message = Message(f"device-{number}", payload, 1, True, None, ends, "client", "")
            stamp = Stamp(1_700_000_000_000_000 + number, "broker-1")
            stamped = message if kind == "that ends" else with_stamp(message, stamp)
            retained.keep(message, stamped)
            if number % BATCH == 0:
                world.settle()

    account = world.broker.core.ledger.retained
    real, counted = measured(world, lambda: account.held, keep)
    assert real <= counted <= MOST * real, (real / count, counted / count)


def topic_of(number: int) -> str:
    return f"site/{number}/temperature"


# How many clients subscribed to which filters before, each client with an identifier if there is.
AUDIENCES: dict[str, list[tuple[int, Callable[[int], str], int]]] = {
    "nobody": [],
    "one who subscribed to all": [(1, lambda n: "site/#", 0)],
    "one each": [(1, topic_of, 0)],
    "one each, with identifiers": [(1, topic_of, 7)],
    "the same ten": [(10, lambda n: "site/#", 0)],
    "two each": [(2, topic_of, 0)],
    "ten each": [(10, topic_of, 0)],
    "one by two filters": [(1, lambda n: "site/#", 0), (1, topic_of, 0)],
    "two by two filters, with identifiers": [(2, lambda n: "site/#", 3), (2, topic_of, 7)],
}


@pytest.mark.parametrize("count", [5_400, 6_000])
@pytest.mark.parametrize("audience", AUDIENCES)
def test_a_route_is_counted_for_what_it_costs(world: Stored, audience: str, count: int) -> None:
    for clients, filter, identifier in AUDIENCES[audience]:
        properties = Properties()
        properties.subscription_ids = [identifier] if identifier else []
        for client in world.clients[:clients]:
            for first in range(0, count, BATCH):
                filters = dict.fromkeys(filter(first + more) for more in range(BATCH))
                requests = [Request(each, 1) for each in filters]
                client.send(Subscribe(1, requests, properties))
    hold_routes(world, count, topic_of)


@pytest.mark.parametrize("count", [5_400, 6_000])
def test_the_branch_of_a_route_is_counted_for_what_it_costs(world: Stored, count: int) -> None:
    hold_routes(world, count, lambda n: f"site {n}/temperature")


def hold_routes(world: Stored, count: int, topic: Callable[[int], str]) -> None:
    routes = world.broker.core.routes
    routes.account.allow(512 * MIB, 1.0, 1.0, 1.0)

    def publish() -> None:
        for number in range(count):
            routes.route(topic(number), topic(number).encode())

    world.settle()
    real, counted = measured(world, lambda: routes.account.held, publish)
    assert len(routes) == count
    assert real <= counted <= MOST * real, (real / count, counted / count)


def measured(world: Stored, held: Callable[[], int], fill: Callable[[], None]) -> tuple[int, int]:
    """Bytes by the allocator and by the ledger."""
    gc.collect()
    before = held()
    tracemalloc.start()
    try:
        begun = tracemalloc.get_traced_memory()[0]
        fill()
        world.settle()
        world.settle()
        gc.collect()
        real = tracemalloc.get_traced_memory()[0] - begun
    finally:
        tracemalloc.stop()
    return real, held() - before
