"""The four searches against the definition of a match: no false negative, ever."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.bloom import (
    ExhaustiveSearch,
    HybridIndex,
    HybridSearch,
    PatternedSearch,
    PrefixedSearch,
    TopicHasher,
    TopicIndex,
    sized_filter,
)
from gossamer.bloom.landmarks import CountedLandmarks
from gossamer.bloom.searches import Search
from gossamer.bloom.topic_index import DEFAULT_CAPACITY, DEFAULT_ERROR_RATE
from gossamer.topics.names import matches
from tests.support.topic_strategies import filters, topics

KINDS = [ExhaustiveSearch, PatternedSearch, PrefixedSearch, HybridSearch]
HASHER = TopicHasher(b"searches")


def index_of(kind: type[Search], budget: int, capacity: int = DEFAULT_CAPACITY) -> TopicIndex:
    return TopicIndex(kind(HASHER, sized_filter(capacity, DEFAULT_ERROR_RATE), budget), capacity)


def indexes(budget: int = 1_000_000) -> list[TopicIndex]:
    return [index_of(kind, budget) for kind in KINDS]


steps = st.lists(st.tuples(st.booleans(), filters()), max_size=25)


@given(steps, st.lists(topics(), max_size=25))
def test_what_is_held_is_found_and_what_is_not_is_not(
    changes: list[tuple[bool, str]], asked: list[str]
) -> None:
    """With so few elements in 3,700 bits a false positive is a fault, not chance."""
    held: list[str] = []
    tested = indexes()
    for adding, filter in changes:
        if adding:
            assert {index.add(filter) for index in tested} == {filter not in held}
            held.append(filter)
        elif filter in held:
            held.remove(filter)
            assert {index.remove(filter) for index in tested} == {filter not in held}
        else:
            for index in tested:
                with pytest.raises(KeyError):
                    index.remove(filter)
    for topic in asked:
        expected = any(matches(filter, topic) for filter in held)
        assert [index.may_match(topic) for index in tested] == [expected] * len(tested)


@given(st.text(min_size=1, max_size=60), st.integers(0, 5), st.booleans())
def test_any_text_at_all(topic: str, at: int, with_plus: bool) -> None:
    topic = topic.encode("utf-8", "replace").decode().replace("+", "x").replace("#", "y")
    levels = topic.split("/")
    levels[at:] = ["#"]
    if with_plus:
        levels[0] = "+" if len(levels) > 1 else "#"
    filter = "/".join(levels)
    expected = matches(filter, topic)
    for index in indexes():
        index.add(filter)
        index.add("something/else")
        assert index.may_match(topic) >= expected


@pytest.mark.parametrize(
    ("held", "topic", "expected"),
    [
        (["a/+/x", "a/b/c"], "a/b/c", True),  # The branch that the printed search forgets.
        (["a/b/#"], "a/b", True),
        (["a/b/#"], "a", False),
        (["+/#"], "a", True),
        (["#"], "$SYS/uptime", False),
        (["+/uptime"], "$SYS/uptime", False),
        (["$SYS/#"], "$SYS/uptime", True),
        (["$SYS/#"], "$SYS", True),
        (["$SYS/+"], "$SYS/uptime", True),
        (["#", "a"], "$a", False),
        (["a$"], "a", False),
        (["/a"], "a", False),
        (["a"], "/a", False),
        (["+/a"], "/a", True),
        (["a/"], "a", False),
        (["a/+"], "a/", True),
        (["a/+/#", "a/b"], "a/c", True),
        (["a/+/+"], "a/b", False),
        (["+/+/+"], "a/b/c", True),
        (["+/+/+"], "a/b", False),
    ],
)
def test_the_rules_of_mqtt(held: list[str], topic: str, expected: bool) -> None:
    for index in indexes():
        for filter in held:
            index.add(filter)
        assert index.may_match(topic) is expected


@pytest.mark.parametrize("depth", [1, 2, 30, 31, 32, 33, 49, 50, 51, 52, 150])
@pytest.mark.parametrize("kind", [PrefixedSearch, HybridSearch])
def test_topics_of_any_depth(kind: type[Search], depth: int) -> None:
    levels = [f"l{at}" for at in range(depth)]
    topic = "/".join(levels)
    wanting = [
        [topic],
        ["/".join(["+"] * depth)],
        ["/".join([*["+"] * (depth - 1), "#"])],
        ["/".join([*levels[:-1], "+"])],
        ["/".join([*levels[:-1], "#"])],
        [topic + "/#"],
    ]
    refusing = [[topic + "/x"], ["/".join([*levels[:-1], "x"])], ["/".join(["+"] * (depth + 1))]]
    for held in wanting + refusing:
        index = index_of(kind, 1000)
        for filter in held:
            index.add(filter)
        assert index.may_match(topic) is (held in wanting)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tree_that_explodes_costs_no_more_than_the_budget(kind: type[Search]) -> None:
    """Every prefix of `+` and `a` exists, and no end does: 2¹⁰ branches to follow."""
    budget = 100
    index = index_of(kind, budget, 4096)
    depth = 10
    for mask in range(1 << depth):
        levels = ["+" if mask >> at & 1 else "a" for at in range(depth)]
        index.add("/".join([*levels, "b"]))
    topic = "/".join(["a"] * depth + ["c"])
    assert index.may_match(topic), "past the budget the answer is yes"
    assert index.queries() <= budget


@pytest.mark.parametrize(
    ("held", "topic", "queries"),
    [
        (["a/b/c", "d/e/f"], "x/y/z", 1),  # Without wildcards: the topic, once.
        (["a/b/c", "d/e/f"], "a/b/c", 1),
        (["a/b/c"], "a/b", 0),  # Nothing ends at this depth.
        (["#", "a/b"], "x/y", 0),
        (["+/+", "a/b"], "x/y", 0),
        (["a/b/+"], "x/y/z", 1),  # Straight to the first level where it could branch.
        (["a/b/#"], "x/y/z", 1),
        (["a/+/c", "+/b/c"], "x/y/z", 2),
    ],
)
def test_landmarks_spare_look_ups(held: list[str], topic: str, queries: int) -> None:
    index = HybridIndex(HASHER)
    for filter in held:
        index.add(filter)
    index.may_match(topic)
    assert index.queries() == queries


@given(st.lists(filters(), min_size=1, max_size=12), st.lists(topics(), min_size=1, max_size=12))
def test_a_search_that_learned_answers_as_before(held: list[str], asked: list[str]) -> None:
    """After some dear walks it tries the patterns instead, if these are few."""
    index = HybridIndex(HASHER)
    for filter in held:
        index.add(filter)
    expected = [any(matches(filter, topic) for filter in held) for topic in asked]
    for _ in range(40):
        assert [index.may_match(topic) for topic in asked] == expected


def test_few_patterns_over_shared_prefixes_are_tried_instead_of_walked() -> None:
    index = HybridIndex(HASHER, capacity=4096)
    for site in range(4):
        for line in range(4):
            for cell in range(4):
                index.add(f"org/{site}/{line}/{cell}/temp")
        index.add(f"org/{site}/+/+/alarm")
        index.add(f"org/+/{site}/+/state")
    for _ in range(30):
        assert not index.may_match("org/1/2/3/power")
    before = index.queries()
    for _ in range(30):
        assert not index.may_match("org/1/2/3/power")
    assert index.queries() - before <= 3 * 30 + 10
    before = index.queries()
    assert index.may_match("org/1/2/3/alarm")
    assert index.queries() - before <= 3


@given(st.lists(filters(), max_size=20), st.lists(filters(), max_size=20))
def test_landmarks_forget_exactly_what_left(kept: list[str], gone: list[str]) -> None:
    landmarks = CountedLandmarks()
    for filter in gone + kept:
        landmarks.note(filter, 1)
    for filter in gone:
        landmarks.note(filter, -1)
    expected = CountedLandmarks()
    for filter in kept:
        expected.note(filter, 1)
    assert landmarks.shown.words() == expected.shown.words()
    assert landmarks.shown.listed == expected.shown.listed
    assert landmarks.shown.codes == expected.shown.codes


def test_an_index_grows_and_shrinks_with_what_it_holds() -> None:
    index = HybridIndex(HASHER, capacity=16)
    names = [f"site/{number}/temp" for number in range(500)]
    for name in names:
        index.add(name)
    assert index.capacity >= index.load()
    assert index.element_count() == 1 + 2 * 500
    assert index.counting.plain.saturation() ** index.counting.plain.hashes <= 0.0015
    assert all(index.may_match(name) for name in names)
    for name in names[5:]:
        index.remove(name)
    assert index.capacity < 200
    assert index.filters() == names[:5]
    assert all(index.may_match(name) for name in names[:5])
