"""The spatial index: of a million fences, the few that a point or a region may touch.

Levels of cells, each level half as large as the one before. A fence is in one cell, that of its
centre, on the finest level whose cells are at least as wide as the fence; so a point finds all
its fences in the four cells nearest to it on each level in use. A band of latitude has as many
columns as fit, one at the poles, and columns close into a ring: no place is special. Moving a
fence within its cell changes only its coordinates.
"""

import math
from typing import Final

from gossamer.geo.earth import SHARPEST, Point, longest_chord, wrapped
from gossamer.geo.interest import Fence, Interest
from gossamer.geo.meeting import meet
from gossamer.geo.regions import Region
from gossamer.geo.shape import Ball

FIRST: Final = 3  # cells of 22.5 degrees; what is wider is few and is looked at every time
LAST: Final = 20  # cells of 19 metres; finer ones would cost more levels than they save fences
WIDE: Final = LAST + 1  # the level of what is wider than a cell of the first
BAND_SHIFT: Final = 22  # bits for the column: no band has more than two million

# asin(x) < 1.05 x up to 0.37, which is what leaves eight columns or more; near the poles, where a
# fence may span fewer, a band is one column. The steps round the cosine down, so columns are
# never too narrow.
LEAST_COLUMNS: Final = 8
STEPS: Final = 8  # a degree
COSINES: Final = [math.cos(math.radians((i + 1) / STEPS)) for i in range(90 * STEPS)] + [0.0] * 9
COLUMNS: Final = 360 / 1.05

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


def columns_of(band: int, size: float) -> int:
    """How many cells the band is cut into."""
    south = abs(band * size - 90.0)
    north = abs((band + 1) * size - 90.0)
    columns = int(COSINES[int(max(south, north) * STEPS)] * COLUMNS / size)
    return columns if columns >= LEAST_COLUMNS else 1


class Level:
    """The cells of one size that hold a fence: the first of its chain."""

    __slots__ = ("bands", "cells", "count", "size")

    def __init__(self, level: int) -> None:
        self.size = cell_size(level)
        self.bands = 1 << level
        self.cells: dict[int, Fence] = {}
        self.count = 0

    def cell_at(self, lat: float, lon: float) -> int:
        band = min(int((lat + 90.0) / self.size), self.bands - 1)
        columns = columns_of(band, self.size)
        column = int((lon + 180.0) / 360.0 * columns) % columns
        return band << BAND_SHIFT | column

    def add(self, fence: Fence, cell: int) -> None:
        fence.cell = cell
        first = self.cells.get(cell)
        if first is not None:
            first.before = fence
        fence.after = first
        fence.before = None
        self.cells[cell] = fence
        self.count += 1

    def remove(self, fence: Fence) -> None:
        before = fence.before
        after = fence.after
        if after is not None:
            after.before = before
        if before is not None:
            before.after = after
        elif after is not None:
            self.cells[fence.cell] = after
        else:
            del self.cells[fence.cell]
        fence.before = None
        fence.after = None
        self.count -= 1

    def near_point(self, lat: float, lon: float, found: list[Fence]) -> None:
        """The first fence of each cell in which one around the point may have its centre."""
        size = self.size
        cells = self.cells
        lower = int((lat + 90.0) / size + 0.5) - 1
        turn = (lon + 180.0) / 360.0
        for band in (lower, lower + 1):
            if band < 0 or band >= self.bands:
                continue
            columns = columns_of(band, size)
            row = band << BAND_SHIFT
            if columns == 1:
                first = cells.get(row)
                if first is not None:
                    found.append(first)
                continue
            left = int(turn * columns + 0.5) - 1
            first = cells.get(row | left % columns)
            if first is not None:
                found.append(first)
            first = cells.get(row | (left + 1) % columns)
            if first is not None:
                found.append(first)

    def near_ball(self, ball: Ball, found: list[Fence]) -> None:
        """The same, for fences that may touch a ball."""
        size = self.size
        away = degrees_of(ball.reach) + size / 2
        lat = ball.centre.lat
        lower = max(0, int((lat - away + 90.0) / size))
        upper = min(self.bands - 1, int((lat + away + 90.0) / size))
        part = _half_turn(lat, away)
        if (upper - lower + 1) * (2 * part * 360.0 / size + 2) > len(self.cells):
            found.extend(self.cells.values())
            return
        turn = (wrapped(ball.centre.lon) + 180.0) / 360.0
        for band in range(lower, upper + 1):
            columns = columns_of(band, size)
            left = math.floor((turn - part) * columns)
            right = math.floor((turn + part) * columns)
            if right - left + 1 >= columns:
                left, right = 0, columns - 1
            row = band << BAND_SHIFT
            for column in range(left, right + 1):
                first = self.cells.get(row | column % columns)
                if first is not None:
                    found.append(first)


def _half_turn(lat: float, away: float) -> float:
    """The part of a full turn by which longitudes differ, at most, within `away` degrees."""
    reach = away * ELLIPSOID
    if abs(lat) + reach >= 90.0:
        return 0.5
    ratio = math.sin(math.radians(reach)) / math.cos(math.radians(lat)) * ELLIPSOID
    return 0.5 if ratio >= 1.0 else math.asin(ratio) / (2 * math.pi)


class SpatialIndex:
    """Interests by where they are. `oldest` is the time before which a position is none."""

    __slots__ = ("levels", "query", "size", "used", "wide")

    def __init__(self) -> None:
        self.levels = [Level(level) for level in range(LAST + 1)]
        self.used: list[Level] = []  # those that hold a fence
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
                fence.put(position)
                if fence.level != WIDE:
                    level = self.levels[fence.level]
                    cell = level.cell_at(position.lat, position.lon)
                    if cell != fence.cell:
                        level.remove(fence)
                        level.add(fence, cell)

    def _add(self, fence: Fence) -> None:
        fence.level = level_for(fence.reach)
        if fence.level == WIDE:
            self.wide.append(fence)
            return
        level = self.levels[fence.level]
        level.add(fence, level.cell_at(fence.lat, fence.lon))
        if level.count == 1:
            self.used.append(level)

    def _remove(self, fence: Fence) -> None:
        if fence.level == WIDE:
            self.wide.remove(fence)
            return
        level = self.levels[fence.level]
        level.remove(fence)
        if level.count == 0:
            self.used.remove(level)

    def at(self, point: Point, oldest: float) -> list[Interest]:
        """The interests that contain the point."""
        firsts: list[Fence] = []
        for level in self.used:
            level.near_point(point.lat, point.lon, firsts)
        self.query += 1
        found: list[Interest] = []
        x = point.x
        y = point.y
        z = point.z
        for first in firsts:
            fence: Fence | None = first
            while fence is not None:
                dx = fence.x - x
                dy = fence.y - y
                dz = fence.z - z
                square = dx * dx + dy * dy + dz * dz
                if square <= fence.outer2:
                    self._judge(fence, square, point, oldest, found)
                fence = fence.after
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

    def meeting(self, region: Region, oldest: float) -> list[Interest]:
        """The interests that meet the region."""
        self.query += 1
        found: list[Interest] = []
        for ball in region.balls():
            firsts: list[Fence] = []
            for level in self.used:
                level.near_ball(ball, firsts)
            for first in firsts:
                fence: Fence | None = first
                while fence is not None:
                    self._judge_ball(fence, ball, region, oldest, found)
                    fence = fence.after
            for fence in self.wide:
                self._judge_ball(fence, ball, region, oldest, found)
        return found

    def _judge_ball(
        self, fence: Fence, ball: Ball, region: Region, oldest: float, found: list[Interest]
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
            if meet(region, interest.known_by(oldest)):
                found.append(interest)
