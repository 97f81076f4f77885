"""The areas of one operation or subscription, in order, each under its id.

Sent again under the same id, an area takes the place of the old one; only the shape may not
change. One that was included (`or=1`) and is sent with `or=0` is removed, and its id is free again;
one that was first sent with `or=0` is excluded, and stays. Dynamic areas are kept as sizes and get
their shape from the position of their client.
"""

from collections.abc import Mapping
from typing import Final

from gossamer.geo.circle import Circle
from gossamer.geo.earth import Point
from gossamer.geo.rectangle import Rectangle
from gossamer.geo.shape import Region, Shape
from gossamer.wire.reasons import IMPLEMENTATION_SPECIFIC_ERROR, PAYLOAD_FORMAT_INVALID

MAX_AREAS: Final = 256  # of one subscription or message: each is tested for every point


# That move with one client, in all its subscriptions: each is moved when it says where it is.
MAX_FOLLOWING: Final = 2000
# Of all areas together: whoever is told of a place looks at each of them.
MAX_POINTS_IN_ALL: Final = 2000


class GlpError(ValueError):
    """A GLP entry is refused. `reason` is the MQTT 5 code, `text` names the entry and says why.

    0x99 is for text that is not GLP; 0x83 for well-formed GLP that the broker will not take (too
    much of it, or at odds with what it already has).
    """

    def __init__(self, reason: int, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


def malformed(entry: str, why: str) -> GlpError:
    return GlpError(PAYLOAD_FORMAT_INVALID, f"{entry}: {why}")


def refused(entry: str, why: str) -> GlpError:
    return GlpError(IMPLEMENTATION_SPECIFIC_ERROR, f"{entry}: {why}")


class Area:
    """One area as sent. `fixed` is its shape, or None if it is dynamic and `sizes` are known.

    One with a `name` is a place that a broker keeps: it has that in place of a number, and its
    shape, if the place is known, as long as that does not change.
    """

    __slots__ = ("add", "entries", "fixed", "kind", "label", "name", "number", "sizes")

    def __init__(
        self,
        number: int,
        kind: str,
        add: bool,
        fixed: Shape | None,
        sizes: tuple[float, ...],
        entries: list[tuple[str, str]],
        name: str = "",
    ) -> None:
        self.number = number
        self.name = name
        self.label = f"={name}" if name else str(number)
        self.kind = kind
        self.add = add
        self.fixed = fixed
        self.sizes = sizes
        self.entries = entries

    def follows(self) -> bool:
        """Whether it moves with its client."""
        return self.fixed is None and len(self.sizes) > 0

    def points(self) -> int:
        return 1 if self.fixed is None else self.fixed.points()

    def around(self, position: Point) -> Shape:
        """The shape of a dynamic area while its client is there."""
        if self.kind == "circle":
            return Circle(position, self.sizes[0])
        return Rectangle(position, self.sizes[0], self.sizes[1])


# An area that was there and was removed: how a subscription that has lost all of its areas is kept,
# which is not one that never had any. Earlier versions read it as an area that excludes itself.
_REMOVED: Final = [
    ("gpl_circleStatic", "0;m;1;0;0;1"),
    ("gpl_circleStatic", "0;m;0;0;0;1"),
]


class Areas:
    """Never changes; `changed` makes another.

    `is_position` if no area was ever named: then it is the client's position that counts. Whoever
    removed the last area is interested in no place, not in its own, and not in all of them.

    Long edges count as more than their corners: every 50 km have a point of their own.
    """

    __slots__ = ("follows", "is_position", "listed", "names")

    def __init__(self, listed: list[Area], had_areas: bool = False) -> None:
        self.listed = listed
        self.is_position = not listed and not had_areas
        self.follows = self.is_position or any(area.follows() for area in listed)
        self.names = [area.name for area in listed if area.name]  # of places that a broker keeps

    def __len__(self) -> int:
        return len(self.listed)

    def changed(self, sent: list[Area]) -> "Areas":
        """These areas with the sent ones put in, in order; raises GlpError and changes nothing."""
        by_label = {area.label: area for area in self.listed}
        for area in sent:
            known = by_label.get(area.label)
            if known is not None and known.kind != area.kind:
                key = area.entries[0][0]
                raise refused(key, f"area {area.number} is a {known.kind} already")
            if known is not None and known.add and not area.add:
                del by_label[area.label]
            else:
                by_label[area.label] = area
        if len(by_label) > MAX_AREAS:
            key = sent[-1].entries[0][0]
            raise refused(key, f"more than {MAX_AREAS} areas")
        return Areas(list(by_label.values()), len(sent) > 0 or not self.is_position)

    def resolved(self, shapes: Mapping[str, Shape]) -> "Areas":
        """With the places that they name as these are now; one that is not there is nowhere."""
        if not self.names:
            return self
        listed = [
            area
            if not area.name
            else Area(0, area.kind, area.add, shapes.get(area.name), (), area.entries, area.name)
            for area in self.listed
        ]
        return Areas(listed, True)

    def following(self) -> int:
        """How many move with their client; without any area its position does."""
        return 1 if self.is_position else sum([area.follows() for area in self.listed])

    def check_points(self) -> None:
        """Raises GlpError if there are more points than a client may have looked at."""
        if self.listed and sum([area.points() for area in self.listed]) > MAX_POINTS_IN_ALL:
            key = self.listed[-1].entries[0][0]
            raise refused(key, f"more than {MAX_POINTS_IN_ALL} points in all areas together")

    def region(self, position: Point | None) -> Region:
        """Without a position, dynamic areas are nowhere."""
        shapes: list[Shape] = []
        adds: list[bool] = []
        for area in self.listed:
            if area.fixed is not None:
                shapes.append(area.fixed)
                adds.append(area.add)
            elif position is not None and area.follows():
                shapes.append(area.around(position))
                adds.append(area.add)
        return Region(shapes, adds)

    def entries(self) -> list[tuple[str, str]]:
        """As User Properties: parsing them gives these areas again."""
        if not self.listed and not self.is_position:
            return list(_REMOVED)
        return [entry for area in self.listed for entry in area.entries]


NO_AREAS: Final = Areas([])
