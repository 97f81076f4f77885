"""Work for one packet that is too much for one turn: done in parts, and others are served between.

What follows the packet on its connection waits until it is done, so that a client sees its packets
handled in their order. No answer is given before the end. What it holds meanwhile is charged; where
there is no room for that, it is done at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection


class Unfinished:
    """The rest of the work; a connection has one at most."""

    def __init__(self, size: int) -> None:
        self.size = size  # bytes that the packet takes as long as it is not done

    def go_on(self, connection: Connection, now: float) -> bool:
        """Does the next part; True if it was the last."""
        return True
