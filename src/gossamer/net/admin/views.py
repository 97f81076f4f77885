"""What the API shows of the broker and of places: JSON values, whose types are their schemas."""

import base64
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, Generic, TypeVar

from typing_extensions import TypedDict

from gossamer.broker.core import Core
from gossamer.broker.geofences import LocatedSubscription
from gossamer.broker.loop_turns import described
from gossamer.broker.memory_report import holdings
from gossamer.geo.glp import PREFIX
from gossamer.net.admin.http import HttpError
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.topics.names import TopicError, check_filter

MOST_ENTRIES: Final = 1000  # of one answer
DEFAULT_ENTRIES: Final = 100
PAGE: Final = {
    "limit": f"At most so many entries (1 to {MOST_ENTRIES}).",
    "offset": "Skip so many entries.",
}
SEARCHED: Final = {**PAGE, "search": "Only entries with this text in a name or filter."}


class SessionView(TypedDict):
    """One session. Times are the wall clock's."""

    client_id: str
    user: str
    address: str
    listener: str
    connected: bool
    expiry: int
    disconnected_at: float | None
    subscriptions: int
    queued: int
    queued_bytes: int
    spilled: int
    full: bool
    dropped: int
    damaged: int
    inflight: int


class SubscriptionView(TypedDict):
    """One subscription; `glp` are its User Properties about places."""

    client_id: str
    filter: str
    qos: int
    glp: list[tuple[str, str]]


class MemoryView(TypedDict):
    """What one table holds, and may hold."""

    table: str
    bytes: int
    budget: int | None
    client_budget: int | None
    refused: int
    evicted: int
    largest_client: str | None
    largest_bytes: int


class MemoryPage(TypedDict):
    """The tables, and the memory that all their budgets together are a part of."""

    total: int
    entries: list[MemoryView]
    memory: int
    memory_source: str
    budgets: int


class LongTurnsView(TypedDict):
    """Turns of the event loop of more than 50 ms that one kind of work has made."""

    held_by: str
    long_turns: int
    longest_ms: float


class LoopPage(TypedDict):
    """What held the event loop, and for how long. `worst_…` is the longest turn of the last minute
    and what that was; `busy` are the seconds of all turns since the start."""

    total: int
    entries: list[LongTurnsView]
    turns: int
    busy: float
    long_turns: int
    worst_ms: float
    worst_held_by: str | None
    collector_runs: int
    collector_seconds: float
    collector_found: int


class RetainedView(TypedDict):
    """One retained message; a payload that is no text is in base64."""

    topic: str
    qos: int
    size: int
    payload: str
    encoding: str
    publisher: str
    user: str
    expires_at: float | None


class PositionView(TypedDict):
    """Where a client is."""

    client_id: str
    lat: float
    lon: float


class FenceView(TypedDict):
    """A subscription about areas; each entry is the key and the text of a User Property."""

    client_id: str
    filter: str
    lat: float | None
    lon: float | None
    events: list[str]
    entries: list[tuple[str, str]]


Found = TypeVar("Found")
Entry = TypeVar("Entry")


class Page(TypedDict, Generic[Entry]):
    """A part of a list, and how long all of it is."""

    total: int
    entries: list[Entry]


def cut(
    found: Sequence[Found], query: dict[str, str], view: Callable[[Found], Entry]
) -> Page[Entry]:
    """The part of what was found that was asked for."""
    offset, limit = page(query)
    return {"total": len(found), "entries": [view(one) for one in found[offset : offset + limit]]}


def page(query: dict[str, str]) -> tuple[int, int]:
    """Offset and limit; HttpError 400 if they are no numbers or out of bounds."""
    try:
        offset, limit = int(query.get("offset", 0)), int(query.get("limit", DEFAULT_ENTRIES))
    except ValueError as error:
        raise HttpError(400, "limit and offset are numbers") from error
    if offset < 0 or not 1 <= limit <= MOST_ENTRIES:
        raise HttpError(400, f"limit is 1 to {MOST_ENTRIES}, and offset not below 0")
    return offset, limit


def session_view(session: Session, wall_offset: float) -> SessionView:
    record = session.record
    identity = session.identity
    return {
        "client_id": session.client_id,
        "user": session.user,
        "address": identity.address,
        "listener": identity.listener,
        "connected": session.outbox is not None,
        "expiry": record.expiry,
        "disconnected_at": record.disconnected_at + wall_offset if record.disconnected_at else None,
        "subscriptions": len(session.subscriptions),
        "queued": session.queued() + session.lane.messages,
        "queued_bytes": session.queue_bytes + session.lane.bytes,
        "spilled": session.lane.messages,
        "full": session.is_full,
        "dropped": session.dropped,
        "damaged": session.lane.damaged,
        "inflight": session.in_flight(),
    }


def sessions(core: Core, query: dict[str, str]) -> Page[SessionView]:
    wanted = query.get("search", "").lower()
    if not wanted:  # a page of very many, without a list of them all
        offset, limit = page(query)
        chosen = islice(core.sessions.values(), offset, offset + limit)
        return {
            "total": len(core.sessions),
            "entries": [session_view(one, core.wall_offset) for one in chosen],
        }
    found = [
        one
        for one in core.sessions.values()
        if wanted in one.client_id.lower() or wanted in one.user.lower()
    ]
    return cut(found, query, lambda one: session_view(one, core.wall_offset))


def one_session(core: Core, client_id: str) -> SessionView:
    session = core.sessions.get(client_id)
    if session is None:
        raise HttpError(404, f"there is no session {client_id}")
    return session_view(session, core.wall_offset)


def subscriptions(core: Core, query: dict[str, str]) -> Page[SubscriptionView]:
    client_id = query.get("client_id")
    if client_id is None:
        owners = list(core.sessions.values())
    else:
        owners = [core.sessions[client_id]] if client_id in core.sessions else []
    wanted = query.get("search", "").lower()
    found = [
        (owner.client_id, filter, one.record)
        for owner in owners
        for filter, one in owner.subscriptions.items()
        if wanted in filter.lower() or wanted in owner.client_id.lower()
    ]
    return cut(
        found,
        query,
        lambda one: {
            "client_id": one[0],
            "filter": one[1],
            "qos": one[2].qos,
            "glp": [pair for pair in one[2].user if pair[0].startswith(PREFIX)],
        },
    )


def memory(core: Core, query: dict[str, str]) -> MemoryPage:
    shown: Page[MemoryView] = cut(
        holdings(core, with_largest=True),
        query,
        lambda one: {
            "table": one.name,
            "bytes": one.held,
            "budget": one.budget or None,
            "client_budget": one.client_budget or None,
            "refused": one.refused,
            "evicted": one.evicted,
            "largest_client": one.largest or None,
            "largest_bytes": one.largest_held,
        },
    )
    settings = core.settings
    return {
        "total": shown["total"],
        "entries": shown["entries"],
        "memory": settings.memory,
        "memory_source": settings.memory_source,
        "budgets": sum(settings.budgets.values()),
    }


def loop(core: Core, query: dict[str, str]) -> LoopPage:
    turns = core.turns
    shown: Page[LongTurnsView] = cut(
        list(turns.long.items()),
        query,
        lambda one: {
            "held_by": one[0],
            "long_turns": one[1].count,
            "longest_ms": _milliseconds(one[1].longest),
        },
    )
    worst = turns.worst()
    return {
        "total": shown["total"],
        "entries": shown["entries"],
        "turns": turns.buckets()[-1][1],
        "busy": round(turns.seconds, 3),
        "long_turns": turns.long_turns(),
        "worst_ms": _milliseconds(worst.seconds),
        "worst_held_by": described(worst) if worst.kind else None,
        "collector_runs": turns.collector_runs,
        "collector_seconds": round(turns.collector_seconds, 3),
        "collector_found": turns.collector_found,
    }


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1e3, 1)


def retained(core: Core, query: dict[str, str], now: float) -> Page[RetainedView]:
    filter = query.get("filter", "#")
    try:
        check_filter(filter)
    except TopicError as error:
        raise HttpError(400, str(error)) from error
    found = core.retained.search(filter, now)
    return cut(found, query, lambda one: _message(one, core.wall_offset))


def _message(message: Message, wall_offset: float) -> RetainedView:
    try:
        payload, encoding = message.payload.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        payload, encoding = base64.b64encode(message.payload).decode(), "base64"
    return {
        "topic": message.topic,
        "qos": message.qos,
        "size": len(message.payload),
        "payload": payload,
        "encoding": encoding,
        "publisher": message.publisher,
        "user": message.user,
        "expires_at": message.expires_at + wall_offset if message.expires_at else None,
    }


def positions(core: Core, query: dict[str, str], now: float) -> Page[PositionView]:
    known = [(client_id, core.locations.position(client_id, now)) for client_id in core.sessions]
    found = [(client_id, point) for client_id, point in known if point is not None]
    return cut(
        found, query, lambda one: {"client_id": one[0], "lat": one[1].lat, "lon": one[1].lon}
    )


def fences(core: Core, query: dict[str, str], now: float) -> Page[FenceView]:
    found = [
        one
        for session in core.sessions.values()
        for one in session.subscriptions.values()
        if isinstance(one, LocatedSubscription)
    ]
    return cut(found, query, lambda one: _fence(core, one, now))


def _fence(core: Core, one: LocatedSubscription, now: float) -> FenceView:
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
