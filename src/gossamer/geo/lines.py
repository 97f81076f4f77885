"""The line entries of GLP: `gpl_lineStart`, any `gpl_linePoint`s, `gpl_lineEnd` make one area.

The start gives the area its id, its flag and its thickness; those of the others are only checked.
"""

from typing import Final

from gossamer.geo.areas import Area
from gossamer.geo.earth import Point
from gossamer.geo.fields import read_length, read_point
from gossamer.geo.forms import MAX_POINTS, Head
from gossamer.geo.line import Line

START: Final = "gpl_lineStart"
POINT: Final = "gpl_linePoint"
END: Final = "gpl_lineEnd"
LINE_KEYS: Final = (START, POINT, END)


class LineReader:
    """Collects the entries of one line after another."""

    __slots__ = ("add", "entries", "number", "points", "thickness")

    def __init__(self) -> None:
        self.number = 0
        self.add = False
        self.thickness = 0.0
        self.points: list[Point] = []
        self.entries: list[tuple[str, str]] = []

    def is_open(self) -> bool:
        return len(self.points) > 0

    def read(self, key: str, text: str) -> Area | None:
        """The area, once its end is there. Raises ValueError, saying what is wrong."""
        if key == START:
            self._start(text)
        elif not self.points:
            raise ValueError(f"comes before any {START}")
        else:
            head = Head(text, ("point_lat", "point_lon"))
            self.points.append(read_point(head.rest[0], head.rest[1]))
        if len(self.points) > MAX_POINTS:
            raise ValueError(f"more than {MAX_POINTS} points")
        self.entries.append((key, text))
        return self._ended() if key == END else None

    def _start(self, text: str) -> None:
        if self.points:
            raise ValueError(f"comes before the line has a {END}")
        head = Head(text, ("point_lat", "point_lon", "thickness"))
        self.number = head.number
        self.add = head.add
        self.thickness = read_length(head.rest[2], head.unit, "thickness")
        self.points = [read_point(head.rest[0], head.rest[1])]
        self.entries = []

    def _ended(self) -> Area:
        line = Line(self.points, self.thickness)
        self.points = []
        return Area(self.number, "line", self.add, line, (), self.entries)
