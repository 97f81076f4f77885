"""What the API shows of the broker, as JSON values, and their schemas."""

import base64
from itertools import islice
from typing import Any, Final

from gossamer.broker.core import Core
from gossamer.broker.memory import holdings
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


def schema(**fields: str) -> dict[str, Any]:
    """An object with these fields, each `type`, `type[]` or `type?`."""
    return {"type": "object", "properties": {name: _type(text) for name, text in fields.items()}}


def listing(of: dict[str, Any]) -> dict[str, Any]:
    """A page of a list."""
    return {
        "type": "object",
        "properties": {"total": {"type": "integer"}, "entries": {"type": "array", "items": of}},
    }


def _type(text: str) -> dict[str, Any]:
    if text.endswith("[]"):
        return {"type": "array", "items": {"type": text[:-2]}}
    if text.endswith("?"):
        return {"type": [text[:-1], "null"]}
    return {"type": text}


SESSION: Final = schema(
    client_id="string",
    user="string",
    address="string",
    listener="string",
    connected="boolean",
    expiry="integer",
    disconnected_at="number?",
    subscriptions="integer",
    queued="integer",
    queued_bytes="integer",
    spilled="integer",
    full="boolean",
    dropped="integer",
    inflight="integer",
)
SUBSCRIPTION: Final = schema(client_id="string", filter="string", qos="integer", glp="array[]")
MEMORY: Final = schema(
    table="string",
    bytes="integer",
    budget="integer?",
    client_budget="integer?",
    refused="integer",
    evicted="integer",
    largest_client="string?",
    largest_bytes="integer",
)
RETAINED: Final = schema(
    topic="string",
    qos="integer",
    size="integer",
    payload="string",
    encoding="string",
    publisher="string",
    user="string",
    expires_at="number?",
)


def page(query: dict[str, str]) -> tuple[int, int]:
    """Offset and limit; HttpError 400 if they are no numbers or out of bounds."""
    try:
        offset, limit = int(query.get("offset", 0)), int(query.get("limit", DEFAULT_ENTRIES))
    except ValueError as error:
        raise HttpError(400, "limit and offset are numbers") from error
    if offset < 0 or not 1 <= limit <= MOST_ENTRIES:
        raise HttpError(400, f"limit is 1 to {MOST_ENTRIES}, and offset not below 0")
    return offset, limit


def session_view(session: Session, wall_offset: float) -> dict[str, Any]:
    """Times in it are the wall clock's."""
    record = session.record
    identity = session.identity
    return {
        "client_id": session.client_id,
        "user": session.user,
        "address": identity.address,
        "listener": identity.listener,
        "connected": session.outlet is not None,
        "expiry": record.expiry,
        "disconnected_at": record.disconnected_at + wall_offset if record.disconnected_at else None,
        "subscriptions": len(session.subscriptions),
        "queued": session.queued() + session.spilled,
        "queued_bytes": session.queue_bytes + session.spilled_bytes,
        "spilled": session.spilled,
        "full": session.is_full,
        "dropped": session.dropped,
        "inflight": len(session.inflight),
    }


def sessions(core: Core, query: dict[str, str]) -> dict[str, Any]:
    offset, limit = page(query)
    wanted = query.get("search", "").lower()
    if not wanted:
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
    entries = [session_view(one, core.wall_offset) for one in found[offset : offset + limit]]
    return {"total": len(found), "entries": entries}


def one_session(core: Core, client_id: str) -> dict[str, Any]:
    session = core.sessions.get(client_id)
    if session is None:
        raise HttpError(404, f"there is no session {client_id}")
    return session_view(session, core.wall_offset)


def subscriptions(core: Core, query: dict[str, str]) -> dict[str, Any]:
    offset, limit = page(query)
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
    entries = [
        {
            "client_id": client_id,
            "filter": filter,
            "qos": record.qos,
            "glp": [pair for pair in record.user if pair[0].startswith(PREFIX)],
        }
        for client_id, filter, record in found[offset : offset + limit]
    ]
    return {"total": len(found), "entries": entries}


def memory(core: Core, query: dict[str, str]) -> dict[str, Any]:
    offset, limit = page(query)
    found = holdings(core, with_largest=True)
    entries = [
        {
            "table": one.name,
            "bytes": one.held,
            "budget": one.budget or None,
            "client_budget": one.client_budget or None,
            "refused": one.refused,
            "evicted": one.evicted,
            "largest_client": one.largest or None,
            "largest_bytes": one.largest_held,
        }
        for one in found[offset : offset + limit]
    ]
    return {"total": len(found), "entries": entries}


def retained(core: Core, query: dict[str, str], now: float) -> dict[str, Any]:
    offset, limit = page(query)
    filter = query.get("filter", "#")
    try:
        check_filter(filter)
    except TopicError as error:
        raise HttpError(400, str(error)) from error
    found = core.retained.search(filter, now)
    entries = [_message(one, core.wall_offset) for one in found[offset : offset + limit]]
    return {"total": len(found), "entries": entries}


def _message(message: Message, wall_offset: float) -> dict[str, Any]:
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
