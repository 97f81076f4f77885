"""What GLP says of a subscription, its areas and events, and of a message, its place."""

from dataclasses import dataclass
from typing import Final

from gossamer.geo.areas import NO_AREAS, Areas
from gossamer.geo.earth import Point
from gossamer.geo.glp import Glp, parse, position_entry
from gossamer.geo.shape import Region


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """Never changes; `changed` makes another. None stands for what the broker has by default."""

    areas: Areas
    events: list[str]
    dwell: float | None = None
    hysteresis: float | None = None

    def changed(self, glp: Glp) -> "Located":
        """After another SUBSCRIBE to the same filter; what it does not mention stays.

        Raises GlpError.
        """
        return Located(
            self.areas.changed(glp.areas),
            glp.events if glp.events else self.events,
            self.dwell if glp.dwell is None else glp.dwell,
            self.hysteresis if glp.hysteresis is None else glp.hysteresis,
        )

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
