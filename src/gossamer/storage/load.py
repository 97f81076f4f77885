"""Rows of a store as the state they describe, with the index that lets a journal go on from it.

Nothing that is wrong is passed over: each row that cannot be used becomes a line in `problems`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from gossamer.session.records import (
    QUEUED,
    RELEASED,
    SENT,
    DeliveryRecord,
    Snapshot,
    StoredSession,
)
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

    def __init__(self, rows: Rows, waiting: Waiting | None = None) -> None:
        """Read all tables. `rows` gives each table's rows; the order within a table is by key.

        `waiting` is there if `rows` has none of what waits: of that, only what is inflight is read,
        and what comes before something that has no lane.
        """
        self.snapshot = Snapshot()
        self.index = Index()
        self.problems: list[str] = []
        self.damaged: list[int] = []  # rows of `waiting` that a queue goes on without
        self._by_key: dict[int, tuple[StoredSession, SessionIndex]] = {}
        self._lanes: dict[int, LaneIndex] = {}
        self._topics: set[str] = set()  # of retained messages
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
            self.index.next[table] = self._read(table, rows, method)
        if waiting is None:  # a salvage, which wants everything
            self._read(WAITING, rows, self._waiting)
        else:
            self._read_inflight(waiting)
            for stored, owner in self._by_key.values():
                if owner.lane is not None:
                    self._read_head(stored, owner.lane, waiting)
        for session, _ in self._by_key.values():
            session.deliveries.sort(key=lambda delivery: delivery.number)
        messages = self.index.messages
        unneeded = [one for one in messages.values() if one.references == 0]
        for one in unneeded:
            del messages[one.key]
        # Messages that nothing refers to: to be deleted.
        self.orphans = [one.key for one in unneeded if not one.is_retained]

    def _read(self, table: Table, rows: Rows, take: Callable[[Row], None]) -> int:
        """Take in every row; the first key after them all."""
        highest = 0
        for row in rows[table]:
            highest = max(highest, row[0])
            try:
                take(row)
            except (ValueError, TypeError, KeyError, AttributeError) as problem:
                self.problems.append(f"{table.name} {row[0]} is unreadable: {problem}")
        return highest + 1

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
        if record.number in session.deliveries:
            raise UnreadableRow(f"delivery number {record.number} is there twice")
        if message is not None:
            message.references += 1
        session.deliveries[record.number] = StoredDelivery(row, message)
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
        lane.read = taken

    def _read_inflight(self, waiting: Waiting) -> None:
        for lane in self._lanes.values():
            if lane.is_inflight_kept:
                first = lane.key * PLACES
                rows = waiting(first, first + lane.inflight.taken)
                self._read(WAITING, {WAITING: rows}, self._sent)

    def _sent(self, row: Row) -> None:
        """What was sent from a lane, and is in it until it is acknowledged."""
        stored, session = self._owner(row)
        record = waiting_from(row)
        lane = self._lanes[row[0] // PLACES]
        record.packet_id = lane.inflight.packet_id(record.place)
        record.state = SENT
        if record.number in session.deliveries or record.number in session.sent:
            raise UnreadableRow(f"delivery number {record.number} is there twice")
        lane.inflight.restore(record.place)
        session.sent[record.number] = (record.place, record)
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
        _add(session.incoming, packet_id, row, f"packet identifier {packet_id}")
        stored.incoming.append(packet_id)

    def _retained(self, row: Row) -> None:
        stored = self._found(row[0])
        topic = stored.message.topic
        if topic in self._topics:
            raise UnreadableRow(f"the topic {topic!r} has another retained message")
        self._topics.add(topic)
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
