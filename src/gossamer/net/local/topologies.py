"""How the brokers of a local mesh are joined.

Three trees, the shapes of the paper (SSF, Figure 11), where each broker but the first dials one;
and three with more links than a tree needs.
"""

from collections.abc import Callable
from random import Random
from typing import Final

Edges = list[tuple[int, int]]

# From a broker's number to that of the one it dials; number 0 dials nobody.
PARENTS: Final[dict[str, Callable[[int], int]]] = {
    "linear": lambda number: number - 1,
    "binary": lambda number: (number - 1) // 2,
    "star": lambda number: 0,
}


def _ring(brokers: int) -> Edges:
    closing = [(0, brokers - 1)] if brokers > 2 else []
    return [(number - 1, number) for number in range(1, brokers)] + closing


def _grid(brokers: int) -> Edges:
    """As square as it gets; the last row may be short."""
    columns = round(brokers**0.5)
    across = [(n - 1, n) for n in range(1, brokers) if n % columns]
    return across + [(n - columns, n) for n in range(columns, brokers)]


def _random(brokers: int) -> Edges:
    """Always the same for as many brokers: a tree, and half as many links more."""
    chance = Random(brokers)
    edges = [(chance.randrange(number), number) for number in range(1, brokers)]
    for _ in range(brokers // 2):
        near, far = sorted(chance.sample(range(brokers), 2)) if brokers > 1 else (0, 0)
        if near != far and (near, far) not in edges:
            edges.append((near, far))
    return edges


GRAPHS: Final[dict[str, Callable[[int], Edges]]] = {
    "ring": _ring,
    "grid": _grid,
    "random": _random,
}
TOPOLOGIES: Final = (*PARENTS, *GRAPHS)


def edges(topology: str, brokers: int) -> Edges:
    """Every link as (who is dialled, who dials)."""
    if topology in GRAPHS:
        return GRAPHS[topology](brokers)
    parent = PARENTS[topology]
    return [(parent(number), number) for number in range(1, brokers)]
