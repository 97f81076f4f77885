"""The area of an operator subscription: whether what a publication is about lies in it.

The operators do not know who follows whom, and how old a position may be; the broker brings a test
that does.
"""

from typing import Final

from gossamer.geo.geolocation import Place

# The keys of states with an area begin with it, and those of others do not.
LOCATED_KEY: Final = "located "


class AreaTest:
    """`key` tells areas of the same operator apart. `changes` if the same place may be in the area
    at one time and not at another. `size` are the bytes that it takes."""

    def __init__(self, key: str, changes: bool, size: int = 0) -> None:
        self.key = key
        self.changes = changes
        self.size = size

    def admits(self, place: Place | None, now: float) -> bool:
        """Whether it is in the area; what is about no place is wanted everywhere."""
        raise NotImplementedError
