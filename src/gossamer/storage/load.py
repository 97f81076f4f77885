"""Rows of a store as the state they describe, with the index that lets a journal go on from it.

All of them at once (`whole`), or first what a broker needs before it serves anybody, and the others
in parts (`unread.py`). Nothing that is wrong is passed over: each row that cannot be used becomes a
line in `problems`.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import TypeVar

from gossamer.session.message import Message
from gossamer.session.records import (
    QUEUED,
    RELEASED,
    SENT,
    DeliveryRecord,
    Snapshot,
    StoredSession,
)
from gossamer.storage.damaged_rows import DamagedRow
from gossamer.storage.index import (
    Index,
    LaneIndex,
    SessionIndex,
    StoredDelivery,
    StoredMessage,
    estate_name,
)
from gossamer.storage.lane_inflight import LaneInflight
from gossamer.storage.rows import (
    Row,
    UnreadableRow,
    damaged_waiting,
    delivery_from,
    inflight_from,
    lane_from,
    message_from,
    packet_id_from,
    session_from,
    subscription_from,
    unsealed,
    waiting_from,
)
from gossamer.storage.schema import (
    DELIVERY,
    INCOMING,
    INFLIGHT,
    KEPT,
    LANE,
    MESSAGE,
    OPERATOR,
    PLACES,
    RETAINED,
    SESSION,
    SPILL,
    SUBSCRIPTION,
    WAITING,
    Table,
)

Rows = Mapping[Table, Iterable[Row]]
# Rows of `waiting` from one key to another, both included.
Waiting = Callable[[int, int], Iterable[Row]]
Name = TypeVar("Name", str, int)


class Loaded:
    """What a store holds: for the core, for its journal, and what was wrong with it."""

    def __init__(self, rows: Rows) -> None:
        """`rows` has some rows of each table, but for what waits, in the order of their keys."""
        self.snapshot = Snapshot()
        self.index = Index()
        self.problems: list[str] = []
        self.unusable: list[DamagedRow] = []  # of them, those that have a line in `problems`
        self.damaged: list[int] = []  # rows of `waiting` that a queue goes on without
        self.lost_retained = 0
        self.damaged_bytes = 0  # that they counted for in their lanes
        self._by_key: dict[int, tuple[StoredSession, SessionIndex]] = {}
        self._lanes: dict[int, LaneIndex] = {}
        # What is referred to is taken in before what refers to it.
        take: tuple[tuple[Table, Callable[[Row], None]], ...] = (
            (MESSAGE, self._message),
            (SESSION, self._session),
            (SUBSCRIPTION, self._subscription),
            (DELIVERY, self._delivery),
            (INCOMING, self._incoming),
            (RETAINED, self._retained),
            (OPERATOR, self._operator),
            (KEPT, self._kept),
            (LANE, self._lane),
            (INFLIGHT, self._inflight),
            (SPILL, self._spilled),
        )
        for table, method in take:
            self.index.next[table] = self._read(table, rows[table], method)

    # Parts that come later ------------------------------------------------------------------------

    def lane_of(self, session: int) -> LaneIndex | None:
        return self._by_key[session][1].lane

    def expect(self, session: int, last_number: int, waiting: int) -> None:
        """Some of its deliveries come later, none with a higher number; so many were not sent."""
        owner = self._by_key.get(session)
        if owner is None:
            self.problems.append(f"session {session} is missing, and has deliveries")
            return
        stored = owner[0]
        stored.is_whole = False
        stored.last_number = max(stored.last_number, last_number)
        stored.waiting += waiting

    def expect_sent(self) -> None:
        """What is in flight from lanes comes later, too."""
        for lane in self._lanes.values():
            if lane.is_unread and lane.session:
                self.expect(lane.session, 0, 0)

    def expected(self) -> dict[str, int]:
        """The sessions of which something comes later: their keys, by name."""
        return {
            stored.record.client_id: key
            for key, (stored, _) in self._by_key.items()
            if not stored.is_whole
        }

    def read_messages(self, rows: Iterable[Row], retained: Container[int] = ()) -> None:
        """Those that deliveries refer to which come next; some may be known. `retained` has the
        keys of those that the store says are retained."""
        messages = self.index.messages
        new = [row for row in rows if row[0] not in messages]
        self._read(MESSAGE, new, self._message)
        gone = self.index.retained_gone
        for row in new:
            key: int = row[0]
            if key in retained and key not in gone and key in messages:
                messages[key].is_retained = True

    def read_deliveries(self, rows: Iterable[Row]) -> None:
        self._read(DELIVERY, rows, self._delivery)

    def read_sent(self, rows: Iterable[Row]) -> None:
        """What lanes have of what is in flight."""
        self._read(WAITING, rows, self._sent)

    def finish_queue(self, session: int, waiting: Waiting) -> StoredSession:
        """All of its deliveries have come, but for what comes before some of them in its lane."""
        stored, owner = self._by_key[session]
        if owner.lane is not None:
            owner.lane.is_unread = False
            self._read_head(stored, owner.lane, waiting)
        stored.deliveries.sort(key=_by_number)
        stored.is_whole = True
        return stored

    def read_all_lanes(self, waiting: Waiting) -> None:
        """Of what waits, only what is in flight is read, and what comes before something that has
        no lane."""
        for lane in self._lanes.values():
            if lane.is_inflight_kept:
                first = lane.key * PLACES
                self.read_sent(waiting(first, first + lane.inflight.taken))
        for session in self._by_key:
            self.finish_queue(session, waiting)

    def read_all_waiting(self, rows: Iterable[Row]) -> None:
        """For a salvage, which wants everything."""
        self._read(WAITING, rows, self._waiting)
        for stored, _ in self._by_key.values():
            stored.deliveries.sort(key=_by_number)

    def read_retained(self, rows: Iterable[Row]) -> list[Message]:
        """Those that hold, of rows of `retained` with the message that each refers to."""
        found = list(rows)
        self.read_messages([row for row in found if row[1] is not None])  # others are missing
        self._read(RETAINED, found, self._retained)
        self.forget_unreferred([row[0] for row in found])
        taken = self.snapshot.retained
        self.snapshot.retained = []
        return taken

    def forget_unreferred(self, keys: Iterable[int]) -> None:
        """Those of the messages that no session refers to, as far as it has been read."""
        messages = self.index.messages
        for key in keys:
            stored = messages.get(key)
            if stored is not None and stored.references == 0:
                del messages[key]

    def leave_superseded(self) -> None:
        """Of two retained messages on one topic the one with the higher key is the last."""
        last: dict[str, Message] = {}
        for message in self.snapshot.retained:
            known = last.get(message.topic)
            if known is None or known.stored < message.stored:
                last[message.topic] = message
        self.snapshot.retained = list(last.values())

    # Rows -----------------------------------------------------------------------------------------

    def _read(self, table: Table, rows: Iterable[Row], take: Callable[[Row], None]) -> int:
        """Take in every row; the first key after them all."""
        highest = 0
        for row in rows:
            highest = max(highest, row[0])
            try:
                take(row)
            except (ValueError, TypeError, KeyError, AttributeError) as problem:
                self.problems.append(f"{table.name} {row[0]} is unreadable: {problem}")
                self.unusable.append(DamagedRow(table, row))
                self._count_lost(table, row)
        return highest + 1

    def _count_lost(self, table: Table, row: Row) -> None:
        """What somebody does not get for it; what refers to a lost message is lost itself."""
        if table is RETAINED:
            self.lost_retained += 1
        elif table is DELIVERY or table is WAITING:
            owner = self._by_key.get(row[1])
            if owner is not None:
                owner[0].damaged += 1

    def _message(self, row: Row) -> None:
        self.index.messages[row[0]] = StoredMessage(row[0], message_from(row))

    def _session(self, row: Row) -> None:
        record, will = session_from(row)
        if record.client_id in self.index.sessions:
            raise UnreadableRow(f"the client {record.client_id!r} has another session")
        session = SessionIndex(row[0])
        if will is not None and will in self.index.messages:
            session.will = self._referred(will)
            record.will = session.will.message
        elif will is not None:  # a session is worth keeping without its will
            self.problems.append(f"session {row[0]} lost its will, message {will}")
        stored = StoredSession(record)
        self._by_key[row[0]] = (stored, session)
        self.index.sessions[record.client_id] = session
        self.snapshot.sessions.append(stored)

    def _subscription(self, row: Row) -> None:
        stored, session = self._owner(row)
        record = subscription_from(row)
        _add(session.subscriptions, record.filter, row, f"the filter {record.filter!r}")
        stored.subscriptions.append(record)

    def _delivery(self, row: Row) -> None:
        stored, session = self._owner(row)
        key = row[3]
        message = self.index.messages.get(key)
        record = delivery_from(row, message.message if message is not None else None)
        if message is None and (key is not None or record.state != RELEASED):
            raise UnreadableRow(f"message {key} is missing")
        if record.number in session.traffic.deliveries:
            raise UnreadableRow(f"delivery number {record.number} is there twice")
        if message is not None:
            message.references += 1
        session.own_traffic().deliveries[record.number] = StoredDelivery(row, message)
        stored.deliveries.append(record)

    def _lane(self, row: Row) -> None:
        owner, following, last_number, messages, size, shared = lane_from(row)
        lane = self._lanes[row[0]] = LaneIndex(row[0], owner)
        lane.next = following
        lane.last_number = last_number
        lane.messages = messages
        lane.size = size
        lane.is_shared = bool(shared)
        if not owner:
            estate = SessionIndex(0)
            estate.lane = lane
            self.index.sessions[estate_name(row[0])] = estate
            return
        stored, session = self._owner(row)
        session.lane = lane
        stored.spilled = messages
        stored.spilled_bytes = size
        stored.last_number = last_number

    def _inflight(self, row: Row) -> None:
        lane = self._lanes.get(row[0])
        if lane is None:
            raise UnreadableRow(f"lane {row[0]} is missing")
        taken, runs = inflight_from(row)
        lane.inflight = LaneInflight(taken, runs)
        lane.is_inflight_kept = True
        lane.is_unread = True
        lane.read = taken

    def _sent(self, row: Row) -> None:
        """What was sent from a lane, and is in it until it is acknowledged."""
        stored, session = self._owner(row)
        record = waiting_from(row)
        lane = self._lanes[row[0] // PLACES]
        record.packet_id = lane.inflight.packet_id(record.place)
        record.state = SENT
        if record.number in session.traffic.deliveries or record.number in session.traffic.sent:
            raise UnreadableRow(f"delivery number {record.number} is there twice")
        lane.inflight.restore(record.place)
        session.own_traffic().sent[record.number] = (record.place, record)
        record.place = 0  # for the core it is a delivery like others
        stored.deliveries.append(record)

    def _read_head(self, stored: StoredSession, lane: LaneIndex, waiting: Waiting) -> None:
        """What came to the session when it had all of its lane in memory has none itself, and must
        stay behind what has. That is no more than memory held."""
        queued = [each.number for each in stored.deliveries if each.state == QUEUED]
        last = max(queued, default=0)
        if not last or not lane.messages:
            return
        first = lane.key * PLACES
        damaged: list[DeliveryRecord] = []  # since the last one that can be read
        for row in waiting(first + lane.read + 1, first + PLACES - 1):
            try:
                record = waiting_from(row)
            except (ValueError, TypeError):
                damaged.append(damaged_waiting(row))
                continue
            if record.number > last:
                return  # what is damaged before it is set aside when it is read back
            for lost in damaged:
                lane.messages -= 1
                lane.size -= lost.size
                self.damaged_bytes += lost.size
                self.damaged.append(first + lost.place)
            for passed in (*damaged, record):
                stored.spilled -= 1
                stored.spilled_bytes -= passed.size
            damaged = []
            lane.read = record.place
            stored.deliveries.append(record)

    def _spilled(self, row: Row) -> None:
        """What could not be brought to a lane."""
        raise UnreadableRow("its checksum is wrong")

    def _waiting(self, row: Row) -> None:
        """Without a lane it is left over from one that ended."""
        lane = self._lanes.get(row[0] // PLACES)
        if lane is not None and row[1] in self._by_key:
            stored, session = self._owner(row)
            record = waiting_from(row)
            if record.place <= lane.inflight.taken:
                record.packet_id = lane.inflight.packet_id(record.place)
                record.state = SENT
            stored.deliveries.append(record)
            session.lane = None
            stored.spilled = 0
            stored.spilled_bytes = 0

    def _incoming(self, row: Row) -> None:
        stored, session = self._owner(row)
        packet_id = packet_id_from(row)
        _add(session.own_traffic().incoming, packet_id, row, f"packet identifier {packet_id}")
        stored.incoming.append(packet_id)

    def _retained(self, row: Row) -> None:
        """Of two on one topic the later one holds (`whole`); of what a broker reads, it decides."""
        stored = self._found(row[0])
        stored.is_retained = True
        self.snapshot.retained.append(stored.message)

    def _operator(self, row: Row) -> None:
        _, state, part, data = unsealed(row)
        parts = self.index.operators.setdefault(state, {})
        _add(parts, part, row, f"the part {part!r} of {state!r}")
        self.snapshot.operators.append((state, part, data))

    def _kept(self, row: Row) -> None:
        _, room, key, value = unsealed(row)
        keys = self.index.rooms.setdefault(room, {})
        _add(keys, key, row, f"the key {key!r} of {room!r}")
        self.snapshot.rooms.setdefault(room, {})[key] = value

    def _owner(self, row: Row) -> tuple[StoredSession, SessionIndex]:
        owner = self._by_key.get(row[1])
        if owner is None:
            raise UnreadableRow(f"session {row[1]} is missing")
        return owner

    def _found(self, key: int) -> StoredMessage:
        message = self.index.messages.get(key)
        if message is None:
            raise UnreadableRow(f"message {key} is missing")
        return message

    def _referred(self, key: int) -> StoredMessage:
        message = self._found(key)
        message.references += 1
        return message


def _add(keys: dict[Name, int], name: Name, row: Row, what: str) -> None:
    if name in keys:
        raise UnreadableRow(f"{what} is there twice")
    keys[name] = row[0]


def _by_number(delivery: DeliveryRecord) -> int:
    return delivery.number


def whole(rows: Rows, waiting: Waiting | None = None) -> Loaded:
    """All tables. Without `waiting` what waits is in `rows` too, and all of it is read."""
    loaded = Loaded(rows)
    if waiting is None:
        loaded.read_all_waiting(rows[WAITING])
    else:
        loaded.read_all_lanes(waiting)
    loaded.leave_superseded()
    loaded.forget_unreferred(list(loaded.index.messages))
    return loaded
