"""Matching, the filter tree and the name tree, against tables and against each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.topics.filter_tree import FilterTree, TreeEntry
from gossamer.topics.name_tree import NameEntry, NameTree
from gossamer.topics.names import matches
from tests.support.named_entries import a_named_entry
from tests.support.topic_strategies import filters, topics

# Most rows are the examples of section 4.7 of the standard.
MATCHES = [
    ("sport/tennis/player1/#", "sport/tennis/player1", True),
    ("sport/tennis/player1/#", "sport/tennis/player1/ranking", True),
    ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", True),
    ("sport/#", "sport", True),
    ("sport/tennis/+", "sport/tennis/player1", True),
    ("sport/tennis/+", "sport/tennis/player1/ranking", False),
    ("sport/+", "sport", False),
    ("sport/+", "sport/", True),
    ("+/+", "/finance", True),
    ("/+", "/finance", True),
    ("+", "/finance", False),
    ("#", "$SYS/x", False),
    ("+/monitor/Clients", "$SYS/monitor/Clients", False),
    ("$SYS/#", "$SYS/x", True),
    ("$SYS/#", "$SYS", True),
    ("$SYS/monitor/+", "$SYS/monitor/Clients", True),
    ("a/+", "a/$b", True),
    ("#", "/", True),
    ("+/#", "a", True),
    ("+/+/#", "a", False),
    ("a/+/#", "a", False),
    ("ACCOUNTS", "Accounts", False),
]


@pytest.mark.parametrize(("filter", "topic", "expected"), MATCHES)
def test_standard_examples(filter: str, topic: str, expected: bool) -> None:
    assert matches(filter, topic) is expected
    tree = FilterTree()
    tree.put(TreeEntry(filter))
    assert bool(tree.match(topic)) is expected
    names = NameTree()
    names.put(a_named_entry(topic))
    assert bool(names.search(filter).take(1, 1_000)) is expected


@given(st.lists(st.tuples(st.booleans(), filters())), st.lists(topics(), min_size=1))
def test_filter_tree_is_the_set_of_its_filters(
    steps: list[tuple[bool, str]], probes: list[str]
) -> None:
    tree = FilterTree()
    model: dict[str, TreeEntry] = {}
    for add, filter in steps:
        if add:
            model[filter] = TreeEntry(filter)
            tree.put(model[filter])
        else:
            assert tree.remove(filter) is model.pop(filter, None)
        assert len(tree) == len(model)
        assert tree.get(filter) is model.get(filter)
    for topic in probes:
        found = sorted(entry.filter for entry in tree.match(topic))
        assert found == sorted(filter for filter in model if matches(filter, topic))


@given(st.lists(st.tuples(st.booleans(), topics())), st.lists(filters(), min_size=1))
def test_name_tree_is_the_map_of_its_names(
    steps: list[tuple[bool, str]], probes: list[str]
) -> None:
    tree = NameTree()
    model: dict[str, NameEntry] = {}
    for add, name in steps:
        if add:
            model[name] = a_named_entry(name)
            before = tree.nodes
            growth = tree.growth(name)
            tree.put(model[name])
            assert tree.nodes == before + growth
        else:
            assert tree.remove(name) is model.pop(name, None)
        assert len(tree) == len(model)
        assert tree.get(name) is model.get(name)
    assert set(tree.everything().take(len(steps), 100_000)) == set(model.values())
    for filter in probes:
        found = tree.search(filter).take(len(steps), 100_000)
        assert len(found) == len(set(found))
        assert set(found) == {model[name] for name in model if matches(filter, name)}
    for name in model:
        tree.remove(name)
    assert tree.nodes == 0


def test_deep_names_do_not_recurse() -> None:
    deep = "/".join("x" * 20_000)
    names = NameTree()
    names.put(a_named_entry(deep))
    names.put(a_named_entry(deep + "/y"))
    filters_tree = FilterTree()
    filters_tree.put(TreeEntry(deep))
    filters_tree.put(TreeEntry("/".join(["+"] * 20_000)))
    assert len(names.search("x/#").take(2, 100_000)) == 2
    assert len(filters_tree.match(deep)) == 2
    removed = names.remove(deep)
    assert removed is not None
    assert removed.name() == deep
    assert filters_tree.remove(deep) is not None
    assert len(filters_tree) == 1


def test_a_subclass_of_entry_comes_back() -> None:
    class Subscribers(TreeEntry):
        def __init__(self, filter: str) -> None:
            super().__init__(filter)
            self.clients = ["c1"]

    tree = FilterTree()
    tree.put(Subscribers("a/+"))
    [entry] = tree.match("a/b")
    assert isinstance(entry, Subscribers)
    assert entry.clients == ["c1"]
