"""Places by name: kept by the broker, versioned, and followed by whoever names them."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.broker.named_areas import (
    ADMINISTRATOR,
    CONFIGURATION,
    FOLLOWED_AT_ONCE,
    MAX_PLACE_BYTES,
    PlaceError,
)
from gossamer.session.message import Message
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.wire import reasons
from gossamer.wire.packets import V311, Acknowledgement, Request, Suback, Subscribe
from tests.support.located import NEAR_PISA, OSLO, PISA, ROUND_PISA, answer, publish_everywhere
from tests.support.memory import MemoryClient, World, properties

YARD = ("gpl_area", "yard")
NO_YARD = ("gpl_area", "yard;0")
TOPIC = "site/places"


@pytest.fixture
def world() -> World:
    return World()


def box(lat: float, lon: float, half: float = 0.1) -> str:
    south, north, west, east = lat - half, lat + half, lon - half, lon + half
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return json.dumps({"type": "Polygon", "coordinates": [ring]})


AT_PISA = box(43.72, 10.4)
AT_OSLO = box(59.91, 10.75)


def put(world: World, text: str, name: str = "yard") -> None:
    world.broker.core.places.put(name, text, ADMINISTRATOR, world.now)
    world.broker.flush(world.now)


def remove(world: World, name: str = "yard") -> None:
    assert world.broker.core.places.remove(name, world.now)
    world.broker.flush(world.now)


def received(client: MemoryClient) -> list[tuple[str, str]]:
    return [(message.topic, message.payload.decode()) for message in client.messages()]


# What follows -------------------------------------------------------------------------------------


def test_a_subscription_follows_the_place_that_it_names(world: World) -> None:
    put(world, AT_PISA)
    reader, writer = world.client("r"), world.client("w")
    assert reader.subscribe("t", user=[YARD]) == [0]
    publish_everywhere(writer)
    assert reader.payloads() == ["pisa", "nowhere"]
    put(world, AT_OSLO)
    publish_everywhere(writer)
    assert reader.payloads() == ["oslo", "nowhere"]
    remove(world)  # it is nowhere then, and never the rest of the world
    publish_everywhere(writer)
    assert reader.payloads() == ["nowhere"]
    put(world, AT_PISA)
    publish_everywhere(writer)
    assert reader.payloads() == ["pisa", "nowhere"]


def test_a_name_may_exclude_and_be_removed(world: World) -> None:
    put(world, box(43.72, 10.4, 0.0001))
    reader, writer = world.client("r"), world.client("w")
    reader.subscribe("t", user=[ROUND_PISA, NO_YARD])
    for where in (PISA, NEAR_PISA):
        writer.publish("t", where[1], user=[where])
    assert reader.payloads() == [NEAR_PISA[1]]
    reader.subscribe("t", user=[YARD])  # included instead
    reader.subscribe("t", user=[("gpl_circleStatic", "1;km;0;43.72;10.40;5")])
    for where in (PISA, NEAR_PISA):
        writer.publish("t", where[1], user=[where])
    assert reader.payloads() == [PISA[1]]
    reader.subscribe("t", user=[NO_YARD])
    writer.publish("t", "x", user=[PISA])
    assert reader.payloads() == []
    assert world.broker.core.places.followers == {}


def test_messages_speak_of_places_by_name_too(world: World) -> None:
    put(world, AT_PISA)
    here, there, writer = world.client("here"), world.client("there"), world.client("w")
    here.subscribe("t", user=[NEAR_PISA])
    there.subscribe("t", user=[OSLO])
    writer.publish("t", "storm", user=[YARD])
    assert (here.payloads(), there.payloads()) == (["storm"], [])
    writer.publish("t", "kept", user=[YARD], retain=True)
    put(world, AT_OSLO)
    late = world.client("late")
    late.subscribe("t", user=[OSLO])
    assert late.payloads() == ["kept"]


@pytest.mark.parametrize("filter", ["$SUM/+/v", "$GT;0/+/v", "$SUM$HOURLYSUM/+/v"])
def test_operators_follow_places(world: World, filter: str) -> None:
    world.now = 36_000.0
    put(world, AT_PISA)
    one, two, writer = world.client("one"), world.client("two"), world.client("w")
    for reader in (one, two):
        reader.subscribe(filter, user=[YARD])
    assert len(world.broker.core.operators.operations) == 1
    writer.publish("a/v", "1", user=[PISA])
    writer.publish("b/v", "2", user=[OSLO])
    put(world, AT_OSLO)
    writer.publish("c/v", "4", user=[OSLO])
    writer.publish("c/v", "8", user=[PISA])
    world.wait(3600.0)
    expected = {
        "$SUM/+/v": ["1.0", "2.0", "6.0", "2.0"],
        "$GT;0/+/v": ["1", "4"],
        "$SUM$HOURLYSUM/+/v": ["5.0"],
    }[filter]
    for reader in (one, two):
        assert [payload for _, payload in received(reader)] == expected


def test_whoever_is_inside_has_not_entered_again(world: World) -> None:
    put(world, AT_PISA)
    guard, van = world.client("guard"), world.client("van")
    guard.subscribe("fleet/+", user=[YARD, ("gpl_events", "enter,exit")])
    van.publish("fleet/van", "1", user=[PISA])
    guard.take()
    put(world, box(43.72, 10.4, 0.05))
    van.publish("fleet/van", "2", user=[PISA])
    assert [topic for topic, _ in received(guard)] == ["fleet/van"]
    put(world, AT_OSLO)
    van.publish("fleet/van", "3", user=[PISA])
    assert [topic for topic, _ in received(guard)] == ["$GEO/exit/fleet/van"]


def test_shared_subscriptions_follow_too(world: World) -> None:
    put(world, AT_PISA)
    reader, writer = world.client("r"), world.client("w")
    reader.subscribe("$share/g/t", user=[YARD])
    put(world, AT_OSLO)
    publish_everywhere(writer)
    assert reader.payloads() == ["oslo", "nowhere"]


def test_many_follow_in_turns(world: World) -> None:
    put(world, AT_PISA)
    reader, writer = world.client("r"), world.client("w")
    many = 2 * FOLLOWED_AT_ONCE + 1
    for number in range(many):
        reader.subscribe(f"t/{number}", user=[YARD])
    world.broker.core.places.put("yard", AT_OSLO, ADMINISTRATOR, world.now)
    turns = 0
    while world.broker.has_more():
        world.broker.go_on(world.now)
        turns += 1
    assert turns == 3
    for number in range(many):
        writer.publish(f"t/{number}", "x", user=[OSLO])
    assert len(reader.messages()) == many


def test_those_who_left_meanwhile_are_left_alone(world: World) -> None:
    put(world, AT_PISA)
    stays, goes = world.client("stays"), world.client("goes")
    for client in (stays, goes):
        client.subscribe("t", "$SUM/+/t", user=[YARD])
    world.broker.core.places.put("yard", AT_OSLO, ADMINISTRATOR, world.now)
    goes.disconnect()
    publish_everywhere(world.client("w"))
    assert stays.payloads() == ["oslo", "nowhere"]
    stays.disconnect()
    world.wait(400.0)
    world.wait(400.0)
    assert world.broker.core.places.followers == {}
    remove(world)
    assert world.broker.core.ledger.geo.held == 0


# Where they come from -----------------------------------------------------------------------------


def test_versions_count_changes_and_not_repetitions(world: World) -> None:
    places = world.broker.core.places
    for text, version in ((AT_PISA, 1), (AT_PISA, 1), (AT_OSLO, 2), (AT_PISA, 3)):
        put(world, text)
        assert places.areas["yard"].version == version
    remove(world)
    put(world, AT_PISA)
    assert places.areas["yard"].version == 1
    assert places.areas["yard"].changed_at == world.now


def test_the_configuration_is_what_it_says_after_each_reload(world: World) -> None:
    places = world.broker.core.places

    def configure(**named: str) -> dict[str, str]:
        world.broker.set_places(named, "", "b1", world.now)
        return {name: known.source for name, known in places.areas.items()}

    put(world, AT_OSLO, "gate")
    assert configure(yard=AT_PISA, dock=AT_OSLO) == {
        "gate": ADMINISTRATOR,
        "yard": CONFIGURATION,
        "dock": CONFIGURATION,
    }
    put(world, AT_OSLO)  # an administrator changes it, until the next reload
    configure(yard=AT_PISA)
    assert places.areas["yard"].text == json.dumps(json.loads(AT_PISA), separators=(",", ":"))
    assert configure() == {"gate": ADMINISTRATOR}
    world.broker.set_places({}, "", "b2", world.now)
    assert set(places.areas) == {"gate"}


def with_topic(world: World) -> None:
    world.broker.set_places({}, TOPIC, "", world.now)


def test_retained_geojson_on_a_topic_is_a_place(world: World) -> None:
    with_topic(world)
    reader, writer = world.client("r"), world.client("w")
    writer.publish(f"{TOPIC}/yard", AT_PISA, retain=True)
    assert reader.subscribe("t", user=[YARD]) == [0]
    writer.publish(f"{TOPIC}/yard", AT_OSLO, retain=True)
    writer.publish(f"{TOPIC}/yard", AT_PISA)  # not retained: it is a message as any other
    publish_everywhere(writer)
    assert reader.payloads() == ["oslo", "nowhere"]
    writer.publish(f"{TOPIC}/yard", "", retain=True)
    publish_everywhere(writer)
    assert reader.payloads() == ["nowhere"]


def test_what_was_retained_before_counts(world: World) -> None:
    writer = world.client("w")
    writer.publish(f"{TOPIC}/yard", AT_PISA, retain=True)
    writer.publish(f"{TOPIC}/bad", "{", retain=True)
    with_topic(world)
    assert list(world.broker.core.places.areas) == ["yard"]
    assert world.broker.core.places.ignored == 1


FEATURES = json.dumps(
    {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "properties": {}, "geometry": json.loads(AT_PISA)},
            {"type": "Feature", "properties": {}, "geometry": json.loads(AT_OSLO)},
        ],
    }
)

BAD: list[tuple[str, str, str]] = [
    ("yard", "{", "not GeoJSON"),
    ("yard", "[" * 100_000, "more than"),
    ("yard", "[" * 60_000, "not GeoJSON"),
    ("yard", '{"type":"Point","coordinates":[1,2]}', "no Polygon"),
    ("yard", '{"type":"FeatureCollection","features":5}', "not GeoJSON"),
    ("yard", '{"type":"Polygon","coordinates":null}', "is not a list"),
    ("yard", '{"type":"Polygon","coordinates":[[[0,0],[1,1],[0,1],[1,0],[0,0]]]}', "crosses"),
    ("yard", " " * (MAX_PLACE_BYTES + 1), "more than"),
    ("a;b", AT_PISA, "name 'a;b'"),
    ("$x", AT_PISA, "name '$x'"),
    ("x" * 65, AT_PISA, "1 to 64"),
    ("", AT_PISA, "name ''"),
]


@pytest.mark.parametrize(("name", "text", "words"), BAD, ids=range(len(BAD)))
def test_what_is_no_place_is_refused_with_words(
    world: World, name: str, text: str, words: str
) -> None:
    with pytest.raises(PlaceError, match=words.replace("$", "\\$")):
        put(world, text, name)
    assert world.broker.core.places.areas == {}


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_client_is_told_that_its_geojson_is_none(world: World, qos: int) -> None:
    with_topic(world)
    writer = world.client("w")
    writer.publish(f"{TOPIC}/yard", "{", qos=qos, retain=True)
    if qos:
        packet = writer.take()[0]
        assert isinstance(packet, Acknowledgement)
        assert packet.reason == reasons.PAYLOAD_FORMAT_INVALID
        assert packet.properties is not None
        assert packet.properties.reason_string == "not GeoJSON"
    assert world.broker.core.counters.publications_refused == 1
    assert world.broker.core.retained.get(f"{TOPIC}/yard") is None
    old = world.client("old", V311)
    old.publish(f"{TOPIC}/yard", "{", qos=qos, retain=True)
    assert not world.broker.core.places.areas


def test_all_areas_of_a_collection_are_the_place(world: World) -> None:
    put(world, FEATURES)
    reader = world.client("r")
    reader.subscribe("t", user=[YARD])
    publish_everywhere(world.client("w"))
    assert reader.payloads() == ["pisa", "oslo", "nowhere"]


def test_a_place_that_is_not_there_is_named_in_the_refusal(world: World) -> None:
    client = world.client("c")
    client.send(Subscribe(1, [Request("t")], properties(user=[YARD])))
    packet = answer(client)
    assert isinstance(packet, Suback)
    assert packet.reasons == [reasons.IMPLEMENTATION_SPECIFIC_ERROR]
    assert packet.properties is not None
    assert "'yard': there is no such place here" in (packet.properties.reason_string or "")
    client.publish("t", "x", qos=1, user=[YARD])
    refused = answer(client)
    assert isinstance(refused, Acknowledgement)
    assert refused.reason == reasons.IMPLEMENTATION_SPECIFIC_ERROR


@pytest.mark.parametrize(
    "payload",
    [b"", b"{}", b"[]", b"\xff", b'{"version":1e999,"changed_at":0,"source":"","by":"","area":{}}'],
)
def test_what_a_neighbour_says_wrongly_is_ignored(world: World, payload: bytes) -> None:
    put(world, AT_PISA)
    places = world.broker.core.places
    topic = "$mesh/places/gate"
    world.broker.core.shared.keep(
        Message(topic, payload, 1, True, None, 0.0, "", ""),
        Message(topic, payload, 1, True, None, 0.0, "", ""),
    )
    places.take(Message(topic, payload, 1, True, None, 0.0, "", ""), None, world.now)
    assert list(places.areas) == ["yard"]
    assert places.ignored == (1 if payload else 0)


def test_places_take_room_that_is_bounded(world: World) -> None:
    account = world.broker.core.ledger.geo
    account.budget = 20_000
    number = 0
    while not account.refused:
        with contextlib.suppress(PlaceError):
            put(world, AT_PISA, f"p{number}")
        number += 1
    assert 2 < len(world.broker.core.places.areas) < 20
    assert account.held <= account.budget
    assert account.refused == 1
    for name in list(world.broker.core.places.areas):
        remove(world, name)
    assert account.held == 0


def test_places_and_those_who_name_them_outlast_a_restart() -> None:
    journal = MemoryJournal()
    journal.durable = False
    world = World(journal)
    put(world, AT_PISA)
    put(world, AT_OSLO, "gone")
    reader = world.client("r", clean=False, expiry=100_000)
    reader.subscribe("t", user=[YARD])
    reader.subscribe("u", user=[("gpl_area", "gone")])
    remove(world, "gone")
    reader.lose()
    world.broker.committed(journal.commit(), world.now)
    next_journal = journal.restarted()
    next_journal.durable = False
    after = World(next_journal)
    after.now = world.now + 10
    after.broker.restore(next_journal.snapshot, after.now)
    assert after.broker.core.places.areas["yard"].version == 1
    writer = after.client("w")
    for topic in "tu":
        publish_everywhere(writer, topic)
    put(after, AT_OSLO, "gone")
    publish_everywhere(writer, "u")
    reader = after.client("r", clean=False, expiry=100_000)
    assert reader.payloads() == []  # of QoS 0 nothing waited
    for topic in "tu":
        publish_everywhere(writer, topic)
    assert reader.payloads() == ["pisa", "nowhere", "oslo", "nowhere"]


# Against a referee --------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b"])
BOXES = {"pisa": AT_PISA, "oslo": AT_OSLO}
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES, st.sampled_from(["pisa", "oslo"])),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("subscribe"), NAMES, st.booleans()),
    st.tuples(st.just("plain")),
)


@settings(deadline=None)
@given(st.lists(STEPS, max_size=20))
def test_as_a_naive_model_has_it(steps: list[tuple[object, ...]]) -> None:
    world = World()
    reader, writer = world.client("r"), world.client("w")
    places: dict[str, str] = {}
    named: dict[str, bool] | None = None  # in order; None for a plain subscription
    reader.subscribe("t")
    for step in steps:
        match step:
            case ("put", str(name), str(where)):
                put(world, BOXES[where], name)
                places[name] = where
            case ("remove", str(name)):
                if places.pop(name, None) is not None:
                    remove(world, name)
            case ("subscribe", str(name), bool(add)):
                answered = reader.subscribe("t", user=[("gpl_area", f"{name};{int(add)}")])
                refused = add and name not in places
                assert answered == [reasons.IMPLEMENTATION_SPECIFIC_ERROR if refused else 0]
                if not refused:
                    named = {} if named is None else named
                    if named.get(name) and not add:
                        del named[name]
                    else:
                        named[name] = add
            case _:
                reader.subscribe("t")
                named = None
        publish_everywhere(writer)
        assert reader.payloads() == [
            town
            for town in ("pisa", "oslo", "nowhere")
            if town == "nowhere"
            or named is None
            or next(
                (add for name, add in reversed(named.items()) if places.get(name) == town), False
            )
        ], step
