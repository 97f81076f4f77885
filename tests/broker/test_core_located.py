"""Located subscriptions and messages in the broker: the paper's scenarios."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.geo.earth import Point
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.wire import reasons
from gossamer.wire.packets import (
    V311,
    Disconnect,
    Pingresp,
    Unsuback,
    Unsubscribe,
    Will,
)
from gossamer.wire.property_codec import encode_properties
from tests.support.earth import azimuths, gone
from tests.support.located import (
    NEAR_OSLO,
    NEAR_PISA,
    OSLO,
    PISA,
    ROUND_ME,
    ROUND_OSLO,
    ROUND_PISA,
    User,
    answer,
    connect_with,
    publish_everywhere,
    with_user,
)
from tests.support.memory import MemoryClient, World, properties


@pytest.fixture
def world() -> World:
    return World()


# The match rule, through the broker ---------------------------------------------------------------

CASES: list[tuple[str, User, list[str]]] = [
    ("no GLP", [], ["pisa", "oslo", "nowhere"]),
    ("other properties", [("colour", "red")], ["pisa", "oslo", "nowhere"]),
    ("an area", [ROUND_PISA], ["pisa", "nowhere"]),
    ("an area and a position elsewhere", [OSLO, ROUND_PISA], ["pisa", "nowhere"]),
    ("two areas", [ROUND_PISA, ROUND_OSLO], ["pisa", "oslo", "nowhere"]),
    ("around me", [OSLO, ROUND_ME], ["oslo", "nowhere"]),
    ("around me, who knows where", [ROUND_ME], ["nowhere"]),
    ("my position", [PISA], ["pisa", "nowhere"]),
    ("an area with a hole", [ROUND_PISA, ("gpl_circleStatic", "9;m;0;43.72;10.4;50")], ["nowhere"]),
]


@pytest.mark.parametrize(("user", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_who_gets_what(world: World, user: User, expected: list[str]) -> None:
    reader = world.client("r")
    assert reader.subscribe("+", user=user) == [0]
    publish_everywhere(world.client("w"))
    assert reader.payloads() == expected


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_about_an_area_reach_those_who_are_there(world: World, qos: int) -> None:
    here, there, follower = (world.client(name) for name in "htf")
    here.subscribe("t", qos=qos, user=[NEAR_PISA])
    there.subscribe("t", qos=qos, user=[OSLO])
    follower.subscribe("t", qos=qos, user=[NEAR_PISA, ("gpl_rectangleDynamic", "1;m;1;50;50")])
    writer = world.client("w")
    writer.publish("t", "storm", qos=qos, user=[OSLO, ROUND_PISA])
    assert [client.payloads() for client in (here, there, follower)] == [["storm"], [], ["storm"]]


def test_plain_clients_get_what_any_broker_gives_them(world: World) -> None:
    old = world.client("old", V311)
    new = world.client("new")
    for client in (old, new):
        client.subscribe("t", qos=1)
    world.client("x").subscribe("t", user=[ROUND_OSLO])
    publish_everywhere(world.client("w"))
    old_writer = world.client("ow", V311)
    old_writer.publish("t", "old", qos=1)
    assert old.payloads() == new.payloads() == ["pisa", "oslo", "nowhere", "old"]


def test_the_glp_travels_on(world: World) -> None:
    located, plain = world.client("l"), world.client("p")
    located.subscribe("t", user=[ROUND_PISA], identifier=5)
    plain.subscribe("t")
    world.client("w").publish("t", "x", user=[PISA, ("a", "b")])
    for client, identifiers in ((located, [5]), (plain, [])):
        (message,) = client.messages()
        assert message.properties is not None
        assert message.properties.user == [PISA, ("a", "b")]
        assert message.properties.subscription_ids == identifiers


def test_dynamic_areas_of_a_message_say_where_they_are(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("t", user=[NEAR_PISA])
    writer = world.client("w")
    writer.publish("position", "", user=[PISA])
    writer.publish("t", "around me", user=[ROUND_ME])
    (message,) = reader.messages()
    assert message.properties is not None
    assert message.properties.user == [ROUND_ME, ("gpl_current_pos", "43.72;10.4")]


def test_no_local_and_own_messages(world: World) -> None:
    client = world.client("c")
    client.subscribe("mine", user=[ROUND_PISA], no_local=True)
    client.subscribe("yours", user=[ROUND_PISA])
    client.publish("mine", "a", user=[PISA])
    client.publish("yours", "b", user=[PISA])
    assert client.payloads() == ["b"]


# Moving -------------------------------------------------------------------------------------------


def by_renewal(client: MemoryClient) -> None:
    client.subscribe("t", user=[OSLO])


def by_publishing(client: MemoryClient) -> None:
    client.publish("elsewhere", "x", user=[OSLO])


def by_the_topic_position(client: MemoryClient) -> None:
    client.publish("position", "", qos=1, user=[OSLO])
    client.take()


def by_ping(client: MemoryClient) -> None:
    client.send_bytes(ping(OSLO))
    assert isinstance(answer(client), Pingresp)


def by_unsubscribing_from_something(client: MemoryClient) -> None:
    client.send(Unsubscribe(2, ["other"], properties(user=[OSLO])))
    client.take()


def ping(*user: tuple[str, str]) -> bytes:
    block = encode_properties(properties(user=list(user)), 12)
    return bytes([0xC0, len(block)]) + block


WAYS = [by_renewal, by_publishing, by_the_topic_position, by_ping, by_unsubscribing_from_something]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("area", [[ROUND_ME], []], ids=["area", "point"])
def test_a_client_moves(world: World, way: Callable[[MemoryClient], None], area: User) -> None:
    reader = world.visitor()
    reader.send_bytes(connect_with("r", PISA, ("gpl_ping", "1")))
    reader.take()
    reader.subscribe("t", user=[PISA, *area])
    writer = world.client("w")
    publish_everywhere(writer)
    assert reader.payloads() == ["pisa", "nowhere"]
    way(reader)
    publish_everywhere(writer)
    assert reader.payloads() == ["oslo", "nowhere"]


def test_the_position_may_come_with_connect(world: World) -> None:
    reader = world.visitor()
    reader.send_bytes(connect_with("r", OSLO))
    reader.take()
    reader.subscribe("t", user=[ROUND_ME])
    publish_everywhere(world.client("w"))
    assert reader.payloads() == ["oslo", "nowhere"]


def test_a_ping_with_a_position_must_be_agreed_upon(world: World) -> None:
    reader = world.client("r")
    reader.send_bytes(ping(PISA))
    packet = answer(reader)
    assert isinstance(packet, Disconnect)
    assert packet.reason == reasons.MALFORMED_PACKET
    assert reader.is_closed


def test_a_bad_ping_moves_nobody_and_is_counted(world: World) -> None:
    reader = world.visitor()
    reader.send_bytes(connect_with("r", PISA, ("gpl_ping", "1")))
    reader.take()
    reader.subscribe("t", user=[ROUND_ME])
    reader.send_bytes(ping(("gpl_current_pos", "91;0")))
    assert isinstance(answer(reader), Pingresp)
    reader.send_bytes(b"\xc0\x00")
    assert isinstance(answer(reader), Pingresp)
    assert world.broker.core.counters.publications_refused == 1
    publish_everywhere(world.client("w"))
    assert reader.payloads() == ["pisa", "nowhere"]


@given(st.lists(st.tuples(azimuths, st.floats(0, 30_000)), min_size=1, max_size=4))
def test_after_any_way_a_client_gets_what_a_new_one_there_gets(
    way: list[tuple[float, float]],
) -> None:
    world = World()
    moved, fresh, writer = (world.client(name) for name in ("m", "f", "w"))
    moved.subscribe("t", user=[PISA, ROUND_ME])
    at = Point(43.72, 10.40)
    for azimuth, distance in way:
        at = gone(at, azimuth, distance)
        moved.publish("position", "", user=[("gpl_current_pos", f"{at.lat!r};{at.lon!r}")])
    fresh.subscribe("t", user=[("gpl_current_pos", f"{at.lat!r};{at.lon!r}"), ROUND_ME])
    for azimuth, distance in way:
        spot = gone(at, azimuth, distance / 4)
        writer.publish("t", "x", user=[("gpl_current_pos", f"{spot.lat!r};{spot.lon!r}")])
    assert len(moved.payloads()) == len(fresh.payloads())


def test_a_position_grows_old(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("t", user=[PISA, ROUND_ME])
    reader.subscribe("u", user=[PISA, ROUND_ME, ROUND_OSLO])
    world.wait(world.settings.position_age + 1)
    writer = world.client("w")
    publish_everywhere(writer)
    assert reader.payloads() == ["nowhere"]
    publish_everywhere(writer, "u")
    assert reader.payloads() == ["oslo", "nowhere"]
    reader.publish("position", "", user=[PISA])
    publish_everywhere(writer)
    assert reader.payloads() == ["pisa", "nowhere"]


# Changing areas -----------------------------------------------------------------------------------


def test_an_area_is_changed_by_its_id_and_the_others_stay(world: World) -> None:
    reader, writer = world.client("r"), world.client("w")
    reader.subscribe("t", user=[ROUND_PISA])
    reader.subscribe("t", user=[ROUND_OSLO])
    publish_everywhere(writer)
    assert reader.payloads() == ["pisa", "oslo", "nowhere"]
    reader.subscribe("t", user=[("gpl_circleStatic", "1;km;0;43.72;10.40;5")])
    publish_everywhere(writer)
    assert reader.payloads() == ["oslo", "nowhere"]
    reader.subscribe("t", user=[("gpl_circleStatic", "2;km;1;43.72;10.40;5")])
    publish_everywhere(writer)
    assert reader.payloads() == ["pisa", "nowhere"]


def test_a_subscription_without_glp_wants_everything_again(world: World) -> None:
    reader, writer = world.client("r"), world.client("w")
    for _ in range(2):
        reader.subscribe("t", user=[ROUND_PISA])
        publish_everywhere(writer)
        assert reader.payloads() == ["pisa", "nowhere"]
        reader.subscribe("t")
        publish_everywhere(writer)
        assert reader.payloads() == ["pisa", "oslo", "nowhere"]
    assert world.broker.core.counters.subscriptions == 1
    assert not world.broker.core.routes.route("t", b"t").audience.taps


def test_full_unsubscription_with_a_position_only(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("t", user=[PISA, ROUND_PISA, ROUND_ME])
    reader.send(Unsubscribe(2, ["t"], properties(user=[OSLO])))
    packet = answer(reader)
    assert isinstance(packet, Unsuback)
    assert packet.reasons == [0]
    publish_everywhere(world.client("w"))
    assert reader.payloads() == []
    assert world.broker.core.counters.subscriptions == 0
    reader.subscribe("t", user=[ROUND_ME])
    publish_everywhere(world.client("w"))
    assert reader.payloads() == ["oslo", "nowhere"]


# What stays ---------------------------------------------------------------------------------------


def test_retained_messages_keep_their_place(world: World) -> None:
    writer = world.client("w")
    writer.publish("t/pisa", "pisa", retain=True, user=[PISA])
    writer.publish("t/oslo", "oslo", retain=True, user=[OSLO])
    writer.publish("t/nowhere", "nowhere", retain=True)
    for name, user, expected in (
        ("a", [ROUND_PISA], ["nowhere", "pisa"]),
        ("b", [NEAR_OSLO, ROUND_ME], ["nowhere", "oslo"]),
        ("c", [], ["nowhere", "oslo", "pisa"]),
    ):
        reader = world.client(name)
        reader.subscribe("t/+", user=user)
        assert sorted(reader.payloads()) == expected


def test_a_session_keeps_its_areas_and_its_position(world: World) -> None:
    reader = world.visitor()
    reader.send_bytes(connect_with("r", expiry=1000))
    reader.take()
    reader.subscribe("t", qos=1, user=[PISA, ROUND_ME])
    reader.lose()
    writer = world.client("w")
    for place in (PISA, OSLO):
        writer.publish("t", place[1], qos=1, user=[place])
    reader = world.visitor()
    reader.send_bytes(connect_with("r", expiry=1000, clean=False))
    assert reader.payloads() == ["43.72;10.40"]
    publish_everywhere(writer)
    assert reader.payloads() == ["pisa", "nowhere"]


def restarted(world: World, journal: MemoryJournal, seconds: float) -> tuple[World, MemoryJournal]:
    world.broker.committed(journal.commit(), world.now)
    next_journal = journal.restarted()
    next_journal.durable = False
    after = World(next_journal)
    after.now = world.now + seconds
    after.broker.restore(next_journal.snapshot, after.now)
    return after, next_journal


@pytest.mark.parametrize("cleanly", [True, False])
def test_areas_position_and_events_survive_a_restart(cleanly: bool) -> None:
    journal = MemoryJournal()
    journal.durable = False
    world = World(journal)
    reader = world.visitor()
    reader.send_bytes(connect_with("r", expiry=100_000))
    reader.take()
    reader.subscribe("t", user=[OSLO, ROUND_ME, ("gpl_events", "enter"), ("gpl_dwell", "5")])
    reader.subscribe("p", user=[OSLO])
    world.wait(100)
    reader.publish("position", "", user=[PISA])
    if cleanly:
        reader.lose()
    after, journal = restarted(world, journal, 10)
    reader = after.visitor()
    reader.send_bytes(connect_with("r", expiry=100_000, clean=False))
    reader.take()
    writer = after.client("w")
    publish_everywhere(writer)
    assert [(m.topic, m.payload[:6]) for m in reader.messages()] == [
        ("t", b"pisa"),
        ("$GEO/enter/t", b'{"even'),
        ("t", b"nowher"),
    ]
    publish_everywhere(writer, "p")
    assert reader.payloads() == ["pisa", "nowhere"]
    later, _ = restarted(after, journal, 4000)
    reader = later.visitor()
    reader.send_bytes(connect_with("r", expiry=100_000, clean=False))
    reader.take()
    publish_everywhere(later.client("w"))
    assert reader.payloads() == ["nowhere"]


def test_an_ended_session_leaves_nothing(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("t", "$share/g/u", user=[PISA, ROUND_ME, ("gpl_events", "enter")])
    world.client("w").publish("t", "x", user=[PISA])
    reader.disconnect()
    locations = world.broker.core.locations
    assert "r" not in locations._clients
    assert not locations._filters
    assert not world.broker.core.routes.route("t", b"t").audience.taps
    assert not world.broker.core.routes.route("u", b"u").audience.groups


def test_the_will_is_about_a_place(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("gone", user=[ROUND_PISA])
    for name, place in (("a", PISA), ("b", OSLO)):
        client = world.client(name, will=Will("gone", name.encode(), 0, False, with_user(place)))
        client.lose()
    assert reader.payloads() == ["a"]


# Shared groups ------------------------------------------------------------------------------------


def test_a_shared_message_goes_to_a_member_that_wants_it(world: World) -> None:
    pisa, oslo, anywhere = (world.client(name) for name in "poa")
    pisa.subscribe("$share/g/t", user=[ROUND_PISA])
    oslo.subscribe("$share/g/t", user=[NEAR_OSLO, ROUND_ME])
    writer = world.client("w")
    for _ in range(3):
        writer.publish("t", "pisa", user=[PISA])
        writer.publish("t", "oslo", user=[OSLO])
    writer.publish("t", "pole", user=[("gpl_current_pos", "90;0")])
    assert pisa.payloads() == ["pisa"] * 3
    assert oslo.payloads() == ["oslo"] * 3
    anywhere.subscribe("$share/g/t")
    writer.publish("t", "pole", user=[("gpl_current_pos", "90;0")])
    assert anywhere.payloads() == ["pole"]
    oslo.publish("position", "", user=[PISA])
    oslo.subscribe("$share/g/t", user=[PISA])
    pisa.unsubscribe("$share/g/t")
    anywhere.unsubscribe("$share/g/t")
    publish_everywhere(writer)
    assert oslo.payloads() == ["pisa", "nowhere"]


# The life cycle of areas --------------------------------------------------------------------------

NO_MORE = ("gpl_circleStatic", "1;km;0;43.72;10.40;5")


def test_a_subscription_that_lost_its_last_area_gets_nothing_by_area(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("t", user=[PISA, ROUND_PISA])
    reader.subscribe("t", user=[NO_MORE])
    writer = world.client("w")
    publish_everywhere(writer)
    assert reader.payloads() == ["nowhere"]
    reader.subscribe("t", user=[OSLO])  # a position brings no area back
    publish_everywhere(writer)
    assert reader.payloads() == ["nowhere"]
    reader.subscribe("t", user=[ROUND_OSLO])
    publish_everywhere(writer)
    assert reader.payloads() == ["oslo", "nowhere"]


def test_it_is_so_after_a_restart_too() -> None:
    journal = MemoryJournal()
    journal.durable = False
    world = World(journal)
    reader = world.client("r", clean=False, expiry=3600)
    reader.subscribe("t", user=[PISA, ROUND_PISA])
    reader.subscribe("t", user=[NO_MORE])
    world, _ = restarted(world, journal, 10)
    reader = world.client("r", clean=False, expiry=3600)
    publish_everywhere(world.client("w"))
    assert reader.payloads() == ["nowhere"]
