"""How much work one message may make of its geometry.

Work is counted in points looked at, not in seconds, so that the same message costs the same
everywhere. Two areas of a thousand corners each can be laid so that whether they meet takes
millions of looks; others wait for that. Past the effort the answer is yes, as far as the balls
around the two say so: a message too many, never one too few.
"""

from typing import Final

# A look takes 7 to 30 ns compiled: together no more than three milliseconds.
MESSAGE_POINTS: Final = 100_000
# Every pair of regions has so much beside it, so that ordinary shapes are decided however many
# subscriptions there are; only what is above it is charged to the message.
PAIR_POINTS: Final = 1_000


class Effort:
    """`spent` is all that was done; `undecided` counts the pairs that were cut short."""

    __slots__ = ("_pair", "left", "spent", "undecided")

    def __init__(self, points: int = MESSAGE_POINTS) -> None:
        self.left = points
        self.spent = 0
        self.undecided = 0
        self._pair = 0

    def begin_pair(self) -> None:
        """Two other regions."""
        self._pair = PAIR_POINTS

    def spend(self, points: int) -> bool:
        """Before so many points are looked at: False if they must not be."""
        if points > self._pair + self.left:
            return False
        self.spent += points
        if points <= self._pair:
            self._pair -= points
        else:
            self.left -= points - self._pair
            self._pair = 0
        return True


class Unbounded(Effort):
    """For those who wait for nobody else."""

    __slots__ = ()

    def spend(self, points: int) -> bool:
        self.spent += points
        return True
