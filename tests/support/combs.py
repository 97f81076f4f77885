"""Polygons that are as hard as polygons can be: combs, whose teeth fit between another's."""

from gossamer.geo.earth import Point


def comb(
    teeth: int, lat: float = 0.0, lon: float = 0.0, facing: bool = False, tilt: float = 0.0
) -> list[Point]:
    """Four corners a tooth and two for its back. One that faces it fits between without touching.

    `tilt` leans the teeth, so that they overlap in both directions.
    """
    side = 0.4  # degrees: no edge is long enough to be cut
    corners: list[tuple[float, float]] = []
    for tooth in range(teeth):
        left = (tooth + (0.5 if facing else 0.0)) / (teeth + 1) * side
        right = left + 0.4 / (teeth + 1) * side
        corners += [(0.0, left), (1.0, left), (1.0, right), (0.0, right)]
    corners += [(-0.1, side), (-0.1, 0.0)]
    turned = [((0.95 - up if facing else up) * side, east) for up, east in corners]
    return [Point(lat + up, lon + east + tilt * up) for up, east in turned]


def comb_entry(number: int, corners: list[Point]) -> tuple[str, str]:
    """As GLP."""
    listed = ";".join(f"{corner.lat!r};{corner.lon!r}" for corner in corners)
    return "gpl_polygonStatic", f"{number};m;1;{listed}"
