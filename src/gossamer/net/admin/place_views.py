"""What the API shows of places: where clients are, and the areas that subscriptions are about."""

from typing import Any, Final

from gossamer.broker.core import Core
from gossamer.broker.geofencing import LocatedSubscription
from gossamer.net.admin.views import page, schema

POSITION: Final = schema(client_id="string", lat="number", lon="number")
FENCE: Final = schema(
    client_id="string", filter="string", lat="number?", lon="number?", events="string[]"
)
# Each entry is a pair: the key and the text of a User Property.
FENCE["properties"]["entries"] = {
    "type": "array",
    "items": {"type": "array", "items": {"type": "string"}},
}


def positions(core: Core, query: dict[str, str], now: float) -> dict[str, Any]:
    offset, limit = page(query)
    known = [(client_id, core.locations.position(client_id, now)) for client_id in core.sessions]
    found = [(client_id, point) for client_id, point in known if point is not None]
    entries = [
        {"client_id": client_id, "lat": point.lat, "lon": point.lon}
        for client_id, point in found[offset : offset + limit]
    ]
    return {"total": len(found), "entries": entries}


def fences(core: Core, query: dict[str, str], now: float) -> dict[str, Any]:
    offset, limit = page(query)
    found = [
        one
        for session in core.sessions.values()
        for one in session.subscriptions.values()
        if isinstance(one, LocatedSubscription)
    ]
    entries = [_fence(core, one, now) for one in found[offset : offset + limit]]
    return {"total": len(found), "entries": entries}


def _fence(core: Core, one: LocatedSubscription, now: float) -> dict[str, Any]:
    client_id = one.session.client_id
    point = core.locations.position(client_id, now)
    return {
        "client_id": client_id,
        "filter": one.record.filter,
        "lat": None if point is None else point.lat,
        "lon": None if point is None else point.lon,
        "events": list(one.located.events),
        "entries": [entry for area in one.interest.areas.listed for entry in area.entries],
    }
