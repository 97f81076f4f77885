"""The topic tree: its windows against a plain list, its bounds, its search."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.console import topic_model
from gossamer.console.topic_model import SeenTopic, TopicModel

LEVELS = st.sampled_from(["a", "b", "c", "a!", ""])
TOPICS = st.lists(LEVELS, min_size=1, max_size=4).map("/".join)


def model_of(topics: list[str]) -> TopicModel:
    model = TopicModel()
    for topic in topics:
        model.add(SeenTopic(topic, b"1", 0, False, 0.0))
    return model


def all_rows(topics: list[str], opened: set[str]) -> list[tuple[str, int]]:
    """What a page that has everything would list: each path with its depth."""
    paths = {
        tuple(topic.split("/")[:depth])
        for topic in topics
        for depth in range(1, topic.count("/") + 2)
    }
    return [
        ("/".join(path), len(path) - 1)
        for path in sorted(paths)
        if all("/".join(path[:depth]) in opened for depth in range(1, len(path)))
    ]


@given(
    st.lists(TOPICS, max_size=20),
    st.sets(TOPICS, max_size=8),
    st.integers(0, 12),
    st.integers(1, 12),
)
def test_a_window_is_a_part_of_the_whole(
    topics: list[str], opened: set[str], offset: int, limit: int
) -> None:
    rows, total = model_of(topics).window(opened, offset, limit)
    expected = all_rows(topics, opened)
    assert total == len(expected)
    assert [(row.path, row.depth) for row in rows] == expected[offset : offset + limit]


def test_counts_are_of_the_branch() -> None:
    model = model_of(["a/b", "a/b", "a/c", "d"])
    rows, _ = model.window({"a"}, 0, 10)
    assert [(row.path, row.topic.count) for row in rows] == [
        ("a", 3),
        ("a/b", 2),
        ("a/c", 1),
        ("d", 1),
    ]
    assert model.topics == 3


def test_a_hundred_thousand_topics_are_seen_through_a_small_window() -> None:
    model = model_of([f"plant/line{number}/value" for number in range(100_000)])
    rows, total = model.window({"plant"}, 70_000, 50)
    assert total == 100_001
    assert len(rows) == 50
    assert rows[0].topic.parent is rows[1].topic.parent


def test_topics_beyond_the_bound_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_model, "MOST_TOPICS", 2)
    model = model_of(["a", "b", "c", "a"])
    assert (model.topics, model.left_out) == (2, 1)


def test_large_payloads_are_kept_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_model, "MOST_KEPT_BYTES", 1000)
    model = TopicModel()
    for name in ("a", "b"):
        model.add(SeenTopic(name, b"x" * 800, 0, False, 0.0))
    sizes = [row.topic.last and len(row.topic.last.payload) for row in model.window(set(), 0, 9)[0]]
    assert sizes == [800, topic_model.PREVIEW_BYTES]


def test_numbers_are_kept_for_a_line() -> None:
    model = TopicModel()
    for value in range(100):
        model.add(SeenTopic("n", str(value).encode(), 0, False, 0.0))
    topic = model.find("n")
    assert topic is not None
    assert topic.numbers is not None
    assert list(topic.numbers) == [float(value) for value in range(60, 100)]


def test_search_finds_parts_of_names() -> None:
    model = model_of(["city/Centre/temp", "city/north/temp", "fleet/van"])
    assert [row.path for row in model.search("CENTRE/t")] == ["city/Centre/temp"]
    assert len(model.search("temp")) == 2


def test_a_followed_topic_keeps_messages_until_the_last_page_leaves() -> None:
    model = model_of(["a"])
    topic = model.find("a")
    assert topic is not None
    model.follow(topic)
    model.follow(topic)
    model.add(SeenTopic("a", b"2", 0, False, 0.0))
    model.unfollow(topic)
    assert topic.tail is not None
    assert [seen.payload for seen in topic.tail] == [b"1", b"2"]
    model.unfollow(topic)
    assert topic.tail is None
