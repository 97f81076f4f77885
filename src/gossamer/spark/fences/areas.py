"""What a fence is written as, and what it means: the User Properties that a client would send."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gossamer.geo.geojson import areas_in
from gossamer.geo.glp import Glp, parse
from gossamer.geo.interest import Interest
from gossamer.geo.located import NOT_LOCATED

Entries = list[tuple[str, str]]
# GeoJSON (a text or the document itself), or GLP: pairs, their JSON, or `key=value` lines.
Area = str | Mapping[str, Any] | Sequence[tuple[str, str]]

# A client that moves gets these as it goes; a history has no such client.
_OF_EVENTS: Final = ("gpl_events", "gpl_dwell", "gpl_hysteresis", "gpl_ping")


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


def interest_of(entries: Entries) -> Interest:
    """What a subscription with these would be interested in; its client stays where it is."""
    glp = parse(entries) or Glp()
    return Interest(None, NOT_LOCATED.changed(glp).areas, glp.position, 0.0)


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
