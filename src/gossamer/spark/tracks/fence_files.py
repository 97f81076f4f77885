"""Fences by name: of a GeoJSON file, or what subscribers drew around themselves."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from gossamer.geo.geojson import areas_in
from gossamer.net.admin.client import AdminClient, AdminError
from gossamer.spark.fences.areas import read_area
from gossamer.spark.pipelines.pipeline import AdminAccess, PipelineError

Fences = dict[str, list[tuple[str, str]]]  # areas as User Properties

_PAGE: Final = 1_000  # the admin API's most
# They say what to tell of an area, or where its client is, and are no area themselves.
_NO_AREA: Final = ("gpl_events", "gpl_dwell", "gpl_hysteresis", "gpl_ping", "gpl_current_pos")


def from_file(path: str) -> Fences:
    """Each feature is a fence, by its property `name`, its `id` or its number."""
    try:
        document: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise PipelineError(f"cannot read {path}: {problem.strerror}") from None
    except ValueError as problem:
        raise PipelineError(f"{path} is not JSON: {problem}") from None
    features = document.get("features") if isinstance(document, dict) else None
    found: Fences = {}
    for number, feature in enumerate(features or [document], 1):
        if not areas_in(feature):
            continue  # a point or a line in the same file
        name = _name(feature, number)
        if name in found:
            raise PipelineError(f"{path} has two fences {name!r}: give each a name of its own")
        try:
            found[name] = read_area(feature)
        except ValueError as problem:
            raise PipelineError(f"{path}, fence {name!r}: {problem}") from None
    if not found:
        raise PipelineError(f"{path} has no Polygon or MultiPolygon")
    return found


def _name(feature: dict[str, Any], number: int) -> str:
    properties = feature.get("properties") or {}
    return str(properties.get("name") or feature.get("id") or f"fence {number}")


def from_subscriptions(admins: Sequence[AdminAccess]) -> Fences:
    """Of located subscriptions, `CLIENT FILTER`. Areas that follow their client are left out."""
    found: Fences = {}
    for admin in admins:
        client = AdminClient(admin.host, admin.port, admin.token)
        try:
            entries = _located(client)
        except AdminError as problem:
            raise PipelineError(f"the admin API at {admin.host}:{admin.port}: {problem}") from None
        for one in entries:
            areas = [(key, text) for key, text in one["glp"] if key not in _NO_AREA]
            if areas and not any("Dynamic" in key for key, _ in areas):
                found[f"{one['client_id']} {one['filter']}"] = read_area(areas)
    if not found:
        raise PipelineError("no subscription has areas that stay where they are: use --fences FILE")
    return found


def _located(client: AdminClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    offset, total = 0, 1
    while offset < total:
        page = client.call("GET", "/v1/subscriptions", {"limit": _PAGE, "offset": offset})
        found += [one for one in page["entries"] if one["glp"]]
        offset, total = offset + _PAGE, page["total"]
    return found
