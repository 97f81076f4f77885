"""What geometry may cost, in points looked at, for shapes made to cost as much as they can."""

import pytest

from gossamer.geo.areas import MAX_POINTS_IN_ALL, GlpError
from gossamer.geo.circle import Circle
from gossamer.geo.earth import Point
from gossamer.geo.geojson import read_geojson
from gossamer.geo.glp import parse, parse_sent
from gossamer.geo.overlap import MESSAGE_POINTS, PAIR_POINTS, UNBOUNDED, Effort, meet
from gossamer.geo.polygon import Polygon
from gossamer.geo.rectangle import Rectangle
from gossamer.geo.shape import Region, Shape, ShapeError
from gossamer.wire import reasons
from tests.support.combs import comb, comb_entry
from tests.support.memory import World


def only(*shapes: Shape) -> Region:
    return Region(list(shapes), [True] * len(shapes))


@pytest.mark.parametrize(
    ("shape", "true"),
    [
        (Circle(Point(0.2, 0.1975), 100.0), True),
        (Circle(Point(0.25, 2.0), 100.0), False),
        (Rectangle(Point(0.2, 0.1975), 100.0, 100.0), True),
        (Rectangle(Point(0.2, 0.2015), 100.0, 100.0), False),
        (Polygon([Point(-0.1, -0.1), Point(-0.1, 0.6), Point(-0.02, 0.3)]), True),
    ],
)
def test_ordinary_shapes_are_decided(shape: Shape, true: bool) -> None:
    """Against a comb of 200 corners."""
    effort = Effort()
    assert meet(only(Polygon(comb(50))), only(shape), effort) == true
    assert effort.undecided == 0


def test_interleaved_combs_end_at_the_effort() -> None:
    """They do not meet, and to know it takes millions of looks: the answer is yes."""
    one, two = only(Polygon(comb(240))), only(Polygon(comb(240, facing=True)))
    effort = Effort()
    assert meet(one, two, effort)
    assert effort.undecided == 1
    assert effort.spent <= MESSAGE_POINTS + PAIR_POINTS


def test_twenty_by_twenty_combs_end_at_the_effort() -> None:
    ones = [Polygon(comb(24, lat=0.01 * n)) for n in range(20)]
    twos = [Polygon(comb(24, lat=0.01 * n, facing=True)) for n in range(20)]
    effort = Effort()
    meet(only(*ones), only(*twos), effort)
    assert effort.spent <= MESSAGE_POINTS + PAIR_POINTS
    less = Region([*ones, *twos], [True] * 20 + [False] * 20)
    effort = Effort()
    meet(less, only(*twos), effort)
    assert effort.spent <= MESSAGE_POINTS + PAIR_POINTS


def test_a_spent_effort_still_decides_what_is_simple() -> None:
    effort = Effort(0)
    here, near, far = (Circle(Point(0.0, lon), 1000.0) for lon in (0.0, 0.01, 1.0))
    assert meet(only(here), only(near), effort)
    assert not meet(only(here), only(far), effort)
    assert not meet(only(Rectangle(Point(0.0, 0.0), 10.0, 10.0)), only(far), effort)
    assert effort.undecided == 0


def test_borders_are_told_apart_in_a_bounded_number_of_looks() -> None:
    for tilt in (0.0, 0.5, 1.0):
        assert Polygon(comb(248, tilt=tilt)).points() >= 990
    corners = [*comb(248, tilt=0.5)[:-1], Point(0.5, 0.9)]
    with pytest.raises(ShapeError, match="crosses"):
        Polygon(corners)


def test_a_border_as_intricate_both_ways_is_refused() -> None:
    entry = comb_entry(1, comb(248, tilt=1.0))
    with pytest.raises(GlpError, match="too intricate"):
        parse_sent([entry])
    assert parse([entry]) is not None  # kept before there was the limit
    for tilt in (0.0, 0.05):
        assert parse_sent([comb_entry(1, comb(248, tilt=tilt))]) is not None
    assert parse_sent([comb_entry(1, comb(60, tilt=1.0))]) is not None


@pytest.mark.parametrize("areas", [2, 3, 10])
def test_all_points_of_a_packet_count_together(areas: int) -> None:
    each = MAX_POINTS_IN_ALL // areas // 4 - 2
    user = [comb_entry(number, comb(each, lat=number)) for number in range(areas)]
    assert parse_sent(user) is not None
    user += [comb_entry(areas + n, comb(100, lat=-5.0 - n)) for n in range(3)]
    with pytest.raises(GlpError, match="points in all areas together") as refusal:
        parse_sent(user)
    assert refusal.value.reason == reasons.IMPLEMENTATION_SPECIFIC_ERROR
    assert parse(user) is not None  # what was kept before there was the limit is read


def test_long_edges_count() -> None:
    user = [
        (
            "gpl_polygonStatic",
            f"{n};m;1;{-60 + n / 100!r};0;{60 + n / 100!r};0;{n / 100!r};60",
        )
        for n in range(10)
    ]
    with pytest.raises(GlpError, match="points in all"):
        parse_sent(user)


def test_a_border_that_must_be_walked_is_charged() -> None:
    text = '{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}'
    shapes = [read_geojson(text) for _ in range(50)]
    others = [Rectangle(Point(0.5 + n / 1000, 0.5), 10.0, 10.0) for n in range(50)]
    effort = Effort()
    meet(Region([*shapes], [True] * 50), Region([*others], [False] * 50), effort)
    assert effort.spent <= MESSAGE_POINTS + PAIR_POINTS
    assert Effort(UNBOUNDED).spend(1 << 40)


# In the broker --------------------------------------------------------------------------------


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_message_of_combs_reaches_its_reader_at_a_bounded_cost(qos: int) -> None:
    world = World()
    reader = world.client("r")
    reader.subscribe("t", qos=qos, user=[comb_entry(1, comb(240, facing=True))])
    writer = world.client("w")
    writer.publish("t", "x", qos=qos, user=[comb_entry(1, comb(240))])
    assert reader.payloads() == ["x"]
    core = world.broker.core
    assert core.counters.located_undecided == 1
    assert core.locations.effort.spent <= MESSAGE_POINTS + PAIR_POINTS


def test_many_intricate_subscriptions_share_one_effort() -> None:
    world = World()
    readers = [world.client(f"r{n}") for n in range(30)]
    for reader in readers:
        reader.subscribe("t", user=[comb_entry(1, comb(240, facing=True))])
    world.client("w").publish("t", "x", user=[comb_entry(1, comb(240))])
    assert all(reader.payloads() == ["x"] for reader in readers)
    core = world.broker.core
    assert core.locations.effort.spent <= MESSAGE_POINTS + 30 * PAIR_POINTS


def test_retained_messages_share_one_effort() -> None:
    world = World()
    writer = world.client("w")
    for n in range(30):
        writer.publish(f"t/{n}", "x", retain=True, user=[comb_entry(1, comb(240))])
    reader = world.client("r")
    reader.subscribe("t/#", user=[comb_entry(1, comb(240, facing=True))])
    assert len(reader.payloads()) == 30
    assert world.broker.core.locations.effort.spent <= MESSAGE_POINTS + 30 * PAIR_POINTS


def test_too_many_points_are_refused_with_a_reason() -> None:
    world = World()
    client = world.client("c")
    user = [comb_entry(n, comb(200, lat=n)) for n in range(3)]
    assert client.subscribe("t", user=user) == [reasons.IMPLEMENTATION_SPECIFIC_ERROR]
    assert client.subscribe("t", user=user[:2]) == [0]
    assert client.subscribe("t", user=user[2:]) == [reasons.IMPLEMENTATION_SPECIFIC_ERROR]
    client.take()
    client.publish("t", "x", qos=1, user=user)
    [answer] = client.take()
    assert answer.reason == reasons.IMPLEMENTATION_SPECIFIC_ERROR  # type: ignore[attr-defined]
    client.publish("t", "x", qos=0, user=user)
    assert world.broker.core.counters.publications_refused == 2
    assert not client.is_closed


def test_what_moves_with_one_client_is_bounded() -> None:
    world = World()
    client = world.client("c")
    circles = [("gpl_circleDynamic", f"{n};m;1;50") for n in range(256)]
    answers = [client.subscribe(f"t/{n}", user=circles)[0] for n in range(9)]
    assert answers == [0] * 7 + [reasons.IMPLEMENTATION_SPECIFIC_ERROR] * 2
    assert client.subscribe("t/0", user=circles) == [0]  # in place of itself
    assert client.subscribe("t/9", user=[("gpl_circleStatic", "1;m;1;0;0;50")]) == [0]
    client.publish("position", user=[("gpl_current_pos", "1;2")])
    assert not client.is_closed
