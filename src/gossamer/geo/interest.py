"""What one subscription is interested in: its areas, or the place where its client is.

An interest moves with its client in place: the shapes and the fences that follow it are put
around the new position, and nothing else is touched. A fence is one ball of an interest, as the
spatial index keeps it.
"""

from typing import Final

from gossamer.geo.areas import Areas
from gossamer.geo.circle import Circle
from gossamer.geo.earth import Point, longest_chord, wrapped
from gossamer.geo.shape import Region, Shape

# A position is a point, and GLP's finest unit is how far apart two of them may be and still meet.
SAME_PLACE: Final = 0.01  # metres


class Fence:
    """Points with a longer squared chord than `outer2` are outside; with a shorter one than
    `inner2` the interest surely contains them."""

    __slots__ = (
        "follows",
        "inner2",
        "interest",
        "lat",
        "level",
        "lon",
        "outer2",
        "reach",
        "x",
        "y",
        "z",
    )

    def __init__(
        self, interest: "Interest", at: Point, reach: float, sure: float, follows: bool
    ) -> None:
        outer = longest_chord(reach)
        self.interest = interest
        self.x = at.x
        self.y = at.y
        self.z = at.z
        self.lat = at.lat
        self.lon = wrapped(at.lon)
        self.reach = reach
        self.outer2 = outer * outer
        self.inner2 = sure * sure if sure > 0.0 else -1.0
        self.follows = follows
        self.level = 0

    def put(self, at: Point) -> None:
        self.x = at.x
        self.y = at.y
        self.z = at.z
        self.lat = at.lat
        self.lon = wrapped(at.lon)


class Interest:
    """`holder` is whose interest it is; this room does not look at it. One that is never to be in
    an index is not `indexed`: it has no fences, which would lead back to it."""

    __slots__ = (
        "areas",
        "fences",
        "followers",
        "follows",
        "holder",
        "indexed",
        "position",
        "position_at",
        "region",
        "visited",
    )

    def __init__(
        self,
        holder: object,
        areas: Areas,
        position: Point | None,
        position_at: float,
        indexed: bool = True,
    ) -> None:
        self.holder = holder
        self.areas = areas
        self.position = position
        self.position_at = position_at
        self.indexed = indexed
        self.follows = areas.follows
        self.visited = 0  # the number of the query that looked at it last
        self.followers: list[Shape] = []
        self.fences: list[Fence] = []
        self.region = self._shaped()

    def _shaped(self) -> Region:
        shapes: list[Shape] = []
        adds: list[bool] = []
        position = self.position
        self.followers = []
        self.fences = []
        alone = len(self.areas) == 1
        for area in self.areas.listed:
            shape = area.fixed
            if shape is None:
                if position is None or not area.follows():
                    continue
                shape = area.around(position)
                self.followers.append(shape)
            shapes.append(shape)
            adds.append(area.add)
            if area.add:
                self._fence(shape, alone, area.fixed is None)
        if self.areas.is_position and position is not None:
            here = Circle(position, SAME_PLACE)
            self.followers.append(here)
            shapes.append(here)
            adds.append(True)
            self._fence(here, True, True)
        return Region(shapes, adds)

    def _fence(self, shape: Shape, alone: bool, follows: bool) -> None:
        if not self.indexed:
            return
        sure = shape.sure_chord() if alone else -1.0
        for ball in shape.balls():
            self.fences.append(Fence(self, ball.centre, ball.reach, sure, follows))

    def put(self, areas: Areas) -> None:
        """Other areas; who has it in an index takes it out before, and puts it in again."""
        self.areas = areas
        self.follows = areas.follows
        self.region = self._shaped()

    def close(self) -> None:
        """Nobody has it any more: nothing that it made leads back to it."""
        self.holder = None
        self.fences = []

    def known_by(self, oldest: float) -> Region:
        """The region, less what follows a position that is older than `oldest`."""
        if not self.follows or self.position_at >= oldest:
            return self.region
        return self.areas.region(None)

    def move(self, position: Point, now: float) -> None:
        """Follow the client. Its first position makes new fences; later ones leave them alone."""
        first = self.position is None
        self.position = position
        self.position_at = now
        if first:
            self.region = self._shaped()
        for shape in self.followers:
            shape.move(position)
