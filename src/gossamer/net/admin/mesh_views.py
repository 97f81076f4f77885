"""What the API shows of the mesh: this broker's place in it, and one entry a neighbour."""

from typing import Final, cast

from typing_extensions import TypedDict

from gossamer.broker.conditions import REGION, RULES, SEPARATOR, filter_of
from gossamer.broker.core import Core
from gossamer.mesh.aggregates.subscribed import SubscribedWindow
from gossamer.mesh.aggregates.subscribed_values import SubscribedValues
from gossamer.mesh.interest.remote import form_of
from gossamer.mesh.link import Link
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.sys_topics import (
    bridge_counts,
    choice_view,
    directed_counts,
    link_cost,
    link_counts,
    link_state,
    mesh_of,
    tree_counts,
)
from gossamer.net.admin.http import HttpError
from gossamer.net.admin.views import Page, cut

TREE: Final = "tree"  # messages take it
STANDBY: Final = "standby"  # it waits for another to break

# How this broker knows what the neighbour wants.
FORMS: Final = {"pf": "all", "ssf": "filters", "bloom": "summary"}


class LinkView(TypedDict):
    """One neighbour and what passed between it and this broker."""

    neighbour: str
    connected: bool
    state: str
    cost: int
    dialled: bool
    role: str
    since: float | None
    held_as: str
    interests_told: int
    interests_held: int
    messages_received: int
    messages_sent: int
    bytes_received: int
    bytes_sent: int
    wire_bytes_received: int
    wire_bytes_sent: int
    control_messages_received: int
    control_messages_sent: int
    control_bytes_received: int
    control_bytes_sent: int
    interest_messages_sent: int
    interest_bytes_sent: int
    judged_messages: int
    rejected_messages: int
    rejected_bytes: int
    unjudged_messages: int
    queued: int
    spilled: int
    inflight: int


class ChoiceView(TypedDict):
    """What mode `auto` chose for one branch of topics, and by which figures."""

    branch: str
    mode: str
    ratio: float
    ibr: float
    spr: float
    interested: int
    brokers: int
    published_bytes: int
    subscribed_bytes: int


class InterestView(TypedDict):
    """A filter that one broker told the other of a link, and the condition on it, if any."""

    neighbour: str
    told_by: str
    filter: str
    rules: str
    area: str


class WindowView(TypedDict):
    """An aggregate over time or over topics that clients of this broker subscribed to. Bytes are
    those a second that messages and values take, of an aggregate over topics."""

    operator: str
    form: str
    windows: int
    told: int
    raw_bytes: int
    partial_bytes: int
    waiting: int
    missing: str
    corrections: int
    late: int


class StockView(TypedDict):
    """A bridge to a broker of another make."""

    stock: str
    connected: int
    owner: int
    subscribed: int
    messages_received: int
    messages_sent: int
    queued: int
    inflight: int
    echoes: int


class MeshView(Page[LinkView]):
    """This broker's place in the mesh, and its neighbours."""

    name: str
    mesh: str
    mode: str
    tree: dict[str, int]
    errands: dict[str, int]
    stocks: list[StockView]


def mesh_in(core: Core) -> Mesh:
    """HttpError 404 for a broker that stands alone."""
    mesh = mesh_of(core)
    if mesh is None:
        raise HttpError(404, "this broker is not part of a mesh (its configuration has no [mesh])")
    return mesh


def link_view(mesh: Mesh, link: Link) -> LinkView:
    view = {
        "neighbour": link.name,
        "connected": link.connection is not None,
        "state": link_state(link),
        "cost": link_cost(link),
        "dialled": link.is_dialled,
        "role": TREE if link.in_tree else STANDBY,
        "since": link.since or None,
        "held_as": FORMS[form_of(link)],
        **link_counts(mesh, link),
    }
    return cast(LinkView, view)


def bridge_views(mesh: Mesh) -> list[StockView]:
    bridges = mesh.bridges.by_name.items() if mesh.bridges is not None else ()
    return [cast(StockView, {"stock": name, **bridge_counts(bridge)}) for name, bridge in bridges]


def choices_view(core: Core, query: dict[str, str]) -> Page[ChoiceView]:
    """By what they carry, the busiest first."""
    choices = sorted(
        mesh_in(core).auto.choices.items(),
        key=lambda item: (-item[1].published - item[1].subscribed, item[0]),
    )
    return cut(
        choices, query, lambda one: cast(ChoiceView, {"branch": one[0], **choice_view(one[1])})
    )


def windows_view(core: Core, query: dict[str, str]) -> Page[WindowView]:
    windows = mesh_in(core).windows
    subscribed: list[SubscribedWindow | SubscribedValues] = [
        *windows.subscribed.values(),
        *windows.values.subscribed.values(),
    ]
    subscribed.sort(key=lambda one: (one.operator(), one.wanted.key))
    return cut(subscribed, query, window_view)


def window_view(subscribed: SubscribedWindow | SubscribedValues) -> WindowView:
    if isinstance(subscribed, SubscribedValues):
        return {
            "operator": subscribed.operator(),
            "form": subscribed.form,
            "windows": 0,
            "told": subscribed.told,
            "raw_bytes": round(subscribed.raw_bytes),
            "partial_bytes": round(subscribed.partial_bytes),
            "waiting": 0,
            "missing": " ".join(subscribed.missing),
            "corrections": 0,
            "late": 0,
        }
    return {
        "operator": subscribed.operator(),
        "form": "partial" if subscribed.is_partial() else "raw",
        "windows": subscribed.windows,
        "told": 0,
        "raw_bytes": 0,
        "partial_bytes": 0,
        "waiting": len(subscribed.gatherings),
        "missing": " ".join(subscribed.missing),
        "corrections": subscribed.corrections,
        "late": subscribed.late,
    }


def interests_view(core: Core, query: dict[str, str]) -> Page[InterestView]:
    """By link, and there what this broker told and what it was told."""
    mesh = mesh_in(core)
    wanted = query.get("neighbour")
    own = mesh.settings.name
    interests: list[tuple[str, str, str]] = []
    for name in sorted(mesh.by_name):
        link = mesh.by_name[name]
        if wanted is None or wanted == name:
            interests += [(name, own, each) for each in sorted(link.advertiser.told_interests())]
            interests += [(name, name, each) for each in sorted(link.session.subscriptions)]
    return cut(interests, query, interest_view)


def interest_view(told: tuple[str, str, str]) -> InterestView:
    neighbour, told_by, interest = told
    filter = filter_of(interest)
    parts = interest[len(filter) :].split(SEPARATOR)
    rules = [part[1:] for part in parts if part.startswith(RULES)]
    areas = [part[1:].replace("\n", " ") for part in parts if part.startswith(REGION)]
    return {
        "neighbour": neighbour,
        "told_by": told_by,
        "filter": filter,
        "rules": "".join(rules),
        "area": "".join(areas) or ("nowhere" if areas else ""),
    }


def decide_mode(core: Core, mode: str, now: float) -> None:
    """HttpError 400 if there is no such mode."""
    try:
        mesh_in(core).mode_switch.decide(mode, now)
    except ValueError as error:
        raise HttpError(400, str(error)) from None


def mesh_view(core: Core, query: dict[str, str]) -> MeshView:
    mesh = mesh_in(core)
    links = sorted(mesh.by_name.values(), key=lambda link: link.name)
    return {
        "name": mesh.settings.name,
        "mesh": mesh.settings.mesh,
        "mode": mesh.settings.mode,
        **cut(links, query, lambda link: link_view(mesh, link)),
        "tree": tree_counts(mesh),
        "errands": directed_counts(mesh),
        "stocks": bridge_views(mesh),
    }
