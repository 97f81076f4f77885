"""`geo.places`: a GeoJSON file to places by name."""

import json
from pathlib import Path
from typing import Any

from gossamer.broker.named_areas import PlaceError, read_place
from gossamer.net.config import ConfigError


def load_places(path: Path) -> dict[str, str]:
    """GeoJSON texts by name; ConfigError with every problem of the file."""
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"geo.places = {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"geo.places = {path}: it is not JSON") from error
    features = value.get("features") if isinstance(value, dict) else None
    if not isinstance(features, list):
        raise ConfigError(f"geo.places = {path}: it is not a FeatureCollection")
    places: dict[str, str] = {}
    problems: list[str] = []
    for number, feature in enumerate(features, 1):
        properties = feature.get("properties") if isinstance(feature, dict) else None
        name = properties.get("name") if isinstance(properties, dict) else None
        if not isinstance(name, str):
            problems.append(f"geo.places = {path}: feature {number} has no name in its properties")
            continue
        if name in places:
            problems.append(f"geo.places = {path}: {name!r} is there twice")
        text = json.dumps(feature)
        try:
            read_place(name, text)
        except PlaceError as error:
            problems.append(f"geo.places = {path}: {name!r}: {error}")
        places[name] = text
    if problems:
        raise ConfigError(*problems)
    return places
