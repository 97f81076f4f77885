"""Which fences a position may be in, by built-in functions: cells of the broker's index, chords.

A fence is on one level of cells only, the coarsest that one of its parts needs, so a position is in
one cell of it or in none. Of a cell's candidates those that are too far away are dropped: as in the
broker's index, a fence of one ball can be ruled out by the chord to the ball's centre.
"""

import math
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from gossamer.geo.earth import E2, A
from gossamer.geo.interest import Interest
from gossamer.geo.spatial_index import BAND_SHIFT, FIRST, WIDE, Level, degrees_of, level_for

# More cells than this are not worth their rows: the fence goes to a coarser level instead.
MAX_CELLS: Final = 256
ANYWHERE: Final = 0  # the one cell of the level of fences that are too wide for any
# Java's sines may differ from ours in the last digit, which is less than this on the earth.
SLACK: Final = 1e-6  # metres

CENTRE: Final = "_x0 double, _y0 double, _z0 double, _limit double"
Centre = tuple[float | None, float | None, float | None, float | None]
NO_CENTRE: Final[Centre] = (None, None, None, None)


def cells_of(interest: Interest) -> tuple[int, list[int]]:
    """The level, and those of its cells in which a position may be inside."""
    levels = [level_for(fence.reach) for fence in interest.fences]
    if WIDE in levels:
        return WIDE, [ANYWHERE]
    level = min(levels, default=FIRST)
    cells = _cells_on(level, interest)
    while len(cells) > MAX_CELLS and level > FIRST:
        level -= 1
        cells = _cells_on(level, interest)
    return level, cells


def _cells_on(level: int, interest: Interest) -> list[int]:
    grid = Level(level)
    found: set[int] = set()
    for fence in interest.fences:
        found.update(grid.cells_around(fence.lat, fence.lon, degrees_of(fence.reach)))
    return sorted(found)


def cell_at(level: int, lat: Column, lon: Column) -> Column:
    """As `Level.cell_at`, digit for digit: the columns of each band come from the same table."""
    if level == WIDE:
        return F.lit(ANYWHERE).cast("bigint")
    grid = Level(level)
    band = F.least(F.floor((lat + 90.0) / F.lit(grid.size)), F.lit(grid.bands - 1))
    # One text for the whole table: Spark reads it once, when it plans.
    table = F.split(F.lit(",".join(map(str, grid.table))), ",").cast("array<int>")
    tabled = F.shiftright(band, grid.finer).cast("int")
    columns = F.shiftleft(F.get(table, tabled).cast("bigint"), grid.finer)
    column = F.floor((lon + 180.0) / 360.0 * columns)
    return F.shiftleft(band, BAND_SHIFT).bitwiseOR(
        F.when(column < columns, column).otherwise(F.lit(0).cast("bigint"))
    )


def centre_of(interest: Interest) -> Centre:
    """And the square of the longest chord from there to a point inside, if one ball covers it."""
    if len(interest.fences) != 1:
        return NO_CENTRE
    fence = interest.fences[0]
    limit = math.sqrt(fence.outer2) + SLACK
    return fence.x, fence.y, fence.z, limit * limit


def coordinates(lat: Column, lon: Column) -> dict[str, Column]:
    """Earth-centred, in metres, as `geo.earth.Point` has them."""
    phi, lam = F.radians(lat), F.radians(lon)
    n = F.lit(A) / F.sqrt(1 - F.lit(E2) * F.sin(phi) * F.sin(phi))
    across = n * F.cos(phi)
    return {
        "_x": across * F.cos(lam),
        "_y": across * F.sin(lam),
        "_z": n * F.lit(1 - E2) * F.sin(phi),
    }


def may_be_inside() -> Column:
    """Of a position and a candidate, which both have their columns."""
    x, y, z = (F.col(f"_{name}") - F.col(f"_{name}0") for name in "xyz")
    return F.col("_limit").isNull() | (x * x + y * y + z * z <= F.col("_limit"))
