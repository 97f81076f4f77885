"""Whatever clients do, in any order: when they have gone and taken theirs back, nothing is owed.

And while they are there, each account is the sum of what its table holds: shares and total agree.
"""

import random
from typing import Any

import pytest

from gossamer.net.rule_file import RulePermissions, parse_rules
from gossamer.wire import reasons
from gossamer.wire.packets import V5, V311, Will
from tests.support.attacks import KIB, MIB, Target
from tests.support.memory import MemoryClient

STEPS = 600
RULES = "[[rule]]\npublish = ['#']\nsubscribe = ['#', '$SYS/#']\n"
TOPICS = [
    "a",
    "a/b",
    "a/b/c",
    "a/b/c/d/e/f",
    "b/" + "x" * 2_000,
    "é/" + "ü" * 500,
    "😀/x",
    "a/" + "y/" * 60 + "z",
    "a/" + "y/" * 60 + "w",
]
FILTERS = [
    *TOPICS,
    "#",
    "+/b",
    "a/#",
    "a/+/c",
    "$share/g/a/b",
    "$share/h/a/#",
    "$AVG/a/b",
    "$AVG/a;b;c/y/y/y/d;e",
    "$GT;3/a/#",
    "$HOURLYP95/#",
    "$share/g/$AVG/a/b",
]
AREAS = [
    [("gpl_circleStatic", "1;km;1;43.72;10.40;5"), ("gpl_events", "enter,exit")],
    [("gpl_circleDynamic", "2;km;1;5"), ("gpl_current_pos", "43.72;10.40")],
    [("gpl_polygonStatic", "1;km;1;43;10;44;10;44;11")],
]
PLACES = [[("gpl_current_pos", "43.72;10.40")], [("gpl_current_pos", "59.9;10.7")]]


class Crowd:
    def __init__(self, seed: int, budget: int) -> None:
        self.random = random.Random(seed)
        self.target = Target(budget)
        self.clients: dict[str, MemoryClient] = {}
        self.names = [f"c{number}" for number in range(6)]

    def step(self) -> None:
        draw = self.random
        name = draw.choice(self.names)
        client = self.clients.get(name)
        if client is not None and client.is_closed:
            del self.clients[name]
            client = None
        if client is None:
            self.come(name)
            return
        getattr(self, draw.choice(("publish", "retain", "subscribe", "unsubscribe", "leave")))(
            name, client
        )
        client.sink.data = b""

    def come(self, name: str) -> None:
        draw = self.random
        version = draw.choice((V311, V5))
        options: dict[str, object] = {"clean": draw.random() < 0.5}
        if draw.random() < 0.5:
            options["will"] = Will(draw.choice(TOPICS), b"w" * 300, 0, draw.random() < 0.5)
        if version == V5:
            options["expiry"] = draw.choice((0, 100, 5_000))
            options["topic_alias_maximum"] = draw.choice((None, 5))
        user = {"c0": "ann", "c1": "ann", "c2": "bob"}.get(name)
        address = f"192.0.2.{draw.randrange(3)}"
        client = self.target.stranger(name, address, version, user=user, **options)
        if client.connack.reason == reasons.SUCCESS:
            self.clients[name] = client

    def publish(self, name: str, client: MemoryClient) -> None:
        draw = self.random
        more: dict[str, Any] = {}
        if client.version == V5 and draw.random() < 0.4:
            more["topic_alias"] = draw.randrange(1, 6)
        if client.version == V5 and draw.random() < 0.4:
            more["user"] = draw.choice(PLACES)
        qos = draw.randrange(3)
        client.publish(draw.choice(TOPICS), str(draw.randrange(100)), qos, packet_id=7, **more)

    def retain(self, name: str, client: MemoryClient) -> None:
        draw = self.random
        payload = draw.choice(("", "x", "x" * 5_000))
        client.publish(draw.choice(TOPICS), payload, retain=True)

    def subscribe(self, name: str, client: MemoryClient) -> None:
        draw = self.random
        user = draw.choice(AREAS) if client.version == V5 and draw.random() < 0.3 else None
        client.subscribe(draw.choice(FILTERS), qos=draw.randrange(3), user=user)

    def unsubscribe(self, name: str, client: MemoryClient) -> None:
        client.unsubscribe(self.random.choice(FILTERS))

    def leave(self, name: str, client: MemoryClient) -> None:
        if self.random.random() < 0.5:
            client.disconnect()
        else:
            client.lose()
        del self.clients[name]
        if self.random.random() < 0.3:
            self.target.wait(self.random.choice((1.0, 200.0)))

    def check(self) -> None:
        for account in self.target.broker.core.ledger.accounts.values():
            assert account.held >= 0, account.name
            for shares in (account.clients, account.users, account.addresses):
                assert all(held > 0 for held in shares.values()), account.name

    def end(self) -> None:
        """Everybody goes for good, and what they left is removed."""
        for client in self.clients.values():
            client.lose()
        for name in self.names:
            self.target.broker.disconnect(name, self.target.now, discard=True)
        for topic in TOPICS:
            self.target.writer.publish(topic, "", retain=True)
        for _ in range(6):
            self.target.wait(3_600.0)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("budget", [48 * KIB, 2 * MIB])
def test_nothing_is_owed_when_everybody_has_gone(seed: int, budget: int) -> None:
    crowd = Crowd(seed, budget)
    if seed % 2:
        crowd.target.broker.set_permissions(RulePermissions(parse_rules(RULES)), 0.0)
    before = crowd.target.ledger
    for _ in range(STEPS):
        crowd.step()
        crowd.check()
    crowd.end()
    crowd.check()
    after = crowd.target.ledger
    for table in after:
        if table not in ("routes", "grants"):  # caches, which stay
            assert after[table] == before[table], (seed, table)
    strangers = {"c0", "c1", "c2", "c3", "c4", "c5"}
    for account in crowd.target.broker.core.ledger.accounts.values():
        assert not strangers & set(account.clients), (seed, account.name)
        assert not set(account.users) - {"bystander"}, (seed, account.name)
    routes = crowd.target.broker.core.routes
    sizes = [route.size for route in routes._routes.values()]
    branches = [branch.size for branch in routes._branches.values()]
    audiences = [audience.size for audience in routes.audiences._by_key.values()]
    assert after["routes"] == sum(sizes) + sum(branches) + sum(audiences)


def test_those_who_hold_much_leave_room_for_those_who_hold_little() -> None:
    """From however many addresses they come."""
    target = Target()
    greedy = [target.stranger(f"greedy-{n}", f"192.0.2.{n}") for n in range(12)]
    for number, client in enumerate(greedy):
        for more in range(20):
            client.subscribe(f"{number}/{more}/" + "x" * 20_000)
            client.publish(f"{number}/{more}", "z" * 20_000, retain=True)
    ledger = target.broker.core.ledger
    for account in (ledger.subscriptions, ledger.retained):
        assert account.held >= account.budget * 3 // 4
    modest = target.stranger("modest", "198.51.100.1")
    assert modest.subscribe("m/#", "n/+/o", qos=1) == [1, 1]
    modest.publish("m/1", "kept", 1, retain=True, topic_alias=1)
    assert [message.payload for message in modest.messages()] == [b"kept"]
    assert not modest.is_closed
    assert target.broker.core.retained.has("m/1")
