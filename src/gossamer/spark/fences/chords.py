"""Straight chords as columns: of a cell's candidates, those that are too far away are dropped.

As in the broker's index, a fence of one ball can be ruled out by the chord to the ball's centre.
"""

import math
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from gossamer.geo.earth import E2, A
from gossamer.geo.interest import Interest

# Java's sines may differ from ours in the last digit, which is less than this on the earth.
SLACK: Final = 1e-6  # metres

CENTRE: Final = "_x0 double, _y0 double, _z0 double, _limit double"
Centre = tuple[float | None, float | None, float | None, float | None]
ANYWHERE: Final[Centre] = (None, None, None, None)


def centre_of(interest: Interest) -> Centre:
    """And the square of the longest chord from there to a point inside, if one ball covers it."""
    if len(interest.fences) != 1:
        return ANYWHERE
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
