"""What the first format of the store kept in others' places, as the rooms that it belongs to.

Positions, moves of sessions, neighbours' epochs and what was asked of bridged brokers were notes in
session records, each in a form of its own; the mesh's own state was among retained messages, on
topics that are closed to clients, and among the parts of operators. What a row does not say clearly
stays where it is.
"""

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

from gossamer.session.message import Message
from gossamer.session.message_bytes import packed_message
from gossamer.storage.rows import Row, message_from, sealed, unsealed
from gossamer.storage.schema import KEPT, MESSAGE, OPERATOR, RETAINED, SESSION, Table

_NEIGHBOUR: Final = "$mesh/"
_BRIDGE: Final = "$stock/"
_SHARED: Final = "$mesh/"
_LOCAL: Final = "$gossamer/"
_NAMES: Final = "$mesh/seen/"
_DIRECTED_TOPIC: Final = "$gossamer/errand"

# The columns of a session's row that matter here.
_CLIENT_ID: Final = 1
_NOTE: Final = 9

# state:broker:since or state:broker:since:directed message; a broker's name may have colons.
_MOVE: Final = re.compile(r"(|settling|arriving|moved|taken):(.*):(\d+)(?::([0-9a-f]+))?")
_POSITION: Final = re.compile(r"[^;:]+;[^;:]+;[^;:]+")

Kept = tuple[str, str, bytes]  # a room, a key, a value


class RowMoves:
    """Rows that go and rows that come in their place."""

    def __init__(self) -> None:
        self.deletes: dict[Table, list[int]] = {}
        self.puts: dict[Table, list[Row]] = {}


def to_rooms(rows: Mapping[Table, Iterable[Row]]) -> RowMoves:
    """From format 1 to 2. Rows that cannot be read are left to whoever loads them."""
    moves = RowMoves()
    found: dict[tuple[str, str], bytes] = {}
    sessions: list[Row] = []
    clients: dict[str, str] = {}  # by the digest that names of topics had of them
    for row in rows[SESSION]:
        client_id, note = row[_CLIENT_ID], row[_NOTE]
        if not isinstance(client_id, str) or not isinstance(note, str):
            continue
        clients[blake2b(_bytes(client_id), digest_size=16).hexdigest()] = client_id
        kept = _from_note(client_id, note)
        if note and kept is not None:
            try:
                content = unsealed(row)
            except ValueError:
                continue
            sessions.append(sealed((*content[:_NOTE], "", *content[_NOTE + 1 :])))
            found.update({(room, key): value for room, key, value in kept})
    retained: list[int] = []
    present = {row[0] for row in rows[RETAINED]}
    for row in rows[MESSAGE]:
        if row[0] in present and str(row[1]).startswith((_SHARED, _LOCAL)):
            moved = _from_retained(row, clients)
            if moved is not None:
                retained.append(row[0])
                found.update({(room, key): value for room, key, value in moved})
    operators: list[int] = []
    for row in rows[OPERATOR]:
        if str(row[1]).startswith(_NAMES):
            try:
                _, state, part, data = unsealed(row)
            except ValueError:
                continue
            operators.append(row[0])
            found["mesh/names/" + state[len(_NAMES) :], part] = data
    if not (sessions or retained or operators):
        return moves
    number = max((row[0] for row in rows[KEPT]), default=0)
    kept_rows: list[Row] = []
    for (room, key), value in found.items():
        number += 1
        kept_rows.append(sealed((number, room, key, value)))
    moves.puts = {SESSION: sessions, KEPT: kept_rows}
    moves.deletes = {RETAINED: retained, OPERATOR: operators}
    return moves


def _from_note(client_id: str, note: str) -> list[Kept] | None:
    """None for what no broker wrote."""
    if client_id.startswith(_NEIGHBOUR):
        return [("mesh/neighbours", client_id[len(_NEIGHBOUR) :], _bytes(note))]
    if client_id.startswith(_BRIDGE):
        room = "mesh/bridges/" + client_id[len(_BRIDGE) :]
        try:
            return [(room, str(filter), b"") for filter in json.loads(note)]
        except (ValueError, TypeError):
            return None
    move = _MOVE.fullmatch(note)
    if move is not None:
        state, broker, since, last = move.groups()
        text = f"{state}/{broker}/{since}" + (f"/{last}" if last else "")
        return [("mesh/moves", client_id, _bytes(text))]
    if _POSITION.fullmatch(note):
        return [("position", client_id, _bytes(note))]
    return None


def _from_retained(row: Row, clients: dict[str, str]) -> list[Kept] | None:
    """None for what is a client's, or cannot be read."""
    try:
        message = message_from(row)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    topic = message.topic
    if topic.startswith(_SHARED):
        return [("mesh/shared", topic, packed_message(message))]
    kind, _, place = topic[len(_LOCAL) :].partition("/")
    if kind == "behind":
        return [("mesh/behind", place, message.payload)]
    if kind == "seen":
        digest, _, first = place.partition("/")
        client_id = clients.get(digest)
        return [] if client_id is None else [(f"mesh/seen/{client_id}", first, message.payload)]
    if kind == "parked":
        return [("mesh/parked", f"/{place}", packed_message(_directed(message)))]
    if kind == "early":
        return [("mesh/early", place, packed_message(_directed(message)))]
    return None


def _directed(kept: Message) -> Message:
    """As it travels: a retained message without a payload was none, so one byte stood before it."""
    return Message(
        _DIRECTED_TOPIC,
        kept.payload[1:],
        kept.qos,
        False,
        kept.properties,
        kept.expires_at,
        kept.publisher,
        kept.user,
    )


def _bytes(text: str) -> bytes:
    """Damaged text of a salvage has no letters for some bytes."""
    return text.encode("utf-8", "surrogateescape")
