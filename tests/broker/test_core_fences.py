"""Fence events through the broker, and positions that not everybody may see."""

import json

import pytest

from gossamer.broker.policy import Permissions
from gossamer.session.identity import Identity
from gossamer.wire.packets import Will
from gossamer.wire.properties import Properties
from tests.support.memory import MemoryClient, World

User = list[tuple[str, str]]

YARD = ("gpl_circleStatic", "1;m;1;45;7;100")
ALL = ("gpl_events", "enter,exit,dwell")
INSIDE = "45.0005;7"  # 56 m from the centre
AT_EDGE = "45.00095;7"  # 106 m
OUTSIDE = "45.01;7"


@pytest.fixture
def world() -> World:
    return World()


def drive(van: MemoryClient, at: str, topic: str = "fleet/van", qos: int = 1) -> None:
    van.publish(topic, "", qos=qos, user=[("gpl_current_pos", at)])
    van.take()


def events(client: MemoryClient) -> list[str]:
    """The events that arrived, checked, as `name topic`."""
    found: list[str] = []
    for message in client.messages():
        if message.topic.startswith("$GEO/"):
            told = json.loads(message.payload)
            assert message.topic == f"$GEO/{told['event']}/{told['topic']}"
            assert message.properties is not None
            place = f"{told['lat']!r};{told['lon']!r}"
            assert ("gpl_current_pos", place) in message.properties.user
            found.append(f"{told['event']} {told['client']}")
    return found


def test_a_visit_is_told(world: World) -> None:
    guard, van = world.client("guard"), world.client("van")
    guard.subscribe("fleet/+", qos=1, user=[YARD, ALL])
    drive(van, OUTSIDE)
    assert events(guard) == []
    drive(van, INSIDE)
    assert events(guard) == ["enter van"]
    for at in (AT_EDGE, INSIDE, AT_EDGE):
        drive(van, at)
    assert events(guard) == []
    world.wait(world.settings.fence_dwell + 1)
    assert events(guard) == ["dwell van"]
    drive(van, OUTSIDE)
    assert events(guard) == ["exit van"]


def test_messages_come_beside_their_events(world: World) -> None:
    guard, van = world.client("guard"), world.client("van")
    guard.subscribe("fleet/+", qos=2, user=[YARD, ALL], identifier=9)
    van.publish("fleet/van", "hello", qos=1, user=[("gpl_current_pos", INSIDE)])
    first, second = guard.messages()
    assert (first.topic, first.payload, first.qos) == ("fleet/van", b"hello", 1)
    assert (second.topic, second.qos) == ("$GEO/enter/fleet/van", 2)
    assert second.properties is not None
    assert second.properties.subscription_ids == [9]


def test_a_subscription_may_choose(world: World) -> None:
    guard, van = world.client("guard"), world.client("van")
    wanted = [("gpl_events", "dwell,exit"), ("gpl_dwell", "5"), ("gpl_hysteresis", "1;km")]
    guard.subscribe("fleet/+", user=[YARD, *wanted])
    drive(van, INSIDE)
    world.wait(6)
    assert events(guard) == ["dwell van"]
    drive(van, "45.009;7")
    assert events(guard) == []
    drive(van, "45.02;7")
    assert events(guard) == ["exit van"]


def test_visitors_are_told_apart(world: World) -> None:
    guard, van, car = world.client("guard"), world.client("van"), world.client("car")
    guard.subscribe("fleet/+", user=[YARD, ALL])
    drive(van, INSIDE)
    drive(car, INSIDE, "fleet/car")
    drive(van, OUTSIDE)
    assert events(guard) == ["enter van", "enter car", "exit van"]


def test_a_renewed_subscription_does_not_see_everybody_enter_again(world: World) -> None:
    guard, van = world.client("guard"), world.client("van")
    guard.subscribe("fleet/+", user=[YARD, ALL])
    drive(van, INSIDE)
    guard.subscribe("fleet/+", user=[("gpl_current_pos", "10;10")])
    drive(van, INSIDE)
    assert events(guard) == ["enter van"]
    guard.subscribe("fleet/+", user=[("gpl_circleStatic", "1;m;1;46;7;100")])
    drive(van, INSIDE)
    assert events(guard) == ["exit van"]


def test_messages_about_areas_and_without_positions_tell_nothing(world: World) -> None:
    guard, van = world.client("guard"), world.client("van")
    guard.subscribe("fleet/+", user=[YARD, ALL])
    van.publish("fleet/van", "area", user=[YARD])
    van.publish("fleet/van", "nothing")
    assert [message.topic for message in guard.messages()] == ["fleet/van", "fleet/van"]


def test_nobody_publishes_events_but_the_broker(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("$GEO/#")
    world.client("w").publish("$GEO/enter/x", "x", qos=1)
    assert reader.payloads() == []


# Who sees whose position --------------------------------------------------------------------------


class Guarded(Permissions):
    """Only `boss` sees where others are; nobody reads what is secret."""

    def __init__(self) -> None:
        super().__init__()
        self.restricts = True
        self.guards_positions = True

    def may_locate(self, client: Identity, user: str) -> bool:
        return client.user == "boss"

    def may_receive(self, client: Identity, topic: str) -> bool:
        return topic != "fleet/secret" and not topic.startswith("$")


@pytest.fixture
def guarded(world: World) -> World:
    world.broker.set_permissions(Guarded(), world.now)
    return world


def seen(client: MemoryClient) -> list[tuple[str, User]]:
    return [
        (message.payload.decode(), message.properties.user if message.properties else [])
        for message in client.messages()
        if not message.topic.startswith("$GEO/")
    ]


HERE = ("gpl_current_pos", INSIDE)
AWAY = ("gpl_current_pos", OUTSIDE)


@pytest.mark.parametrize("retain", [False, True])
def test_who_may_not_see_gets_everything_without_its_place(guarded: World, retain: bool) -> None:
    users = {"boss": "boss", "plain": "ann", "located": "bob"}
    readers = {name: MemoryClient(guarded, 5) for name in users}
    for name, reader in readers.items():
        reader.connect(name, user=None)
        guarded.broker.core.sessions[name].identity.user = users[name]
        reader.subscribe("fleet/+", user=[] if name == "plain" else [YARD, ALL])
    writer = guarded.client("w")
    for place, payload in ((HERE, "here"), (AWAY, "away")):
        writer.publish("fleet/w", payload, retain=retain, user=[place, ("a", "b")])
    assert seen(readers["boss"]) == [("here", [HERE, ("a", "b")])]
    without = [("here", [("a", "b")]), ("away", [("a", "b")])]
    assert seen(readers["plain"]) == without
    assert seen(readers["located"]) == without
    late = MemoryClient(guarded, 5)
    late.connect("late")
    late.subscribe("fleet/+", user=[YARD])
    assert seen(late) == (without[1:] if retain else [])


def test_events_are_for_those_who_may_see(guarded: World) -> None:
    boss, other, van = (guarded.client(name) for name in ("boss", "other", "van"))
    guarded.broker.core.sessions["boss"].identity.user = "boss"
    for client in (boss, other):
        client.subscribe("fleet/+", user=[YARD, ALL])
    drive(van, INSIDE)
    drive(van, INSIDE, "fleet/secret")
    assert events(boss) == ["enter van"]
    assert events(other) == []


def test_operators_and_groups_do_not_leak_positions(guarded: World) -> None:
    counter, member = guarded.client("counter"), guarded.client("member")
    counter.subscribe("$GT;0/fleet/+")
    member.subscribe("$share/g/fleet/+", user=[("gpl_circleStatic", "1;m;1;0;0;5")])
    guarded.client("w").publish("fleet/w", "1", user=[HERE])
    assert seen(counter) == [("1", [])]
    assert seen(member) == [("1", [])]


def test_a_will_does_not_tell_where_its_client_was(guarded: World) -> None:
    reader = guarded.client("r")
    reader.subscribe("gone")
    left = Properties()
    left.user = [HERE]
    guarded.client("w", will=Will("gone", b"bye", 0, False, left)).lose()
    assert seen(reader) == [("bye", [])]


def test_events_that_wait_are_judged_by_the_topic_they_tell_of(guarded: World) -> None:
    boss, van = MemoryClient(guarded, 5), guarded.client("van")
    boss.connect("boss", expiry=1000)
    guarded.broker.core.sessions["boss"].identity.user = "boss"
    boss.subscribe("fleet/+", qos=1, user=[YARD, ALL])
    boss.lose()
    drive(van, INSIDE)
    again = MemoryClient(guarded, 5)
    again.connect("boss", clean=False, expiry=1000)
    assert events(again) == ["enter van"]


def test_one_sees_ones_own_position(guarded: World) -> None:
    client = guarded.client("c")
    client.subscribe("t", user=[YARD])
    client.publish("t", "x", user=[HERE])
    client.publish("t", "y", user=[AWAY])
    assert seen(client) == [("x", [HERE])]


def test_events_say_how_fast_and_where_to(world: World) -> None:
    guard, van = world.client("guard"), world.client("van")
    guard.subscribe("fleet/+", user=[YARD, ("gpl_events", "enter,exit"), ("gpl_dwell", "30")])
    told = []
    for lat in ("45.01", "45.0005", "45.0004", "45.01"):
        drive(van, f"{lat};7")
        world.wait(100)
        for message in guard.messages():
            if message.topic.startswith("$GEO/"):
                event = json.loads(message.payload)
                told.append((event["event"], event.get("speed"), event.get("heading")))
    assert told == [("enter", 10.56, 180.0), ("exit", 10.67, 0.0)]
    guard.unsubscribe("fleet/+")
    assert world.broker.core.ledger.geo.held == 0


def test_a_time_to_stay_alone_asks_for_who_stays(world: World) -> None:
    guard, van = world.client("guard"), world.client("van")
    guard.subscribe("fleet/+", user=[YARD, ("gpl_dwell", "600")])
    drive(van, INSIDE)
    world.wait(599)
    assert [message.topic for message in guard.messages()] == ["fleet/van"]
    world.wait(2)
    assert [message.topic for message in guard.messages()] == ["$GEO/dwell/fleet/van"]
