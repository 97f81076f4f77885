"""Sets of filters to measure covers on: what is ordinary, and what is built to hurt.

A set is the filters that are there all the time and the ones then added and removed in turn. Each
hostile set aims at one way to find containers or contained filters: it makes that way scan.
"""

from collections.abc import Callable
from itertools import combinations, islice
from random import Random
from typing import NamedTuple


class FilterSet(NamedTuple):
    """`toggled` are added and removed one by one, `rotated` so that one is always there."""

    standing: list[str]
    toggled: list[str]
    rotated: list[str] = []


KINDS = ["temperature", "humidity", "power", "door", "co2"]


def sensor_topic(random: Random) -> str:
    """A topic as buildings have them; about 24 million are possible."""
    return (
        f"site{random.randrange(40)}/floor{random.randrange(12)}/room{random.randrange(100)}"
        f"/dev{random.randrange(100)}/{random.choice(KINDS)}"
    )


def with_wildcards(topic: str, random: Random) -> str:
    """The topic or, for half of them, a filter of one to two wildcards that matches it."""
    levels = topic.split("/")
    match random.randrange(8):
        case 0:
            return "/".join([*levels[:4], "#"])
        case 1:
            levels[2] = "+"
        case 2:
            levels[3] = "+"
        case 3:
            levels[1] = levels[4] = "+"
        case _:
            pass
    return "/".join(levels)


def _fresh(size: int, make: Callable[[], str]) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < size:
        found[make()] = None
    return list(found)


def devices(size: int, random: Random) -> FilterSet:
    """Realistic: plain topics of sensors."""
    every = _fresh(size + 2000, lambda: sensor_topic(random))
    return FilterSet(every[:size], every[size:])


def dashboards(size: int, random: Random) -> FilterSet:
    """Realistic: half plain topics, half filters with wildcards in five shapes."""
    every = _fresh(size + 2000, lambda: with_wildcards(sensor_topic(random), random))
    return FilterSet(every[:size], every[size:])


def every_variant(size: int, random: Random) -> FilterSet:
    """Hostile: `a` or `+` at each of 20 levels, then a tail of its own: a walk always branches."""
    places = list(islice(combinations(range(20), 9), size))
    standing = [
        "/".join(["+" if at in chosen else "a" for at in range(20)]) + f"/t{number}"
        for number, chosen in enumerate(places)
    ]
    random.shuffle(standing)
    return FilterSet(standing, ["a/" * 20 + f"none{number}" for number in range(200)])


def random_levels(size: int, random: Random) -> FilterSet:
    """Hostile: `a`, `b` or `+` at each of 30 levels, so that no level tells much."""

    def filter() -> str:
        return "/".join(random.choices("ab+", k=30))

    def topic() -> str:
        return "/".join(random.choices("ab", k=30))

    return FilterSet(_fresh(size, filter), _fresh(100, topic) + _fresh(100, filter))


def wide_children(size: int, random: Random) -> FilterSet:
    """Hostile: filters that cover nothing, below levels with a child for every device."""
    third = size // 3
    standing = [f"home/x{i}/hum" for i in range(third)]
    standing += [f"office/x{i}/temp" for i in range(third)]
    standing += [f"other/x{i}" for i in range(third)]
    random.shuffle(standing)
    return FilterSet(
        standing, ["+/alarm", "home/+/temp", "home/+", "+/+/+/+/#", "+", "+/+/none"] * 50
    )


def nested(size: int, random: Random) -> FilterSet:
    """Hostile: chains of filters, each inside the one before; their outermost links come and go."""
    depth = 50
    standing = [f"c{i // depth}/" + "a/" * (i % depth) + "#" for i in range(size)]
    random.shuffle(standing)
    outermost = [f"c{i}/#" for i in range(0, size // depth, max(1, size // depth // 500))]
    for filter in outermost:
        standing.remove(filter)
    return FilterSet(standing, outermost)


def two_umbrellas(size: int, _: Random) -> FilterSet:
    """Hostile: two wide filters, neither inside the other, take turns over everything."""
    return FilterSet([f"b/a/x{i}" for i in range(size)], [], ["+/a/#", "b/+/#"] * 100)


def hidden_umbrella(size: int, _: Random) -> FilterSet:
    """Hostile: a wide filter comes and goes over one that covers all the rest already."""
    standing = ["b/+/+/z", *(f"b/x{i}/y{i}/z" for i in range(size - 1))]
    return FilterSet(standing, ["b/#", "b/+/#", "#"] * 50)


REALISTIC = (devices, dashboards)
HOSTILE = (every_variant, random_levels, wide_children, nested, two_umbrellas, hidden_umbrella)
