"""The areas in a GeoJSON document, whatever they are wrapped in."""

from typing import Any, Final

AREA_TYPES: Final = ("Polygon", "MultiPolygon")
_COLLECTIONS: Final = {"FeatureCollection": "features", "GeometryCollection": "geometries"}


def areas_in(value: Any) -> list[dict[str, Any]]:
    """The Polygons and MultiPolygons of a geometry, a Feature, or a collection of either."""
    if not isinstance(value, dict):
        return []
    kind = value.get("type")
    if kind == "Feature":
        return areas_in(value.get("geometry"))
    if kind in _COLLECTIONS:
        return [area for one in value.get(_COLLECTIONS[kind]) or () for area in areas_in(one)]
    if kind in AREA_TYPES:
        return [{"type": kind, "coordinates": value.get("coordinates")}]
    return []
