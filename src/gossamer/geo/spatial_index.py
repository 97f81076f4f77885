"""The spatial index: of a million fences, the few that a point or a region may touch.

Levels of cells, each level half as large as the one before. A fence is in the few cells that it
touches, on the finest level whose cells are at least as wide as the fence; so a point finds all
its fences in one cell on each level in use. A band of latitude has as many columns as fit, one at
the poles, and columns close into a ring: no place is special. Moving a fence within its cells
changes only its coordinates.
"""

import math
from typing import Final

from gossamer.geo.earth import SHARPEST, Point, longest_chord, wrapped
from gossamer.geo.interest import Fence, Interest
from gossamer.geo.overlap import UNBOUNDED, Effort, meet
from gossamer.geo.shape import Ball, Region

FIRST: Final = 3  # cells of 22.5 degrees; what is wider is few and is looked at every time
LAST: Final = 20  # cells of 19 metres; finer ones would cost more levels than they save fences
WIDE: Final = LAST + 1  # the level of what is wider than a cell of the first
BAND_SHIFT: Final = 22  # bits for the column: no band has more than two million

TABLED: Final = 12  # cells of 4.9 km: the finest level with a table of its own, for 4,096 bands

SLACK: Final = 1e-9  # degrees: rounding
ELLIPSOID: Final = 1.01  # more than geodetic angles differ from those on a sphere


def cell_size(level: int) -> float:
    return 180.0 / (1 << level)


def degrees_of(reach: float) -> float:
    """No point within `reach` metres differs by more degrees of latitude."""
    return math.degrees(reach / SHARPEST) + SLACK


def level_for(reach: float) -> int:
    """The finest level whose cells are at least as wide as such a fence."""
    width = 2 * degrees_of(reach)
    if width > cell_size(FIRST):
        return WIDE
    level = LAST
    while cell_size(level) < width:
        level -= 1
    return level


def _columns_by_band(level: int) -> list[int]:
    size = cell_size(level)
    table: list[int] = []
    for band in range(1 << level):
        edge = max(abs(band * size - 90.0), abs((band + 1) * size - 90.0))
        table.append(max(1, int(math.cos(math.radians(edge)) * 360.0 / size)))
    return table


# Into how many cells each band of each level is cut; finer levels cut those of the last in halves.
TABLES: Final = [_columns_by_band(level) for level in range(TABLED + 1)]


def _half_turn(lat: float, away: float) -> float:
    """The part of a full turn by which longitudes differ, at most, within `away` degrees."""
    reach = away * ELLIPSOID
    if abs(lat) + reach >= 90.0:
        return 0.5
    ratio = math.sin(math.radians(reach)) / math.cos(math.radians(lat))
    return 0.5 if ratio >= 1.0 else math.asin(ratio) / (2 * math.pi)


class Level:
    """The cells of one size that hold a fence."""

    __slots__ = ("bands", "cells", "finer", "size", "table")

    def __init__(self, level: int) -> None:
        self.size = cell_size(level)
        self.bands = 1 << level
        self.table = TABLES[min(level, TABLED)]
        self.finer = max(0, level - TABLED)  # halvings since the level of the table
        self.cells: dict[int, list[Fence]] = {}

    def cell_at(self, lat: float, lon: float) -> int:
        band = min(int((lat + 90.0) / self.size), self.bands - 1)
        columns = self.table[band >> self.finer] << self.finer
        column = int((lon + 180.0) / 360.0 * columns)
        return band << BAND_SHIFT | (column if column < columns else 0)

    def cells_around(self, lat: float, lon: float, away: float) -> list[int]:
        """Those that may hold a point within `away` degrees."""
        lower = max(0, int((lat - away + 90.0) / self.size))
        upper = min(self.bands - 1, int((lat + away + 90.0) / self.size))
        part = _half_turn(lat, away)
        turn = (lon + 180.0) / 360.0 + 1.0  # one turn on, so that nothing is below 0
        found: list[int] = []
        for band in range(lower, upper + 1):
            columns = self.table[band >> self.finer] << self.finer
            left = int((turn - part) * columns)
            right = int((turn + part) * columns)
            if right - left >= columns:
                right = left + columns - 1
            row = band << BAND_SHIFT
            for column in range(left, right + 1):
                found.append(row | column % columns)
        return found

    def count_around(self, lat: float, away: float) -> float:
        """About how many that would be, without making them."""
        return (2 * away / self.size + 2) * (2 * _half_turn(lat, away) * 360.0 / self.size + 2)

    def add(self, fence: Fence, cells: list[int]) -> None:
        for cell in cells:
            held = self.cells.get(cell)
            if held is None:
                self.cells[cell] = [fence]
            else:
                held.append(fence)

    def remove(self, fence: Fence, cells: list[int]) -> None:
        for cell in cells:
            held = self.cells[cell]
            if len(held) == 1:
                del self.cells[cell]
            else:
                held.remove(fence)


class SpatialIndex:
    """Interests by where they are. `oldest` is the time before which a position is none."""

    __slots__ = ("levels", "query", "size", "wide")

    def __init__(self) -> None:
        self.levels: dict[int, Level] = {}  # those that hold a fence
        self.wide: list[Fence] = []
        self.query = 0
        self.size = 0

    def __len__(self) -> int:
        return self.size

    def add(self, interest: Interest) -> None:
        self.size += 1
        for fence in interest.fences:
            self._add(fence)

    def remove(self, interest: Interest) -> None:
        self.size -= 1
        for fence in interest.fences:
            self._remove(fence)

    def move(self, interest: Interest, position: Point, now: float) -> None:
        """The client of an interest that is in the index is somewhere else now."""
        if interest.position is None:
            self.remove(interest)
            interest.move(position, now)
            self.add(interest)
            return
        interest.move(position, now)
        for fence in interest.fences:
            if fence.follows:
                self._move(fence, position)

    def _move(self, fence: Fence, position: Point) -> None:
        if fence.level == WIDE:
            fence.put(position)
            return
        level = self.levels[fence.level]
        away = degrees_of(fence.reach)
        before = level.cells_around(fence.lat, fence.lon, away)
        fence.put(position)
        after = level.cells_around(fence.lat, fence.lon, away)
        if before != after:
            level.remove(fence, before)
            level.add(fence, after)

    def _add(self, fence: Fence) -> None:
        fence.level = level_for(fence.reach)
        if fence.level == WIDE:
            self.wide.append(fence)
            return
        level = self.levels.get(fence.level)
        if level is None:
            level = Level(fence.level)
            self.levels[fence.level] = level
        level.add(fence, level.cells_around(fence.lat, fence.lon, degrees_of(fence.reach)))

    def _remove(self, fence: Fence) -> None:
        if fence.level == WIDE:
            self.wide.remove(fence)
            return
        level = self.levels[fence.level]
        level.remove(fence, level.cells_around(fence.lat, fence.lon, degrees_of(fence.reach)))
        if not level.cells:
            del self.levels[fence.level]

    def at(self, point: Point, oldest: float) -> list[Interest]:
        """The interests that contain the point."""
        self.query += 1
        found: list[Interest] = []
        lat = point.lat
        lon = point.lon
        x = point.x
        y = point.y
        z = point.z
        for level in self.levels.values():
            held = level.cells.get(level.cell_at(lat, lon))
            if held is None:
                continue
            for fence in held:
                dx = fence.x - x
                dy = fence.y - y
                dz = fence.z - z
                square = dx * dx + dy * dy + dz * dz
                if square <= fence.outer2:
                    self._judge(fence, square, point, oldest, found)
        for fence in self.wide:
            self._judge(fence, math.inf, point, oldest, found)
        return found

    def _judge(
        self, fence: Fence, square: float, point: Point, oldest: float, found: list[Interest]
    ) -> None:
        interest = fence.interest
        if interest.visited == self.query:
            return
        interest.visited = self.query
        if interest.follows and interest.position_at < oldest:
            if interest.known_by(oldest).contains(point):
                found.append(interest)
        elif square < fence.inner2 or interest.region.contains(point):
            found.append(interest)

    def meeting(
        self, region: Region, oldest: float, effort: Effort | None = None
    ) -> list[Interest]:
        """The interests that meet the region, or may meet it, past the effort."""
        if effort is None:
            effort = Effort(UNBOUNDED)
        self.query += 1
        found: list[Interest] = []
        for ball in region.balls():
            for level in self.levels.values():
                self._search(level, ball, region, oldest, found, effort)
            for fence in self.wide:
                self._judge_ball(fence, ball, region, oldest, found, effort)
        return found

    def _search(
        self,
        level: Level,
        ball: Ball,
        region: Region,
        oldest: float,
        found: list[Interest],
        effort: Effort,
    ) -> None:
        lat = ball.centre.lat
        away = degrees_of(ball.reach)
        if level.count_around(lat, away) > len(level.cells):
            for held in level.cells.values():
                for fence in held:
                    self._judge_ball(fence, ball, region, oldest, found, effort)
            return
        for cell in level.cells_around(lat, wrapped(ball.centre.lon), away):
            near = level.cells.get(cell)
            if near is not None:
                for fence in near:
                    self._judge_ball(fence, ball, region, oldest, found, effort)

    def _judge_ball(
        self,
        fence: Fence,
        ball: Ball,
        region: Region,
        oldest: float,
        found: list[Interest],
        effort: Effort,
    ) -> None:
        interest = fence.interest
        if interest.visited == self.query:
            return
        centre = ball.centre
        dx = fence.x - centre.x
        dy = fence.y - centre.y
        dz = fence.z - centre.z
        limit = longest_chord(fence.reach + ball.reach)
        if dx * dx + dy * dy + dz * dz <= limit * limit:
            interest.visited = self.query
            if meet(region, interest.known_by(oldest), effort):
                found.append(interest)
