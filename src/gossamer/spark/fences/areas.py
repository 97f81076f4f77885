"""What a fence is written as, what it means, and where a row is: at a position, or in GLP areas."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from gossamer.geo.areas import GlpError
from gossamer.geo.geojson import areas_in
from gossamer.geo.geolocation import NOT_LOCATED, Place, place_of
from gossamer.geo.glp import Glp, parse
from gossamer.geo.glp_entries import FORMS, LINE_KEYS
from gossamer.geo.interest import Interest

Entries = list[tuple[str, str]]
# GeoJSON (a text or the document itself), or GLP: pairs, their JSON, or `key=value` lines.
Area = str | Mapping[str, Any] | Sequence[tuple[str, str]]

# A client that moves gets these as it goes; a history has no such client.
_OF_EVENTS: Final = ("gpl_events", "gpl_dwell", "gpl_hysteresis", "gpl_ping")

# In the JSON of the column `glp`, the entries that make an area.
_AREA_ENTRY: Final = f'"(?:{"|".join((*FORMS, *LINE_KEYS))})"'


def read_area(area: Area) -> Entries:
    """As User Properties. Raises GlpError, and ValueError for what is neither GLP nor GeoJSON."""
    entries = _entries(area)
    for key, _ in entries:
        if key in _OF_EVENTS:
            raise ValueError(f"{key} has no meaning here: a fence on Spark gives no events")
    if parse(entries) is None:
        raise ValueError("there is no GLP in it: keys begin with gpl_")
    interest_of(entries)
    return entries


def interest_of(entries: Sequence[tuple[str, str]], holder: str = "") -> Interest:
    """What a subscription with these would be interested in; its client stays where it is."""
    glp = parse(list(entries)) or Glp()
    return Interest(holder, NOT_LOCATED.changed(glp).areas, glp.position, 0.0)


@lru_cache(maxsize=4096)
def kept_interest(entries: tuple[tuple[str, str], ...]) -> Interest:
    """Made once in each worker, not for each batch of rows or each visitor."""
    return interest_of(entries)


def _entries(area: Area) -> Entries:
    if isinstance(area, Mapping):
        return _of_geojson(area)
    if not isinstance(area, str):
        return [(str(key), str(text)) for key, text in area]
    if area.lstrip().startswith(("{", "[")):
        return _of_json(area)
    lines = [line.strip().partition("=") for line in area.splitlines() if line.strip()]
    return [(key.strip(), text.strip()) for key, _, text in lines]


def _of_json(text: str) -> Entries:
    try:
        found: Any = json.loads(text)
    except ValueError as problem:
        raise ValueError(f"the area is not JSON: {problem}") from None
    if isinstance(found, dict):
        return _of_geojson(found)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in found):
        raise ValueError("a list of GLP has pairs of key and text")
    return [(str(key), str(text)) for key, text in found]


def _of_geojson(document: Mapping[str, Any]) -> Entries:
    found = [json.dumps(area, separators=(",", ":")) for area in areas_in(dict(document))]
    if not found:
        raise ValueError("there is no Polygon or MultiPolygon in the GeoJSON")
    return [("gpl_geojson", f"{number};m;1;{text}") for number, text in enumerate(found, 1)]


def is_position() -> Column:
    """Whether the row is at `lat`, `lon`: it says so, and speaks of no area."""
    lat, lon = F.col("lat"), F.col("lon")
    on_earth = lat.between(-90.0, 90.0) & lon.between(-180.0, 180.0)
    return F.coalesce(on_earth, F.lit(False)) & ~_speaks_of_areas()


def needs_reading() -> Column:
    """Whether only the GLP itself can tell where the row is."""
    return F.col("glp").isNotNull() & (_speaks_of_areas() | F.col("lat").isNull())


def _speaks_of_areas() -> Column:
    return F.coalesce(F.col("glp").rlike(_AREA_ENTRY), F.lit(False))


def read_place(glp: str) -> Place | None:
    """None if it says nothing, or nothing that can be read, as in the broker."""
    try:
        return place_of(parse([(str(key), str(text)) for key, text in json.loads(glp)]), None)
    except (GlpError, ValueError, TypeError):
        return None
