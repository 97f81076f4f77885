"""The cells of the broker's spatial index, for fences as numbers and for positions as columns.

A fence is on one level only, the coarsest that one of its parts needs, so a position is in one cell
of it or in none.
"""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from gossamer.geo.index import BAND_SHIFT, FIRST, WIDE, Level, degrees_of, level_for
from gossamer.geo.interest import Interest

# More cells than this are not worth their rows: the fence goes to a coarser level instead.
MAX_CELLS: Final = 256
ANYWHERE: Final = 0  # the one cell of the level of fences that are too wide for any


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
