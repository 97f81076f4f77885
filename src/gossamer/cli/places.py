"""``--at``, ``--within``, ``--area`` and ``--events``: from the command line to GLP."""

import json
import re
from pathlib import Path

from gossamer.cli.errors import WrongUse
from gossamer.geo.areas import GlpError
from gossamer.geo.geojson import areas_in
from gossamer.geo.glp import PLACE, POSITION, parse

WITHIN_ID = 1
FIRST_AREA_ID = 2
MAX_BYTES = 65_535  # of a User Property

_DISTANCE = re.compile(r"([0-9.]+) ?(km|m|dm|cm)")


def place_properties(
    at: str | None,
    within: str | None,
    areas: list[Path] | None,
    events: str | None = None,
    names: list[str] | None = None,
) -> list[tuple[str, str]]:
    """The User Properties that say it, checked as the broker will check them."""
    user: list[tuple[str, str]] = []
    if at is not None:
        lat, comma, lon = at.partition(",")
        if not comma:
            raise WrongUse(f"--at {at}: write LAT,LON, such as 43.72,10.40")
        user.append((POSITION, f"{lat.strip()};{lon.strip()}"))
    if within is not None:
        if at is None:
            raise WrongUse("--within needs a position: add --at LAT,LON")
        distance = _DISTANCE.fullmatch(within)
        if distance is None:
            raise WrongUse(f"--within {within}: write a distance such as 500m or 2km")
        user.append(("gpl_circleDynamic", f"{WITHIN_ID};{distance[2]};1;{distance[1]}"))
    for path in areas or ():
        for geometry in _geometries(path):
            text = f"{FIRST_AREA_ID + len(user)};m;1;{geometry}"
            if len(text.encode()) > MAX_BYTES:
                raise WrongUse(f"--area {path}: an area has more than {MAX_BYTES} bytes")
            user.append(("gpl_geojson", text))
    user += [(PLACE, name) for name in names or ()]
    if events is not None:
        if not user:
            raise WrongUse(
                "--events needs an area: add --area FILE, --place NAME, or --at with --within"
            )
        user.append(("gpl_events", events))
    try:
        parse(user)
    except GlpError as problem:
        raise WrongUse(problem.text) from None
    return user


def _geometries(path: Path) -> list[str]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise WrongUse(f"--area {path}: {problem.strerror}") from None
    except ValueError:
        raise WrongUse(f"--area {path}: it is not JSON") from None
    found = [json.dumps(area, separators=(",", ":")) for area in areas_in(value)]
    if not found:
        raise WrongUse(f"--area {path}: it has no Polygon or MultiPolygon")
    return found
