"""What a message speaks of: its areas, or, if it has none, the place where its publisher is."""

from typing import Final

from gossamer.geo.areas import NO_AREAS
from gossamer.geo.earth import Point
from gossamer.geo.glp import Glp
from gossamer.geo.regions import Region

NOWHERE: Final = Region([], [])


class Place:
    """A point, or, if `point` is None, a region. `position` is where the publisher said it is."""

    __slots__ = ("point", "position", "region")

    def __init__(self, point: Point | None, region: Region, position: Point | None) -> None:
        self.point = point
        self.region = region
        self.position = position


def place_of(glp: Glp | None, known: Point | None) -> Place | None:
    """None if the message says nothing about places. `known` is where the publisher was last.

    Raises GlpError if one id is given to two shapes.
    """
    if glp is None:
        return None
    position = glp.position if glp.position is not None else known
    if glp.areas:
        return Place(None, NO_AREAS.changed(glp.areas).region(position), glp.position)
    if glp.position is not None:
        return Place(glp.position, NOWHERE, glp.position)
    return None
