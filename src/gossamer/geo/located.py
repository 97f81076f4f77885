"""What a subscription asked for in GLP, as it is kept: its areas, and the events it wants."""

from gossamer.geo.areas import NO_AREAS, Areas
from gossamer.geo.earth import Point
from gossamer.geo.glp import POSITION, Glp, parse


class Located:
    """Never changes; `changed` makes another. None stands for what the broker has by default."""

    __slots__ = ("areas", "dwell", "events", "hysteresis")

    def __init__(
        self,
        areas: Areas,
        events: list[str],
        dwell: float | None = None,
        hysteresis: float | None = None,
    ) -> None:
        self.areas = areas
        self.events = events
        self.dwell = dwell
        self.hysteresis = hysteresis

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
            entries.append((POSITION, f"{position.lat!r};{position.lon!r}"))
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
