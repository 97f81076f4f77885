"""What GLP says of a subscription, its areas and events, and of a message, its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gossamer.geo.areas import NO_AREAS, Areas, refused
from gossamer.geo.earth import Point
from gossamer.geo.glp import DWELL, PLACE, Glp, parse, position_entry
from gossamer.geo.shape import Region, Shape


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """Never changes; `changed` makes another. None stands for what the broker has by default."""

    areas: Areas
    events: list[str]
    dwell: float | None = None
    hysteresis: float | None = None

    def changed(self, glp: Glp) -> "Located":
        """After another SUBSCRIBE to the same filter; what it does not mention stays. A time to
        stay without a word about events asks to hear of who stays.

        Raises GlpError.
        """
        events = glp.events if glp.events else self.events
        if not events and glp.dwell is not None:
            events = [DWELL]
        return Located(
            self.areas.changed(glp.areas),
            events,
            self.dwell if glp.dwell is None else glp.dwell,
            self.hysteresis if glp.hysteresis is None else glp.hysteresis,
        )

    def resolved(self, shapes: Mapping[str, Shape]) -> "Located":
        """With the places that it names as these are now."""
        if not self.areas.names:
            return self
        return Located(self.areas.resolved(shapes), self.events, self.dwell, self.hysteresis)

    def entries(self, position: Point | None) -> list[tuple[str, str]]:
        """As User Properties that `read` understands; `position` is where the client is."""
        entries = self.areas.entries()
        if position is not None:
            entries.append(position_entry(position))
        if self.events:
            entries.append(("gpl_events", ",".join(self.events)))
        if self.dwell is not None:
            entries.append(("gpl_dwell", repr(self.dwell)))
        if self.hysteresis is not None:
            entries.append(("gpl_hysteresis", f"{self.hysteresis!r};m"))
        return entries


NOT_LOCATED = Located(NO_AREAS, [])


def read_located(entries: list[tuple[str, str]]) -> Located | None:
    """What `entries` kept; None if there is no GLP among them. Raises GlpError."""
    glp = parse(entries)
    return None if glp is None else NOT_LOCATED.changed(glp)


NOWHERE: Final = Region([], [])


NO_SHAPES: Final[Mapping[str, Shape]] = {}


def check_names(areas: Areas, shapes: Mapping[str, Shape]) -> None:
    """Raises GlpError if one of them is a place that is not known."""
    for name in areas.names:
        if name not in shapes:
            raise refused(f"{PLACE} {name!r}", "there is no such place here")


class Place:
    """A point, or, if `point` is None, a region. `position` is where the publisher said it is."""

    __slots__ = ("point", "position", "region")

    def __init__(self, point: Point | None, region: Region, position: Point | None) -> None:
        self.point = point
        self.region = region
        self.position = position


def place_of(
    glp: Glp | None, known: Point | None, shapes: Mapping[str, Shape] = NO_SHAPES
) -> Place | None:
    """None if the message says nothing about places. `known` is where the publisher was last;
    `shapes` are those of the places that have a name.

    Raises GlpError if one id is given to two shapes, or a place is not known.
    """
    if glp is None:
        return None
    position = glp.position if glp.position is not None else known
    if glp.areas:
        areas = NO_AREAS.changed(glp.areas)
        check_names(areas, shapes)
        return Place(None, areas.resolved(shapes).region(position), glp.position)
    if glp.position is not None:
        return Place(glp.position, NOWHERE, glp.position)
    return None
