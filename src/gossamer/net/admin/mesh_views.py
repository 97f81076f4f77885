"""What the API shows of the mesh: this broker's place in it, and one entry a neighbour."""

from typing import Any, Final

from gossamer.broker.core import Core
from gossamer.mesh.link import Link
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.modes.hearing import form_of
from gossamer.mesh.modes.reporting import choice_view
from gossamer.mesh.reporting import (
    errand_counts,
    link_cost,
    link_counts,
    link_state,
    mesh_of,
    tree_counts,
)
from gossamer.mesh.stock.reporting import stock_counts
from gossamer.net.admin.http import HttpError
from gossamer.net.admin.views import listing, page, schema

TREE: Final = "tree"  # messages take it
STANDBY: Final = "standby"  # it waits for another to break

LINK: Final = schema(
    neighbour="string",
    connected="boolean",
    state="string",
    cost="integer",
    dialled="boolean",
    role="string",
    since="number?",
    held_as="string",
    interests_told="integer",
    interests_held="integer",
    messages_received="integer",
    messages_sent="integer",
    bytes_received="integer",
    bytes_sent="integer",
    control_messages_received="integer",
    control_messages_sent="integer",
    control_bytes_received="integer",
    control_bytes_sent="integer",
    queued="integer",
    spilled="integer",
    inflight="integer",
)
# How this broker knows what the neighbour wants.
FORMS: Final = {"pf": "all", "ssf": "filters", "bloom": "summary"}
CHOICE: Final = schema(
    branch="string",
    mode="string",
    ratio="number",
    ibr="number",
    spr="number",
    interested="integer",
    brokers="integer",
    published_bytes="integer",
    subscribed_bytes="integer",
)
STOCK: Final = schema(
    stock="string",
    connected="integer",
    owner="integer",
    subscribed="integer",
    messages_received="integer",
    messages_sent="integer",
    queued="integer",
    inflight="integer",
)
MESH: Final = {
    "type": "object",
    "properties": {
        **schema(name="string", mesh="string", mode="string")["properties"],
        **listing(LINK)["properties"],
        "tree": {"type": "object"},
        "stocks": {"type": "array", "items": STOCK},
    },
}


def mesh_in(core: Core) -> Mesh:
    """HttpError 404 for a broker that stands alone."""
    mesh = mesh_of(core)
    if mesh is None:
        raise HttpError(404, "this broker belongs to no mesh (its configuration has no [mesh])")
    return mesh


def link_view(mesh: Mesh, link: Link) -> dict[str, Any]:
    return {
        "neighbour": link.name,
        "connected": link.connection is not None,
        "state": link_state(link),
        "cost": link_cost(link),
        "dialled": link.is_dialled,
        "role": TREE if mesh.fabric is None or link.in_tree else STANDBY,
        "since": link.since or None,
        "held_as": FORMS[form_of(link)],
        **link_counts(mesh, link),
    }


def stock_views(mesh: Mesh) -> list[dict[str, Any]]:
    if mesh.stocks is None:
        return []
    return [{"stock": name, **stock_counts(stock)} for name, stock in mesh.stocks.by_name.items()]


def choices_view(core: Core, query: dict[str, str]) -> dict[str, Any]:
    """By what they carry, the busiest first."""
    offset, limit = page(query)
    choices = sorted(
        mesh_in(core).choosing.choices.items(),
        key=lambda item: (-item[1].published - item[1].subscribed, item[0]),
    )
    entries = [{"branch": branch, **choice_view(choice)} for branch, choice in choices]
    return {"total": len(entries), "entries": entries[offset : offset + limit]}


def decide_mode(core: Core, mode: str, now: float) -> None:
    """HttpError 400 if there is no such mode."""
    try:
        mesh_in(core).switching.decide(mode, now)
    except ValueError as error:
        raise HttpError(400, str(error)) from None


def mesh_view(core: Core, query: dict[str, str]) -> dict[str, Any]:
    mesh = mesh_in(core)
    offset, limit = page(query)
    links = sorted(mesh.by_name.values(), key=lambda link: link.name)
    return {
        "name": mesh.settings.name,
        "mesh": mesh.settings.mesh,
        "mode": mesh.settings.mode,
        "total": len(links),
        "entries": [link_view(mesh, link) for link in links[offset : offset + limit]],
        "tree": tree_counts(mesh),
        "errands": errand_counts(mesh),
        "stocks": stock_views(mesh),
    }
