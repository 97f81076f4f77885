"""How the brokers of a trial are joined: who dials whom. Every shape is connected."""

from collections.abc import Callable
from random import Random

Links = list[list[int]]


def tree(random: Random, brokers: int) -> Links:
    return [_pair(random, number, random.randrange(number)) for number in range(1, brokers)]


def ring(random: Random, brokers: int) -> Links:
    links = [_pair(random, number, number - 1) for number in range(1, brokers)]
    return [*links, _pair(random, 0, brokers - 1)]


def grid(random: Random, brokers: int) -> Links:
    """Two rows, the lower one perhaps shorter."""
    columns = (brokers + 1) // 2
    rows = [_pair(random, n, n + 1) for n in range(brokers - 1) if (n + 1) % columns]
    return rows + [_pair(random, n, n + columns) for n in range(brokers - columns)]


def graph(random: Random, brokers: int) -> Links:
    """A tree and some links more, the same pair twice now and then."""
    links = tree(random, brokers)
    for _ in range(random.randint(1, brokers)):
        one = random.randrange(brokers)
        other = random.randrange(brokers)
        if one != other:
            links.append([one, other])
    return links


def _pair(random: Random, one: int, other: int) -> list[int]:
    return [one, other] if random.random() < 0.5 else [other, one]


SHAPES: dict[str, Callable[[Random, int], Links]] = {
    "tree": tree,
    "ring": ring,
    "grid": grid,
    "graph": graph,
}


def are_joined(links: Links, brokers: list[int]) -> bool:
    """Whether these brokers are, without help of others."""
    inside = {frozenset(link) for link in links if set(link) <= set(brokers)}
    return all(_path(inside, brokers[0], other) for other in brokers[1:])


def is_firm(links: Links, one: int, other: int) -> bool:
    """Whether one way and no other joins these two: each link on it is a bridge."""
    pairs = {frozenset(link) for link in links}
    path = _path(pairs, one, other)
    return all(not _path(pairs - {link}, *sorted(link)) for link in path)


def _path(pairs: set[frozenset[int]], one: int, other: int) -> list[frozenset[int]]:
    """Some way, as the links on it."""
    ways: dict[int, list[frozenset[int]]] = {one: []}
    waiting = [one]
    while waiting:
        here = waiting.pop()
        for pair in sorted(pairs, key=sorted):
            if here in pair:
                (there,) = pair - {here}
                if there not in ways:
                    ways[there] = [*ways[here], pair]
                    waiting.append(there)
    return ways.get(other, [])
