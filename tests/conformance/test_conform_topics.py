"""Topic names and filters: section 4.7."""

import pytest

from gossamer.wire.packets import V5
from tests.support.conformance import clauses
from tests.support.memory import World

BAD_FILTERS = [
    "#/",
    "a/#/b",
    "a#",
    "#a",
    "/a#",
    "a/b#",
    "##",
    "+a",
    "a+",
    "a/b+/c",
    "++",
    "#/#",
    "",
]


@clauses("4.7.1-1 4.7.1-2 4.7.3-1", v311="4.7.1-2 4.7.1-3 4.7.3-1")
@pytest.mark.parametrize("filter", BAD_FILTERS)
def test_wildcards_are_whole_levels(world: World, version: int, filter: str) -> None:
    assert world.client("c", version).subscribe(filter) == [0x8F if version == V5 else 0x80]


# The examples of the standard, and what it says about them.
MATCHES = [
    ("sport/tennis/player1/#", "sport/tennis/player1", True),
    ("sport/tennis/player1/#", "sport/tennis/player1/ranking", True),
    ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", True),
    ("sport/#", "sport", True),
    ("#", "sport/tennis", True),
    ("#", "/", True),
    ("sport/tennis/+", "sport/tennis/player1", True),
    ("sport/tennis/+", "sport/tennis/player1/ranking", False),
    ("sport/+", "sport", False),
    ("sport/+", "sport/", True),
    ("+", "sport", True),
    ("+", "/finance", False),
    ("+/tennis/#", "sport/tennis", True),
    ("sport/+/player1", "sport/tennis/player1", True),
    ("+/+", "/finance", True),
    ("/+", "/finance", True),
    ("/+", "/", True),
    ("//", "//", True),
    ("//", "/", False),
    ("/finance", "finance", False),
    ("ACCOUNTS", "Accounts", False),
    ("Accounts payable", "Accounts payable", True),
    ("a/b/", "a/b", False),
    ("a/b", "a/b/", False),
    ("+/+/+", "//", True),
    ("+/b/#", "a/b", True),
    ("a/+/#", "a", False),
    ("#", "$app/x", False),
    ("+/x", "$app/x", False),
    ("+", "$app", False),
    ("$app/#", "$app/x", True),
    ("$app/#", "$app", True),
    ("$app/+", "$app/x", True),
    ("a/#", "a/$app", True),
    ("a/+", "a/$app", True),
]


@clauses("4.7.1-1 4.7.1-2 4.7.2-1", v311="4.7.1-2 4.7.1-3 4.7.2-1")
@pytest.mark.parametrize(("filter", "topic", "is_match"), MATCHES)
@pytest.mark.parametrize("known", [False, True])
def test_matching(
    world: World, version: int, filter: str, topic: str, is_match: bool, known: bool
) -> None:
    """Also where the broker has seen the topic before the subscription."""
    reader = world.client("r", version)
    writer = world.client("w", version)
    if known:
        writer.publish(topic, "before")
    reader.subscribe(filter)
    writer.publish(topic, "x")
    assert reader.payloads() == (["x"] if is_match else [])


@clauses("4.7.2-1", v311="4.7.2-1")
def test_sys_is_for_who_asks_for_it(version: int) -> None:
    world = World(sys_interval=10.0)
    curious = world.client("curious", version)
    other = world.client("other", version)
    curious.subscribe("$SYS/#")
    other.subscribe("#", "+/#", "+/broker/#")
    world.wait(25)
    assert curious.messages()
    assert other.messages() == []
