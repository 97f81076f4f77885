"""A search goes on through whatever comes and goes, held against a plain dictionary."""

import random

import pytest

from gossamer.topics.name_tree import WIDE, NameEntry, NameSearch, NameTree
from gossamer.topics.names import matches
from tests.support.named_entries import a_named_entry

LEVELS = ("a", "b", "c", "", "$x")
FILTERS = ("#", "+", "a/#", "+/b", "a/+/c", "+/+", "b/#", "a/b", "+/b/#", "$x/#", "$x/+", "a/b/c/#")


class Judged:
    """A search with what it has to give and must not give."""

    def __init__(self, names: NameSearch, filter: str, model: dict[str, NameEntry]) -> None:
        self.names = names
        self.filter = filter
        self.always = {name for name in model if filter == "" or matches(filter, name)}
        self.given: set[str] = set()

    def removed(self, name: str) -> None:
        self.always.discard(name)

    def go_on(self, model: dict[str, NameEntry], most: int, steps: int) -> None:
        found = self.names.take(most, steps)
        assert len(found) <= most
        for entry in found:
            name = entry.name()
            assert model.get(name) is entry, f"{name} is gone or another"
            assert not self.filter or matches(self.filter, name)
            assert name not in self.given, f"{name} was given twice"
            self.given.add(name)
        if self.names.is_done():
            assert self.always <= self.given, f"{self.always - self.given} were passed over"


@pytest.mark.parametrize("seed", range(60))
def test_a_search_misses_nothing_and_repeats_nothing(seed: int) -> None:
    draw = random.Random(seed)
    tree = NameTree()
    model: dict[str, NameEntry] = {}
    searches: list[Judged] = []
    put_share = draw.choice((0.4, 0.55, 0.7))
    ended = 0
    for _ in range(3_000):
        name = "/".join(draw.choices(LEVELS, k=draw.randint(1, 5))) or "/"
        chance = draw.random()
        if chance < put_share:
            model[name] = a_named_entry(name)
            tree.put(model[name])
        elif chance < 0.8:
            if model and draw.random() < 0.8:
                name = draw.choice(list(model))
            assert tree.remove(name) is model.pop(name, None)
            for one in searches:
                one.removed(name)
        elif chance < 0.85 and len(searches) < 5:
            filter = draw.choice((*FILTERS, ""))
            names = tree.search(filter) if filter else tree.everything()
            searches.append(Judged(names, filter, model))
        elif searches:
            one = draw.choice(searches)
            one.go_on(model, draw.randint(1, 5), draw.randint(1, 8))
            if one.names.is_done():
                searches.remove(one)
                ended += 1
        assert len(tree) == len(model)
    assert ended > 5
    for one in searches:
        while not one.names.is_done():
            one.go_on(model, 5, 50)


@pytest.mark.parametrize("seed", range(4))
def test_very_many_children_are_divided_and_none_is_missed(seed: int) -> None:
    """Before, while and after a search is among them, and until all are gone."""
    draw = random.Random(seed)
    tree = NameTree()
    model: dict[str, NameEntry] = {}

    def put(number: int) -> None:
        name = f"wide/{number}" + draw.choice(("", "", "/x"))
        model[name] = a_named_entry(name)
        tree.put(model[name])

    for number in range(WIDE - 500 * seed):
        put(number)
    searches = [Judged(tree.search(f), f, model) for f in ("wide/+", "#", "wide/+/x", "+/7")]
    number = WIDE
    while any(not one.names.is_done() for one in searches):
        for _ in range(50):
            put(number)
            number += 1
        for name in draw.sample(list(model), 20):
            tree.remove(name)
            del model[name]
            for one in searches:
                one.removed(name)
        for one in searches:
            one.go_on(model, draw.randint(50, 400), draw.randint(50, 800))
    last = Judged(tree.everything(), "", model)
    last.go_on(model, 100, 100)
    for name in list(model):
        assert tree.remove(name) is model.pop(name)
        last.removed(name)
    assert tree.nodes == 0
    put(1)
    while not last.names.is_done():
        last.go_on(model, 100, 100)
