"""How the brokers of a local mesh are joined. Every shape is a tree: each but the first dials one.

The paper's three shapes (SSF, Figure 11).
"""

from collections.abc import Callable
from typing import Final

# From a broker's number to that of the one it dials; number 0 dials nobody.
PARENTS: Final[dict[str, Callable[[int], int]]] = {
    "linear": lambda number: number - 1,
    "binary": lambda number: (number - 1) // 2,
    "star": lambda number: 0,
}


def edges(topology: str, brokers: int) -> list[tuple[int, int]]:
    """Every link as (who is dialled, who dials)."""
    parent = PARENTS[topology]
    return [(parent(number), number) for number in range(1, brokers)]
