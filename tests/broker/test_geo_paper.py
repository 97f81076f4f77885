"""Every printed example of *Towards an MQTT5 geo-location extension for location-aware
applications* (Ihirwe, Iovino, Di Ruscio, 2021), by its name in the paper, through the broker.

Where the paper contradicts itself, what holds is said beside the example.
"""

import pytest

from gossamer.geo.earth import Point
from gossamer.wire.packets import (
    V311,
    Pingresp,
    Publish,
    Request,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
)
from gossamer.wire.property_codec import encode_properties
from tests.support.earth import gone
from tests.support.located import User, answer, connect_with
from tests.support.memory import MemoryClient, World, properties

O0 = Point(43.7200, 10.4000)  # where the client of section III-E is
O3 = gone(O0, 90, 20_000)
O4 = gone(O0, 0, 20_000)
A1, B1 = gone(O0, 180, 20_000), gone(gone(O0, 180, 20_000), 90, 3_000)
A2 = gone(O0, 270, 20_000)
B2, C2 = gone(A2, 0, 2_000), gone(gone(A2, 0, 2_000), 270, 2_000)


def text(point: Point) -> str:
    return f"{point.lat!r};{point.lon!r}"


def here(point: Point) -> tuple[str, str]:
    return "gpl_current_pos", text(point)


@pytest.fixture
def world() -> World:
    return World()


def hears(world: World, reader: MemoryClient, *points: Point) -> list[bool]:
    """Whether what is published there reaches it."""
    writer = world.client("writer")
    found: list[bool] = []
    for point in points:
        writer.publish("t", "x", user=[here(point)])
        found.append(reader.payloads() == ["x"])
    writer.disconnect()
    return found


def reader_of(world: World, *user: tuple[str, str]) -> MemoryClient:
    reader = world.client("reader")
    assert reader.subscribe("t", user=list(user)) == [0]
    return reader


# The payload --------------------------------------------------------------------------------------


def test_table_3_each_entry_is_one_user_property_0x26() -> None:
    user = [here(Point(1.5, 2.5)), ("gpl_circleDynamic", "1;m;1;5")]
    block = encode_properties(properties(user=user), 3)
    at = 1  # behind the length
    for key, value in user:
        entry = bytes([0x26]) + len(key).to_bytes(2, "big") + key.encode()
        entry += len(value).to_bytes(2, "big") + value.encode()
        assert block[at : at + len(entry)] == entry
        at += len(entry)
    assert at == len(block)


def test_listing_1_a_position_and_any_number_of_areas(world: World) -> None:
    areas = [
        ("gpl_circleStatic", f"{n};m;1;{text(gone(O0, 90, n * 1000))};50") for n in range(1, 6)
    ]
    reader = reader_of(world, here(O0), *areas)
    assert hears(world, reader, gone(O0, 90, 3000), gone(O0, 90, 3500)) == [True, False]


@pytest.mark.parametrize(
    ("unit", "metres"), [("km", 1000.0), ("m", 1.0), ("dm", 0.1), ("cm", 0.01)]
)
def test_units_by_their_names(world: World, unit: str, metres: float) -> None:
    """The text explains km as metres and m as kilometres: the names hold."""
    reader = reader_of(world, ("gpl_circleStatic", f"1;{unit};1;{text(O0)};20"))
    inside, outside = gone(O0, 10, 19 * metres), gone(O0, 10, 21 * metres)
    assert hears(world, reader, inside, outside) == [True, False]


# The shapes ---------------------------------------------------------------------------------------


def test_listing_2_circle_with_a_remote_centre(world: World) -> None:
    """`or:center_lat` is printed with a colon: the separator is a semicolon."""
    reader = reader_of(world, here(O0), ("gpl_circleStatic", f"1;km;1;{text(O3)};5"))
    assert hears(world, reader, O3, gone(O3, 45, 4_900), gone(O3, 45, 5_100), O0) == [
        True,
        True,
        False,
        False,
    ]
    printed = ("gpl_circleStatic", f"1;km;1:{text(O3)};5")
    assert reader.subscribe("t", user=[printed]) == [0x83]


def test_listing_3_circle_around_the_client(world: World) -> None:
    reader = reader_of(world, here(O0), ("gpl_circleDynamic", "1;m;1;500"))
    assert hears(world, reader, gone(O0, 10, 490), gone(O0, 10, 510)) == [True, False]


def test_listing_4_rectangle_with_a_centre(world: World) -> None:
    """Printed as width;height here and as height;width in the text and in listings 5 and 9: that
    holds."""
    reader = reader_of(world, ("gpl_rectangleStatic", f"1;m;1;{text(O4)};200;1000"))
    north, east = gone(O4, 0, 150), gone(O4, 90, 450)
    assert hears(world, reader, O4, north, east) == [True, False, True]


def test_listing_5_rectangle_around_the_client(world: World) -> None:
    reader = reader_of(world, here(O0), ("gpl_rectangleDynamic", "1;m;1;200;1000"))
    assert hears(world, reader, gone(O0, 0, 150), gone(O0, 90, 450)) == [False, True]


def test_listings_6_and_8_a_line_with_a_thickness(world: World) -> None:
    reader = reader_of(
        world,
        ("gpl_lineStart", f"5;m;1;{text(A1)};100"),
        ("gpl_lineEnd", f"6;m;1;{text(B1)}"),
    )
    middle = gone(A1, 90, 1_500)
    assert hears(world, reader, A1, B1, gone(middle, 0, 45), gone(middle, 0, 60)) == [
        True,
        True,
        True,
        False,
    ]


def test_listing_7_points_between_are_optional(world: World) -> None:
    reader = reader_of(
        world,
        ("gpl_lineStart", f"7;m;1;{text(A2)};100"),
        ("gpl_linePoint", f"8;m;1;{text(B2)}"),
        ("gpl_lineEnd", f"9;m;1;{text(C2)}"),
    )
    straight = Point((A2.lat + C2.lat) / 2, (A2.lon + C2.lon) / 2)
    assert hears(world, reader, gone(A2, 0, 1_000), B2, gone(B2, 270, 1_000), straight) == [
        True,
        True,
        True,
        False,
    ]


# The scenarios ------------------------------------------------------------------------------------

LISTING_9: User = [
    here(O0),
    ("gpl_circleDynamic", "1;m;1;1000"),
    ("gpl_rectangleDynamic", "2;m;1;800;3000"),
    ("gpl_circleStatic", f"3;m;1;{text(O3)};500"),
    ("gpl_rectangleStatic", f"4;m;1;{text(O4)};400;800"),
    ("gpl_lineStart", f"5;m;1;{text(A1)};100"),
    ("gpl_lineEnd", f"6;m;1;{text(B1)}"),
    ("gpl_lineStart", f"7;m;1;{text(A2)};100"),
    ("gpl_linePoint", f"8;m;1;{text(B2)}"),
    ("gpl_lineEnd", f"9;m;1;{text(C2)}"),
    ("gpl_circleDynamic", "10;m;0;300"),
]


def test_listing_9_and_figure_2_the_coloured_areas(world: World) -> None:
    reader = reader_of(world, *LISTING_9)
    inside = [
        gone(O0, 0, 900),  # C2
        gone(O0, 90, 1_400),  # R1
        gone(O3, 0, 400),  # C3
        gone(O4, 90, 350),  # R4
        gone(A1, 90, 1_000),  # from A1 to B1
        gone(A2, 0, 1_000),  # from A2 by B2 …
        gone(B2, 270, 1_000),  # … to C2
    ]
    outside = [gone(O0, 30, 200), O0, gone(O0, 0, 1_100), gone(O0, 90, 1_600), gone(O3, 0, 600)]
    assert hears(world, reader, *inside) == [True] * len(inside)
    assert hears(world, reader, *outside) == [False] * len(outside)


def test_listing_10_the_position_in_a_ping(world: World) -> None:
    """MQTT 5 gives PINGREQ no payload: only who asked for it in CONNECT may send one."""
    reader = world.visitor()
    reader.send_bytes(connect_with("reader", here(O0), ("gpl_ping", "1")))
    reader.take()
    reader.subscribe("t", user=[("gpl_circleDynamic", "1;m;1;500")])
    assert hears(world, reader, O0, O3) == [True, False]
    block = encode_properties(properties(user=[here(O3)]), 12)
    reader.send_bytes(bytes([0xC0, len(block)]) + block)
    assert isinstance(answer(reader), Pingresp)
    assert hears(world, reader, O0, O3) == [False, True]


def test_update_of_the_area_of_interest(world: World) -> None:
    reader = reader_of(world, here(O0), ("gpl_circleStatic", f"1;m;1;{text(O3)};500"))
    edge = gone(O3, 0, 600)
    assert hears(world, reader, edge) == [False]
    reader.subscribe("t", user=[("gpl_circleStatic", f"1;m;1;{text(O3)};700")])
    assert hears(world, reader, edge) == [True]


def test_area_unsubscription_with_or_set_to_zero(world: World) -> None:
    reader = reader_of(world, *LISTING_9)
    reader.subscribe("t", user=[("gpl_circleStatic", f"3;m;0;{text(O3)};500")])
    assert hears(world, reader, O3, gone(O4, 90, 350)) == [False, True]
    reader.subscribe("t", user=[("gpl_circleStatic", f"3;m;1;{text(O3)};500")])  # the id is free
    assert hears(world, reader, O3) == [True]


def test_listing_11_full_unsubscription(world: World) -> None:
    reader = reader_of(world, *LISTING_9)
    reader.send(Unsubscribe(2, ["t"], properties(user=[here(O0)])))
    packet = answer(reader)
    assert isinstance(packet, Unsuback)
    assert packet.reasons == [0]
    assert hears(world, reader, gone(O0, 0, 900), O3, O4) == [False, False, False]


# Section III-B, rule by rule ----------------------------------------------------------------------


def test_rule_a_subscription_with_an_area_receives_from_there(world: World) -> None:
    reader = reader_of(world, ("gpl_circleStatic", f"1;km;1;{text(O3)};5"))
    assert hears(world, reader, O3, O0) == [True, False]


def test_rule_the_broker_stores_what_the_glp_says(world: World) -> None:
    reader = reader_of(world, here(O0))
    assert world.broker.core.locations.position("reader", world.now) is not None
    reader.subscribe("t", user=[("gpl_circleDynamic", "1;km;1;5")])
    assert hears(world, reader, gone(O0, 0, 4_000)) == [True]


def test_rule_a_publisher_names_the_area_that_a_message_is_relevant_for(world: World) -> None:
    near, far = world.client("near"), world.client("far")
    near.subscribe("t", user=[here(gone(O3, 0, 1_000))])
    far.subscribe("t", user=[here(O0)])
    area = ("gpl_circleStatic", f"1;km;1;{text(O3)};5")
    world.client("writer").publish("t", "x", user=[here(O0), area])
    assert (near.payloads(), far.payloads()) == (["x"], [])


def test_rule_without_glp_a_message_goes_to_all_subscribed(world: World) -> None:
    reader = reader_of(world, ("gpl_circleStatic", f"1;km;1;{text(O3)};5"))
    world.client("writer").publish("t", "x")
    old = world.client("old", V311)
    old.publish("t", "y")
    assert reader.payloads() == ["x", "y"]


@pytest.mark.parametrize("version", [V311, 5])
def test_rule_a_subscription_without_glp_receives_all(world: World, version: int) -> None:
    reader = world.client("plain", version)
    reader.subscribe("t")
    assert hears(world, reader, O0, O3, O4) == [True, True, True]


def test_rule_a_position_comes_in_four_ways(world: World) -> None:
    """A renewed subscription, a publication, the topic `position`, a request for update."""
    reader = world.visitor()
    reader.send_bytes(connect_with("reader", ("gpl_ping", "1")))
    reader.take()
    around = ("gpl_circleDynamic", "1;m;1;500")
    reader.subscribe("t", user=[around])
    ways = [
        Subscribe(1, [Request("t")], properties(user=[here(O0)])),
        Publish("other", b"", 0, False, False, 0, properties(user=[here(O3)])),
        Publish("position", b"", 0, False, False, 0, properties(user=[here(O4)])),
    ]
    for packet, where in zip(ways, (O0, O3, O4), strict=True):
        reader.send(packet)
        assert all(isinstance(one, Suback) for one in reader.take())
        assert hears(world, reader, where, A1) == [True, False]
    block = encode_properties(properties(user=[here(A1)]), 12)
    reader.send_bytes(bytes([0xC0, len(block)]) + block)
    reader.take()
    assert hears(world, reader, O4, A1) == [False, True]
