"""The table of attacks: what strangers can fill, each with its ceiling and the answer they get.

Every row runs against a broker with budgets of 2 MiB, sends some ten times as much as it may, and
must end with each account within its budget, with what the allocator gave in sight of what the
ledger says, with the answer that the standard has for it, and with a bystander served. Then the
attackers leave, and what is not meant to last is gone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from gossamer.wire import reasons
from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    V5,
    V311,
    Acknowledgement,
    Connack,
    Connect,
    Disconnect,
    Publish,
    Request,
    Suback,
    Subscribe,
    Will,
)
from tests.support.attacks import KIB, MIB, Target, growth
from tests.support.memory import MemoryClient, properties

QUOTA = reasons.QUOTA_EXCEEDED
# What the interpreter needs beside the tables: the packet in hand, dictionaries that have grown.
SLACK = 1 * MIB


@dataclass
class Siege:
    """An attack under way: who attacks, and what they were answered."""

    target: Target
    clients: list[MemoryClient] = field(default_factory=list)
    answers: set[int] = field(default_factory=set)

    def client(self, number: int = 0, **options: object) -> MemoryClient:
        """Each from an address of its own, unless told otherwise."""
        options.setdefault("address", f"198.51.100.{number}")
        client = self.target.stranger(f"attacker-{number}", **options)  # type: ignore[arg-type]
        self.clients.append(client)
        self.answers.add(client.connack.reason)
        return client

    def visit(self, number: int, **options: object) -> None:
        """Connects, and is lost at once."""
        self.client(number, **options).lose()
        self.clients.pop()

    def note(self, client: MemoryClient) -> None:
        """What the client was told since the last time."""
        for packet in client.take():
            if isinstance(packet, Suback):
                self.answers.update(packet.reasons)
            elif isinstance(packet, Acknowledgement | Disconnect | Connack):
                self.answers.add(packet.reason)

    def subscribe(self, client: MemoryClient, *filters: str, user: object = None) -> None:
        self.answers.update(client.subscribe(*filters, user=user))
        client.sink.data = b""


Attack = Callable[[Siege], None]


@dataclass
class Row:
    attack: Attack
    account: str  # that is filled
    answer: int | None  # that the attackers get; None for a cache, which nobody is told of
    lasts: bool = False  # whether it is meant to stay when they have gone
    slack: int = SLACK
    roomy: tuple[str, ...] = ("sessions",)


def topics_once(siege: Siege) -> None:
    client = siege.client()
    for number in range(300):
        client.publish(f"{number}/" + "x" * 60_000)


def aliases(siege: Siege) -> None:
    for number in range(10):
        client = siege.client(number)
        for alias in range(1, 100):
            if not client.is_closed:
                client.publish(f"{alias}/" + "x" * 60_000, topic_alias=alias)
        siege.note(client)


def retained(siege: Siege) -> None:
    for number in range(8):
        client = siege.client(number)
        for topic in range(60):
            client.publish(f"{number}/{topic}", "x" * 50_000, 1, retain=True, packet_id=topic + 1)
        siege.note(client)


def retained_wills(siege: Siege) -> None:
    for number in range(60):
        will = Will(f"will/{number}", b"x" * 60_000, 0, True)
        siege.visit(number, will=will)


def wills(siege: Siege) -> None:
    for number in range(60):
        siege.client(number, will=Will(f"will/{number}", b"x" * 60_000, 0, False))


def wills_that_wait(siege: Siege) -> None:
    for number in range(60):
        will = Will(f"will/{number}", b"x" * 60_000, 0, False, properties(will_delay=9_000_000))
        siege.visit(number, will=will, expiry=0xFFFFFFFF, clean=False)


def sessions(siege: Siege) -> None:
    for number in range(2_000):
        siege.visit(number, expiry=0xFFFFFFFF, clean=False)


def sessions_311(siege: Siege) -> None:
    for number in range(2_000):
        siege.visit(number, version=V311, clean=False)


def long_client_ids(siege: Siege) -> None:
    for number in range(60):
        name = f"{number}" + "x" * 60_000
        client = siege.target.stranger(name, f"198.51.100.{number}", expiry=1000, clean=False)
        siege.answers.add(client.connack.reason)
        client.lose()


def subscriptions_many(siege: Siege) -> None:
    for number in range(8):
        client = siege.client(number)
        for first in range(0, 1_000, 100):
            siege.subscribe(client, *(f"{number}/{first + more}" for more in range(100)))


def subscriptions_long(siege: Siege) -> None:
    for number in range(8):
        client = siege.client(number)
        for filter in range(20):
            siege.subscribe(client, f"{number}-{filter}/" + "x" * 60_000)


def subscriptions_deep(siege: Siege) -> None:
    """Two filters that part at their last level need a node for every level before."""
    for number in range(8):
        client = siege.client(number)
        for filter in range(60):
            deep = f"{number}-{filter}" + "/x" * 150
            siege.subscribe(client, deep + "/a", deep + "/b")


def subscriptions_lasting(siege: Siege) -> None:
    for number in range(8):
        client = siege.client(number, expiry=0xFFFFFFFF, clean=False)
        for filter in range(20):
            siege.subscribe(client, f"{number}-{filter}/" + "x" * 60_000)
        client.lose()


def shared_groups(siege: Siege) -> None:
    for number in range(8):
        client = siege.client(number)
        for group in range(1_000):
            siege.subscribe(client, f"$share/{number}-{group}/news")


def subscribe_repeated(siege: Siege) -> None:
    """One filter again and again, beside retained messages that it matches."""
    for number in range(20):
        siege.target.writer.publish(f"r/{number}", "x" * 1000, retain=True)
    client = siege.client()
    requests = [Request("r/#", 0)] * 5_000
    client.send(Subscribe(1, requests))
    siege.note(client)


def operator_lists(siege: Siege) -> None:
    """Lists at both ends of a deep filter: every name of the first needs a chain of nodes."""
    for number in range(8):
        client = siege.client(number)
        names = ";".join(f"n{name}" for name in range(1_000))
        for operator in range(4):
            siege.subscribe(client, f"$AVG/{number}-{operator};{names}" + "/x" * 180 + "/a;b")


def operator_lists_long(siege: Siege) -> None:
    client = siege.client()
    names = ";".join(f"n{name}" for name in range(900))
    siege.subscribe(client, f"$AVG/{names}/" + "x" * 55_000)


def operators_many(siege: Siege) -> None:
    for number in range(8):
        client = siege.client(number)
        for operator in range(300):
            siege.subscribe(client, f"$AVG/{number}/{operator}")


def operator_values(siege: Siege) -> None:
    """Values of ever new topics, for windows and last values that keep one of each."""
    client = siege.client()
    siege.subscribe(client, "$AVG/v/#", "$HOURLYP95/v/#", "$GT;0/v/#")
    for number in range(300):
        client.publish(f"v/{number}/" + "x" * 20_000, "7")
        client.publish("v/one", str(1.1**number))
    client.sink.data = b""


AREA = [("gpl_circleStatic", f"{number};km;1;43.7;10.4;5") for number in range(90)]
POLYGON = "1;km;1;" + ";".join(f"{40 + n / 100:.2f};{10 + n * n / 1e5:.5f}" for n in range(300))


def geo_areas(siege: Siege) -> None:
    for number in range(8):
        client = siege.client(number)
        for filter in range(40):
            siege.subscribe(client, f"{number}/{filter}", user=AREA)


def geo_polygons(siege: Siege) -> None:
    for number in range(8):
        client = siege.client(number)
        for filter in range(10):
            area = [("gpl_polygonStatic", POLYGON + f";43;{10.0 + number}")]
            siege.subscribe(client, f"{number}/{filter}", user=area)


def geo_visitors(siege: Siege) -> None:
    client = siege.client()
    fence = [("gpl_circleStatic", "1;km;1;43.72;10.40;5"), ("gpl_events", "enter,exit,dwell")]
    siege.subscribe(client, "visit/#", user=fence)
    for number in range(300):
        position = [("gpl_current_pos", "43.72;10.40")]
        client.publish(f"visit/{number}/" + "x" * 20_000, user=position)
    client.sink.data = b""


def user_properties(siege: Siege) -> None:
    client = siege.client()
    for number in range(300):
        pairs = [(f"{number}-{pair}", "x" * 300) for pair in range(100)]
        client.publish(f"p/{number}", "x", 1, retain=True, packet_id=number + 1, user=pairs)
    siege.note(client)


def partial_packets(siege: Siege) -> None:
    whole = encode(Publish("t", b"x" * 200_000), V5)
    for number in range(100):
        client = siege.client(number)
        client.send_bytes(whole[:190_000])
        siege.note(client)


def partial_logins(siege: Siege) -> None:
    """Before the login: by address alone, and in 3.1.1, since no CONNECT was read yet."""
    whole = encode(Connect("c", V311, will=Will("t", b"x" * 60_000, 0, False)), V311)
    for _ in range(100):
        client = MemoryClient(siege.target, V311)
        siege.clients.append(client)
        client.send_bytes(whole[:59_000])
        siege.note(client)


def qos_2_never_released(siege: Siege) -> None:
    client = siege.client()
    for packet_id in range(1, 1_200):
        client.send(Publish("t", b"x", 2, False, False, packet_id))
    siege.note(client)


def qos_2_of_311(siege: Siege) -> None:
    """3.1.1 has no Receive Maximum, and 65,535 identifiers."""
    for number in range(6):
        client = siege.client(number, version=V311, clean=False)
        packets = [Publish("t", b"", 2, False, False, packet_id) for packet_id in range(1, 9_000)]
        client.send(*packets)
        client.lose()


def inflight_never_acknowledged(siege: Siege) -> None:
    """A subscriber that takes everything and acknowledges nothing."""
    client = siege.client(expiry=1000, clean=False)
    client.subscribe("flood", qos=1)
    for number in range(400):
        siege.target.writer.publish("flood", "x" * 100_000, 1, packet_id=number + 1)
        client.sink.data = b""


def inflight_by_many(siege: Siege) -> None:
    """Each has messages of its own, and acknowledges none of them."""
    clients = [siege.client(number, expiry=1000, clean=False) for number in range(30)]
    for number, client in enumerate(clients):
        client.subscribe(f"flood/{number}", qos=1)
    for packet_id in range(1, 9):
        for number, client in enumerate(clients):
            siege.target.writer.publish(f"flood/{number}", "x" * 60_000, 1, packet_id=packet_id)
            client.sink.data = b""
    siege.target.writer.sink.data = b""


def queued_by_many(siege: Siege) -> None:
    """Each is away, with messages of its own that wait."""
    for number in range(30):
        client = siege.client(number, version=V311, clean=False)
        client.subscribe(f"flood/{number}", qos=2)
        client.lose()
        siege.clients.pop()
    for packet_id in range(1, 9):
        for number in range(30):
            siege.target.writer.publish(f"flood/{number}", "x" * 60_000, 2, packet_id=packet_id)
    siege.target.writer.sink.data = b""


def slow_reader(siege: Siege) -> None:
    client = siege.client()
    client.subscribe("flood", qos=0)
    client.connection.outbox.blocked = True
    for _ in range(300):
        siege.target.writer.publish("flood", "x" * 100_000)


ROWS = {
    "topics of 64 KiB published once each": Row(topics_once, "routes", None, lasts=True),
    "aliases of maximum size": Row(aliases, "aliases", QUOTA),
    "retained, large": Row(retained, "retained", QUOTA, lasts=True),
    "retained wills": Row(retained_wills, "retained", None, lasts=True),
    "user properties in what is retained": Row(user_properties, "retained", QUOTA, lasts=True),
    "wills of maximum size": Row(wills, "sessions", QUOTA, roomy=()),
    "wills that wait": Row(wills_that_wait, "sessions", QUOTA, lasts=True, roomy=()),
    "random client ids with sessions": Row(sessions, "sessions", QUOTA, lasts=True, roomy=()),
    "sessions of 3.1.1": Row(sessions_311, "sessions", None, lasts=True, roomy=()),
    "client ids of 64 KiB": Row(long_client_ids, "sessions", QUOTA, lasts=True, roomy=()),
    "subscriptions, many": Row(subscriptions_many, "subscriptions", QUOTA),
    "subscriptions, long": Row(subscriptions_long, "subscriptions", QUOTA),
    "subscriptions, deep": Row(subscriptions_deep, "subscriptions", QUOTA),
    "subscriptions that last": Row(subscriptions_lasting, "subscriptions", QUOTA, lasts=True),
    "shared groups with random names": Row(shared_groups, "subscriptions", QUOTA),
    "operator lists": Row(operator_lists, "operators", QUOTA),
    "operator lists, long": Row(operator_lists_long, "operators", reasons.TOPIC_FILTER_INVALID),
    "operators, many": Row(operators_many, "operators", QUOTA),
    "values of operators": Row(operator_values, "operators", None, lasts=True),
    "geo areas, many": Row(geo_areas, "geo", QUOTA),
    "geo areas, large": Row(geo_polygons, "geo", QUOTA),
    "visitors of geo areas": Row(geo_visitors, "geo", None),
    "QoS 2 never released, 3.1.1": Row(qos_2_of_311, "sessions", None, lasts=True, roomy=()),
    "in flight, of many clients": Row(inflight_by_many, "deliveries", None),
    "queued, for many clients": Row(queued_by_many, "deliveries", None, lasts=True),
    "partial packets on many connections": Row(partial_packets, "packets", QUOTA),
    "partial logins on many connections": Row(
        partial_logins, "packets", reasons.SERVER_UNAVAILABLE
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_an_attack_ends_at_its_ceiling(name: str) -> None:
    row = ROWS[name]
    target = Target(roomy=row.roomy)
    before = target.ledger
    account = target.broker.core.ledger.accounts[row.account]
    with growth() as grown:
        siege = Siege(target)
        row.attack(siege)
        target.wait(60.0)  # logins that were refused have timers for so long
        for client in siege.clients:
            client.sink.data = b""
        held = target.ledger
        for table in held:
            if table not in row.roomy:
                assert held[table] <= target.budget, table
        most = sum(held.values()) - sum(before.values())
        assert grown.size <= most + row.slack
        if row.answer is None:
            assert account.refused + account.evicted > 0
        else:
            assert row.answer in siege.answers
        if row.answer == QUOTA:
            assert account.refused > 0
        assert target.serves_others()
        client = target.reader
        while siege.clients:
            siege.clients.pop().lose()
        for _ in range(5):
            target.wait(900.0)
        if not row.lasts:
            assert target.ledger[row.account] <= before[row.account]
            rest = sum(target.ledger.values()) - sum(before.values())
            assert grown.size <= rest + 256 * KIB
    newcomer = target.stranger("newcomer", "203.0.113.1")
    if not row.lasts:
        assert newcomer.connack.reason == 0
    assert target.serves_others()


# Bounded by a limit of each session, not by an account.
SESSION_ROWS: dict[str, tuple[Attack, int]] = {
    "SUBSCRIBE repeated": (subscribe_repeated, 4 * MIB),
    "QoS 2 never released": (qos_2_never_released, 512 * KIB),
    # Eight MiB in flight, each with an encoding of its payload beside it, and a queue of one.
    "inflight never acknowledged": (inflight_never_acknowledged, 20 * MIB),
    "slow reader": (slow_reader, 2 * MIB),
}


@pytest.mark.parametrize("name", SESSION_ROWS)
def test_an_attack_on_one_session_ends_at_its_ceiling(name: str) -> None:
    attack, ceiling = SESSION_ROWS[name]
    target = Target(max_queued_bytes=1 * MIB, max_queued_memory=1 * MIB)
    with growth() as grown:
        siege = Siege(target)
        attack(siege)
        for client in siege.clients:
            client.sink.data = b""
        assert grown.size <= ceiling
        assert target.serves_others()
