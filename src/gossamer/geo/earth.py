"""The WGS 84 ellipsoid: points, distances and directions on it, exact to less than a millimetre.

Points carry their Cartesian (earth-centred) coordinates, in which the antimeridian and the poles
are ordinary places. The straight chord between two points bounds their distance closely enough to
decide nearly every question without the geodesic; the geodesic (Vincenty's formulas) decides the
rest.
"""

import math
from typing import Final

A: Final = 6378137.0  # equatorial radius, metres
F: Final = 1 / 298.257223563
B: Final = A * (1 - F)  # polar radius
E2: Final = F * (2 - F)
EP2: Final = E2 / (1 - E2)

# The sharpest and the flattest curvature that a geodesic meets anywhere (along the meridian at the
# equator; at a pole). Comparing with circles of these radii bounds an arc by its chord.
SHARPEST: Final = A * (1 - E2)
FLATTEST: Final = A * A / B

# Nothing in GLP reaches further: short of the antipodal region, where shortest paths stop being
# unique and Vincenty's formulas stop converging.
MAX_REACH: Final = 15_000_000.0

ROUNDING: Final = 1e-8  # metres: what double precision loses in earth-centred coordinates
ITERATIONS: Final = 60
CONVERGED: Final = 1e-12  # radians of longitude


class Point:
    """A place on the ellipsoid, in degrees and in earth-centred metres."""

    __slots__ = ("lat", "lon", "x", "y", "z")

    def __init__(self, lat: float, lon: float) -> None:
        phi = math.radians(lat)
        lam = math.radians(lon)
        sin_phi = math.sin(phi)
        n = A / math.sqrt(1 - E2 * sin_phi * sin_phi)
        p = n * math.cos(phi)
        self.lat = lat
        self.lon = lon
        self.x = p * math.cos(lam)
        self.y = p * math.sin(lam)
        self.z = n * (1 - E2) * sin_phi

    def __repr__(self) -> str:
        return f"Point({self.lat!r}, {self.lon!r})"


def chord2(p: Point, q: Point) -> float:
    """The square of the straight distance through the earth."""
    dx = p.x - q.x
    dy = p.y - q.y
    dz = p.z - q.z
    return dx * dx + dy * dy + dz * dz


def shortest_chord(distance: float) -> float:
    """No two points this far apart have a shorter chord."""
    half = min(distance / (2 * SHARPEST), math.pi / 2)
    return max(2 * SHARPEST * math.sin(half) * (1 - 1e-12) - ROUNDING, 0.0)


def longest_chord(distance: float) -> float:
    """No two points this far apart have a longer chord."""
    half = min(distance / (2 * FLATTEST), math.pi / 2)
    return 2 * FLATTEST * math.sin(half) * (1 + 1e-12) + ROUNDING


def farthest(chord: float) -> float:
    """No two points with this chord are farther apart."""
    half = math.asin(min((chord + ROUNDING) / (2 * SHARPEST), 1.0))
    return 2 * SHARPEST * half * (1 + 1e-11)


def wrapped(degrees: float) -> float:
    """The same longitude, or difference of longitudes, from -180 to 180."""
    if -180.0 <= degrees <= 180.0:
        return degrees
    return math.remainder(degrees, 360.0)


class Course:
    """The shortest way to another point: metres, and radians east of north where it starts."""

    __slots__ = ("azimuth", "distance")

    def __init__(self, distance: float, azimuth: float) -> None:
        self.distance = distance
        self.azimuth = azimuth


def course(p: Point, q: Point) -> Course:
    """Vincenty's inverse formula; within one per cent where it does not converge (antipodes)."""
    cos_u1 = math.sqrt(p.x * p.x + p.y * p.y) / A
    sin_u1 = p.z / B
    cos_u2 = math.sqrt(q.x * q.x + q.y * q.y) / A
    sin_u2 = q.z / B
    difference = math.radians(wrapped(q.lon - p.lon))
    lam = difference
    for _ in range(ITERATIONS):
        sin_lam = math.sin(lam)
        cos_lam = math.cos(lam)
        east = cos_u2 * sin_lam
        north = cos_u1 * sin_u2 - sin_u1 * cos_u2 * cos_lam
        sin_sigma = math.sqrt(east * east + north * north)
        if sin_sigma == 0.0:
            break
        cos_sigma = sin_u1 * sin_u2 + cos_u1 * cos_u2 * cos_lam
        sigma = math.atan2(sin_sigma, cos_sigma)
        sin_alpha = cos_u1 * east / sin_sigma
        cos2_alpha = 1 - sin_alpha * sin_alpha
        middle = cos_sigma - 2 * sin_u1 * sin_u2 / cos2_alpha if cos2_alpha > 1e-15 else 0.0
        c = F / 16 * cos2_alpha * (4 + F * (4 - 3 * cos2_alpha))
        before = lam
        lam = difference + (1 - c) * F * sin_alpha * (
            sigma + c * sin_sigma * (middle + c * cos_sigma * (2 * middle * middle - 1))
        )
        if abs(lam - before) < CONVERGED:
            return Course(
                _length(sigma, sin_sigma, cos_sigma, cos2_alpha, middle), math.atan2(east, north)
            )
        if abs(lam) > math.pi:
            break
    angle = sin_u1 * sin_u2 + cos_u1 * cos_u2 * math.cos(difference)
    if angle > 0.0:
        return Course(math.sqrt(chord2(p, q)), 0.0)  # the same point, or next to it
    return Course((A + B) / 2 * math.acos(max(angle, -1.0)), math.atan2(east, north))


def _length(
    sigma: float, sin_sigma: float, cos_sigma: float, cos2_alpha: float, middle: float
) -> float:
    u2 = cos2_alpha * EP2
    big_a = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    big_b = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
    return B * big_a * (sigma - _correction(big_b, sin_sigma, cos_sigma, middle))


def _correction(big_b: float, sin_sigma: float, cos_sigma: float, middle: float) -> float:
    twice = 2 * middle * middle - 1
    sixth = big_b / 6 * middle * (4 * sin_sigma * sin_sigma - 3) * (4 * middle * middle - 3)
    return big_b * sin_sigma * (middle + big_b / 4 * (cos_sigma * twice - sixth))


def distance(p: Point, q: Point) -> float:
    return course(p, q).distance


def destination(p: Point, azimuth: float, metres: float) -> Point:
    """Where one arrives, leaving `p` towards `azimuth` (radians): Vincenty's direct formula."""
    if metres == 0.0:
        return p
    cos_u1 = math.sqrt(p.x * p.x + p.y * p.y) / A
    sin_u1 = p.z / B
    sin_a = math.sin(azimuth)
    cos_a = math.cos(azimuth)
    sigma1 = math.atan2(sin_u1, cos_u1 * cos_a)
    sin_alpha = cos_u1 * sin_a
    cos2_alpha = 1 - sin_alpha * sin_alpha
    u2 = cos2_alpha * EP2
    big_a = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    big_b = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
    straight = metres / (B * big_a)
    sigma = straight
    for _ in range(ITERATIONS):
        middle = math.cos(2 * sigma1 + sigma)
        before = sigma
        sigma = straight + _correction(big_b, math.sin(sigma), math.cos(sigma), middle)
        if abs(sigma - before) < CONVERGED:
            break
    sin_s = math.sin(sigma)
    cos_s = math.cos(sigma)
    middle = math.cos(2 * sigma1 + sigma)
    axial = sin_u1 * sin_s - cos_u1 * cos_s * cos_a
    lat = math.atan2(
        sin_u1 * cos_s + cos_u1 * sin_s * cos_a,
        (1 - F) * math.sqrt(sin_alpha * sin_alpha + axial * axial),
    )
    lam = math.atan2(sin_s * sin_a, cos_u1 * cos_s - sin_u1 * sin_s * cos_a)
    c = F / 16 * cos2_alpha * (4 + F * (4 - 3 * cos2_alpha))
    lam -= (
        (1 - c)
        * F
        * sin_alpha
        * (sigma + c * sin_s * (middle + c * cos_s * (2 * middle * middle - 1)))
    )
    return Point(math.degrees(lat), wrapped(p.lon + math.degrees(lam)))
