"""Containment and intersection by enumerating topics: all pairs of filters of a small alphabet."""

from enum import Enum, auto
from functools import cache
from itertools import product

import pytest
from hypothesis import given

from gossamer.topics.containment import canonical, contains, meet
from gossamer.topics.names import matches
from tests.support.topic_strategies import filters


class Relation(Enum):
    """How the topics of one filter lie to those of another."""

    EQUAL = auto()
    CONTAINS = auto()
    CONTAINED = auto()
    OVERLAPPING = auto()
    DISJOINT = auto()


def relation(a: str, b: str) -> Relation:
    if contains(a, b):
        return Relation.EQUAL if contains(b, a) else Relation.CONTAINS
    if contains(b, a):
        return Relation.CONTAINED
    return Relation.DISJOINT if meet(a, b) is None else Relation.OVERLAPPING


CASES = [
    ("a/#", "a", Relation.CONTAINS),
    ("a/#", "a/+/#", Relation.CONTAINS),
    ("#", "+/#", Relation.EQUAL),
    ("/#", "/+/#", Relation.EQUAL),
    ("+/#", "+/+/#", Relation.CONTAINS),
    ("+/+/#", "/#", Relation.CONTAINS),
    ("#", "$SYS/a", Relation.DISJOINT),
    ("+/a", "$SYS/a", Relation.DISJOINT),
    ("$SYS/#", "$SYS/+", Relation.CONTAINS),
    ("+", "/#", Relation.DISJOINT),
    ("+", "a/#", Relation.OVERLAPPING),
    ("a/+", "+/b", Relation.OVERLAPPING),
    ("a/+/#", "a", Relation.DISJOINT),
    ("a", "a/b", Relation.DISJOINT),
    ("a", "a/", Relation.DISJOINT),
    ("+/+", "/", Relation.CONTAINS),
    ("a/+", "a/#", Relation.CONTAINED),
]


@pytest.mark.parametrize(("a", "b", "expected"), CASES)
def test_known_relations(a: str, b: str, expected: Relation) -> None:
    assert relation(a, b) is expected


# "z" stands for the levels that no filter names: without it `+` would be only a list of the others.
TOPICS = [
    topic
    for depth in range(1, 6)
    for levels in product(["a", "", "$a", "z"], repeat=depth)
    if (topic := "/".join(levels))
]


@cache
def topics_of(filter: str) -> int:
    """The topics matched, as a set of bits."""
    return sum(1 << bit for bit, topic in enumerate(TOPICS) if matches(filter, topic))


def by_enumeration(a: str, b: str) -> Relation:
    in_a, in_b = topics_of(a), topics_of(b)
    if in_a == in_b:
        return Relation.EQUAL
    if in_a & in_b == in_b:
        return Relation.CONTAINS
    if in_a & in_b == in_a:
        return Relation.CONTAINED
    return Relation.OVERLAPPING if in_a & in_b else Relation.DISJOINT


def all_filters(max_depth: int) -> list[str]:
    found = []
    for depth in range(1, max_depth + 1):
        for levels in product(["a", "", "$a", "+"], repeat=depth):
            found.append("/".join(levels))
        for levels in product(["a", "", "$a", "+"], repeat=depth - 1):
            found.append("/".join([*levels, "#"]))
    return [filter for filter in found if filter]


def test_every_pair_of_filters_up_to_depth_four() -> None:
    every = all_filters(4)
    for a in every:
        for b in every:
            found = relation(a, b)
            if found is not by_enumeration(a, b):
                pytest.fail(f"{a!r} {found.name} {b!r}, but {by_enumeration(a, b).name}")
            both = meet(a, b)
            assert topics_of(a) & topics_of(b) == (0 if both is None else topics_of(both))
            assert (canonical(a) == canonical(b)) is (found is Relation.EQUAL)


MIRRORED = {Relation.CONTAINS: Relation.CONTAINED, Relation.CONTAINED: Relation.CONTAINS}


@given(filters(12), filters(12))
def test_relation_is_symmetric_on_deep_filters(a: str, b: str) -> None:
    forward = relation(a, b)
    assert relation(b, a) is MIRRORED.get(forward, forward)
    assert contains(a, b) is (forward in (Relation.EQUAL, Relation.CONTAINS))
