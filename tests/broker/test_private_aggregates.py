"""Aggregates over topics that the client may not read: of many, and of none of them."""

import pytest

from gossamer.net.rule_file import RulePermissions, parse_rules
from tests.support.durable_world import DurableWorld
from tests.support.late_subscribers import received
from tests.support.memory import World

RULES = """
[[rule]]
users = ["meter"]
publish = ["#"]

[[rule]]
users = ["city"]
subscribe = ["city/#"]
aggregate = ["home/+/power", "secret/+"]
aggregate_least = {least}

[[rule]]
users = ["city"]
deny_subscribe = ["secret/#"]
"""
HOUR = 3600.0


def permissions(least: int = 3) -> RulePermissions:
    return RulePermissions(parse_rules(RULES.replace("{least}", str(least))))


def allow(world: World, least: int = 3) -> None:
    world.broker.set_permissions(permissions(least), world.now)


ALLOWED = ("$SUM$HOURLYAVG", "$AVG$HOURLYMAX;;watts", "$GT;5$COUNT$DAILYLAST", "$STDDEV$HOURLYSUM")


@pytest.mark.parametrize("chain", ALLOWED)
def test_windows_of_many_are_had(chain: str) -> None:
    world = World()
    allow(world)
    assert world.client("c", user="city").subscribe(f"{chain}/home/+/power") == [0]
    assert world.client("m", user="meter").subscribe(f"{chain}/home/+/power") == [0x87]


REFUSED = (
    "home/+/power",
    "$GT;5/home/+/power",
    "$SUM/home/+/power",  # each result differs from the last by what one of them published
    "$HOURLYSUM/home/+/power",
    "$MAX$HOURLYSUM/home/+/power",
    "$FIRST$HOURLYSUM/home/+/power",
    "$SUM;RPT$HOURLYSUM/home/+/power",
    "$COUNT$GT;100$HOURLYSUM/home/+/power",
    "$SUM$HOURLYSUM$CHANGED/home/+/power",
    "$SUM$HOURLYSUM/home/a;b;c;d/power",
    "$SUM$HOURLYSUM/home/a/power",
    "$SUM$HOURLYSUM/home/+/+",
    "$SUM$HOURLYSUM/home/#",
    "$SUM$HOURLYSUM/secret/+",
)


@pytest.mark.parametrize("filter", REFUSED)
def test_what_would_tell_of_one_is_refused(filter: str) -> None:
    world = World()
    allow(world)
    assert world.client("c", user="city").subscribe(filter) == [0x87]


def test_names_of_participants_are_refused_as_an_option_too() -> None:
    world = World()
    allow(world)
    client = world.client("c", user="city")
    filter = "$SUM$HOURLYSUM/home/+/power"
    assert client.subscribe(filter, user=[("plus_reply", "rpt")]) == [0x87]
    assert client.subscribe(filter, user=[("plus_least", "1")]) == [0]


def test_fewer_than_so_many_have_no_result() -> None:
    world = World()
    allow(world)
    city = world.client("c", user="city")
    city.subscribe("$SUM$HOURLYSUM/home/+/power", user=[("plus_least", "0")])
    meter = world.client("m", user="meter")
    for homes, expected in ((2, []), (3, ["6.0"]), (4, ["10.0"])):
        for number in range(homes):
            meter.publish(f"home/{number}/power", str(number + 1))
        world.wait(HOUR)
        assert [payload for _, payload in received(city)] == expected


def test_it_holds_after_a_restart_and_as_long_as_the_rules_say_so() -> None:
    world = DurableWorld()
    allow(world)
    filter = "$SUM$HOURLYSUM/home/+/power"
    city = world.client("c", user="city", clean=False, expiry=1_000_000)
    assert city.subscribe(filter, qos=1) == [1]
    city.lose()
    world.crash()
    allow(world)
    session = world.broker.core.sessions["c"]
    assert list(session.subscriptions) == [filter]
    meter = world.client("m", user="meter")
    meter.publish("home/1/power", "1")
    meter.publish("home/2/power", "1")
    world.wait(HOUR)
    city = world.client("c", user="city", clean=False, expiry=1_000_000)
    assert received(city) == []
    allow(world, least=2)  # fewer are asked for: what there is may stay
    assert list(session.subscriptions) == [filter]
    allow(world, least=4)
    while world.broker.has_more():
        world.broker.go_on(world.now)
    assert list(session.subscriptions) == []


def test_anybody_may_ask_for_so_many_participants() -> None:
    world = World()
    reader = world.client("r")
    assert reader.subscribe("$SUM/+/t", user=[("plus_least", "2")]) == [0]
    assert reader.subscribe("$SUM/+/t", user=[("plus_least", "two")]) == [0x8F]
    writer = world.client("w")
    writer.publish("a/t", "1")
    writer.publish("b/t", "2")
    assert received(reader) == [("$SUM/$AGGREGATE/t", "3.0")]
