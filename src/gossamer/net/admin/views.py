"""What the API shows of the broker and of places: JSON values, whose types are their schemas.

A list is looked through in slices, and others are served in between: what comes or goes meanwhile
may be in it or not.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import islice
from typing import Any, Final, Generic, TypeVar

from typing_extensions import TypedDict

from gossamer.broker.conditions import SEPARATOR
from gossamer.broker.core import Core
from gossamer.broker.loop_turns import ADMIN, MeasuredTurn, described
from gossamer.broker.memory_report import holdings
from gossamer.broker.named_areas import NamedArea
from gossamer.broker.subscriptions import located_in
from gossamer.geo.areas import Area
from gossamer.geo.earth import Point
from gossamer.geo.glp import PREFIX
from gossamer.net.admin.http import HttpError
from gossamer.session.message import Message
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Subscription
from gossamer.topics.names import TopicError, check_filter

MOST_ENTRIES: Final = 1000  # of one answer
DEFAULT_ENTRIES: Final = 100
# Sessions, and steps of a search for retained messages, in one turn: about a millisecond.
SLICE: Final = 1000
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


class PlaceView(TypedDict):
    """A place by name; `source` is where it came from, `subscriptions` how many name it."""

    name: str
    version: int
    changed_at: float
    source: str
    corners: int
    subscriptions: int
    area: dict[str, Any]


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


class Matches(Generic[Found]):
    """What was found so far: how many, and those of the page that was asked for."""

    def __init__(self, query: dict[str, str]) -> None:
        self._offset, limit = page(query)
        self._end = self._offset + limit
        self._total = 0
        self._shown: list[Found] = []

    def add(self, one: Found) -> None:
        if self._offset <= self._total < self._end:
            self._shown.append(one)
        self._total += 1

    def page(self, view: Callable[[Found], Entry]) -> Page[Entry]:
        return {"total": self._total, "entries": [view(one) for one in self._shown]}


async def sessions_in_turns(core: Core, about: str) -> AsyncIterator[list[Session]]:
    """All sessions, some at a time; what is done with each slice belongs to its turn."""
    names = list(core.sessions)
    for first in range(0, len(names), SLICE):
        with MeasuredTurn(core.turns, ADMIN, about):
            found = [core.sessions.get(name) for name in names[first : first + SLICE]]
            yield [one for one in found if one is not None]
        await asyncio.sleep(0)


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
    """A page of very many, without a list of them all."""
    offset, limit = page(query)
    chosen = islice(core.sessions.values(), offset, offset + limit)
    return {
        "total": len(core.sessions),
        "entries": [session_view(one, core.wall_offset) for one in chosen],
    }


async def searched_sessions(core: Core, query: dict[str, str]) -> Page[SessionView]:
    wanted = query.get("search", "").lower()
    matches: Matches[Session] = Matches(query)
    async for some in sessions_in_turns(core, "sessions"):
        for one in some:
            if wanted in one.client_id.lower() or wanted in one.user.lower():
                matches.add(one)
    return matches.page(lambda one: session_view(one, core.wall_offset))


def one_session(core: Core, client_id: str) -> SessionView:
    session = core.sessions.get(client_id)
    if session is None:
        raise HttpError(404, f"there is no session {client_id}")
    return session_view(session, core.wall_offset)


async def subscriptions(core: Core, query: dict[str, str]) -> Page[SubscriptionView]:
    client_id = query.get("client_id")
    wanted = query.get("search", "").lower()
    matches: Matches[tuple[str, SubscriptionRecord]] = Matches(query)

    def look(owner: Session) -> None:
        is_wanted = wanted in owner.client_id.lower()
        for filter, one in owner.subscriptions.items():
            if is_wanted or wanted in filter.lower():
                matches.add((owner.client_id, one.record))

    if client_id is None:
        async for some in sessions_in_turns(core, "subscriptions"):
            for owner in some:
                look(owner)
    elif client_id in core.sessions:
        look(core.sessions[client_id])
    return matches.page(
        lambda one: {
            "client_id": one[0],
            "filter": one[1].filter,
            "qos": one[1].qos,
            "glp": [pair for pair in one[1].user if pair[0].startswith(PREFIX)],
        }
    )


async def memory(core: Core, query: dict[str, str]) -> MemoryPage:
    """Who holds most of a table is looked up table by table, each in a turn of its own."""
    found = holdings(core)
    by_name = core.ledger.accounts
    for holding in found:
        account = by_name.get(holding.name)
        if account is None:
            continue
        with MeasuredTurn(core.turns, ADMIN, "memory"):
            holding.largest, holding.largest_held = account.largest()
        if len(account.clients) > SLICE:
            await asyncio.sleep(0)
    shown: Page[MemoryView] = cut(
        found,
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


async def retained(core: Core, query: dict[str, str], now: float) -> Page[RetainedView]:
    filter = query.get("filter", "#")
    try:
        check_filter(filter)
    except TopicError as error:
        raise HttpError(400, str(error)) from error
    matches: Matches[Message] = Matches(query)
    search = core.retained.begin_search(filter)
    while not search.is_done():
        with MeasuredTurn(core.turns, ADMIN, "retained"):
            for one in search.next(now, SLICE):
                matches.add(one)
        await asyncio.sleep(0)
    return matches.page(lambda one: _message(one, core.wall_offset))


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


async def positions(core: Core, query: dict[str, str], now: float) -> Page[PositionView]:
    matches: Matches[tuple[str, Point]] = Matches(query)
    async for some in sessions_in_turns(core, "positions"):
        for one in some:
            point = core.locations.position(one.client_id, now)
            if point is not None:
                matches.add((one.client_id, point))
    return matches.page(lambda one: {"client_id": one[0], "lat": one[1].lat, "lon": one[1].lon})


async def fences(core: Core, query: dict[str, str], now: float) -> Page[FenceView]:
    matches: Matches[Subscription] = Matches(query)
    async for some in sessions_in_turns(core, "fences"):
        for session in some:
            for one in session.subscriptions.values():
                if located_in(one) is not None:
                    matches.add(one)
    return matches.page(lambda one: _fence(core, one, now))


def places(core: Core, query: dict[str, str]) -> Page[PlaceView]:
    matches: Matches[NamedArea] = Matches(query)
    for name in sorted(core.places.areas):
        matches.add(core.places.areas[name])
    return matches.page(lambda one: place_view(core, one))


def place_view(core: Core, one: NamedArea) -> PlaceView:
    return {
        "name": one.name,
        "version": one.version,
        "changed_at": one.changed_at,
        "source": one.source,
        "corners": one.shape.points(),
        "subscriptions": len(core.places.followers.get(one.name, {})),
        "area": json.loads(one.text),
    }


def _fence(core: Core, one: Subscription, now: float) -> FenceView:
    """Places that it names are shown as what they are now."""
    located = located_in(one)
    assert located is not None
    client_id = one.session.client_id
    point = core.locations.position(client_id, now)
    return {
        "client_id": client_id,
        "filter": one.record.filter.replace(SEPARATOR, " "),  # a neighbour's may have a condition
        "lat": None if point is None else point.lat,
        "lon": None if point is None else point.lon,
        "events": list(located.events),
        "entries": [entry for area in located.areas.listed for entry in _entries(core, area)],
    }


def _entries(core: Core, area: Area) -> list[tuple[str, str]]:
    known = core.places.areas.get(area.name)
    if known is None:
        return area.entries
    return [("gpl_geojson", f"{area.number};m;{int(area.add)};{known.text}")]
