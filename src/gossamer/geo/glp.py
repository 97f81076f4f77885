"""GLP, the geolocation payload: from the User Properties of a packet to a position and areas.

Every entry whose key starts with `gpl_` is read or refused; all others are none of our business.
User Properties come from strangers, so their count and length are capped, and what is refused is
refused with a text that names the entry.
"""

from collections.abc import Callable
from typing import Final

from gossamer.geo.areas import MAX_AREAS, MAX_POINTS_IN_ALL, Area, malformed, refused
from gossamer.geo.earth import Point
from gossamer.geo.glp_entries import (
    FORMS,
    LINE_KEYS,
    LONG,
    MAX_POINTS,
    LineReader,
    read_area,
    read_decimal,
    read_flag,
    read_length,
    read_place,
    read_point,
    read_unit,
    shown,
)
from gossamer.geo.rings import NO_LIMIT, SENT_LOOKS

PREFIX: Final = "gpl_"
# How the paper's name for it, GLP, makes people spell it.
_MISSPELT: Final = "glp_"
POSITION: Final = "gpl_current_pos"
PLACE: Final = "gpl_area"

ENTER: Final = "enter"
EXIT: Final = "exit"
DWELL: Final = "dwell"
EVENT_NAMES: Final = (ENTER, EXIT, DWELL)

MAX_ENTRIES: Final = MAX_AREAS + MAX_POINTS
MAX_LENGTH: Final = 256  # characters of an entry with a fixed number of fields
MAX_DWELL: Final = 7 * 86400.0  # seconds


def misspelt(user: list[tuple[str, str]]) -> str:
    """A hint about keys that look like GLP and are not, "" if there are none: they are somebody's
    own properties, and say nothing about places."""
    for key, _ in user:
        if key.startswith(_MISSPELT):
            meant = PREFIX + key[len(_MISSPELT) :]
            return (
                f"{key[:MAX_LENGTH]} says nothing about places here; is {meant[:MAX_LENGTH]} meant?"
            )
    return ""


class Glp:
    """What one packet says about places. Absent: None, or no areas."""

    __slots__ = ("areas", "dwell", "events", "hysteresis", "ping", "position")

    def __init__(self) -> None:
        self.position: Point | None = None
        self.areas: list[Area] = []
        self.events: list[str] = []
        self.dwell: float | None = None  # seconds
        self.hysteresis: float | None = None  # metres
        self.ping = False


def position_entry(point: Point) -> tuple[str, str]:
    """As a User Property."""
    return POSITION, f"{point.lat!r};{point.lon!r}"


def parse_sent(user: list[tuple[str, str]]) -> Glp | None:
    """As `parse`, of a packet that a client sends: everything it says costs others time."""
    return parse(user, MAX_POINTS_IN_ALL, SENT_LOOKS)


def parse(
    user: list[tuple[str, str]], most_points: int = NO_LIMIT, looks: int = NO_LIMIT
) -> Glp | None:
    """None if no entry is GLP. Raises GlpError."""
    entries = [(key, text) for key, text in user if key.startswith(PREFIX)]
    if not entries:
        return None
    if len(entries) > MAX_ENTRIES:
        raise refused(entries[MAX_ENTRIES][0][:MAX_LENGTH], f"more than {MAX_ENTRIES} GLP entries")
    glp = Glp()
    line = LineReader()
    counted = 0
    points = 0
    for key, text in entries:
        if len(text) > MAX_LENGTH and key not in LONG:
            raise refused(key[:MAX_LENGTH], f"longer than {MAX_LENGTH} characters")
        try:
            _read_entry(glp, line, key, text, looks)
        except ValueError as error:
            raise malformed(f"{key[:MAX_LENGTH]} {shown(text)}", str(error)) from None
        if len(glp.areas) > MAX_AREAS:
            raise refused(key, f"more than {MAX_AREAS} areas")
        if len(glp.areas) > counted:
            counted = len(glp.areas)
            points += glp.areas[-1].points()
            if points > most_points:
                raise refused(key, f"more than {most_points} points in all areas together")
    if line.is_open():
        key, text = line.entries[-1]
        raise malformed(f"{key} {shown(text)}", "the line has no gpl_lineEnd")
    return glp


def _read_entry(glp: Glp, line: LineReader, key: str, text: str, looks: int) -> None:
    if key in SETTINGS:
        SETTINGS[key](glp, text)
    elif key in LINE_KEYS:
        area = line.read(key, text)
        if area is not None:
            glp.areas.append(area)
    elif key not in FORMS and key != PLACE:
        raise ValueError("there is no such entry in GLP")
    elif line.is_open():
        raise ValueError("comes before the line has a gpl_lineEnd")
    elif key == PLACE:
        glp.areas.append(read_place(key, text))
    else:
        glp.areas.append(read_area(key, text, looks))


def _position(glp: Glp, text: str) -> None:
    if glp.position is not None:
        raise ValueError("is there twice")
    lat, lon = _pair(text, "lat;lon")
    glp.position = read_point(lat, lon)


def _events(glp: Glp, text: str) -> None:
    for name in text.split(","):
        if name.strip() not in EVENT_NAMES:
            raise ValueError(f"event {shown(name)} is none of {', '.join(EVENT_NAMES)}")
        glp.events.append(name.strip())


def _dwell(glp: Glp, text: str) -> None:
    seconds = read_decimal(text, "time")
    if not 0.0 < seconds <= MAX_DWELL:
        raise ValueError(f"is not more than 0 and at most {MAX_DWELL:.0f} seconds")
    glp.dwell = seconds


def _hysteresis(glp: Glp, text: str) -> None:
    number, unit = _pair(text, "distance;unit")
    glp.hysteresis = read_length(number, read_unit(unit), "distance")


def _ping(glp: Glp, text: str) -> None:
    glp.ping = read_flag(text, "it")


def _pair(text: str, form: str) -> tuple[str, str]:
    fields = text.split(";")
    if len(fields) != 2:
        raise ValueError(f"is not {form}")
    return fields[0], fields[1]


SETTINGS: Final[dict[str, Callable[[Glp, str], None]]] = {
    POSITION: _position,
    "gpl_events": _events,
    "gpl_dwell": _dwell,
    "gpl_hysteresis": _hysteresis,
    "gpl_ping": _ping,
}
