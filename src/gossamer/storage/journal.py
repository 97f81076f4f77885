"""The journal of a store: collects what the core tells it as the next transaction.

Whatever may change later is copied at the call; messages never change and are only referred to.
"""

from collections.abc import Callable
from typing import Any

from gossamer.session.journal import Journal
from gossamer.session.message import Message
from gossamer.session.records import DeliveryRecord, SessionRecord, SubscriptionRecord
from gossamer.storage.batch import Batch, Changes
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
    delivery_released,
    delivery_row,
    delivery_sent,
    inflight_row,
    lane_row,
    sealed,
    session_row,
    subscription_row,
    waiting_row,
)
from gossamer.storage.schema import (
    INCOMING,
    INFLIGHT,
    KEPT,
    LANE,
    OPERATOR,
    PLACES,
    RETAINED,
    SESSION,
    SUBSCRIPTION,
)


class CollectingJournal(Journal):
    """Collects changes until `take` hands them over as one batch. For one thread only."""

    def __init__(self, index: Index) -> None:
        super().__init__()
        self.keeps = True
        self.spills = True
        self.durable = True
        self._index = index
        # Asked as a transaction ends: what somebody else has to write belongs to it.
        self.take_joint: Callable[[], list[Any]] = _nothing_joint
        self._batch = Batch(self.batch, index.next)
        self._changed_lanes: dict[int, LaneIndex] = {}
        # Retained in this transaction: sessions that need them too share their rows.
        self._retained: list[StoredMessage] = []
        for name, session in index.sessions.items():
            if session.lane is not None:
                self.spilled_bytes += session.lane.size
                if not session.key:
                    self.estates.append(name)

    def take(self) -> Batch:
        """What was collected; from now on changes belong to the next batch."""
        for saver in self.savers:
            saver.save()
        self._collect_parts()
        taken = self._batch
        for stored in self._retained:
            if stored.references == 0:
                self._index.messages.pop(stored.key, None)
        self._retained = []
        for lane in self._changed_lanes.values():
            taken.rows[LANE].put(lane.key, lane_row(lane.key, lane.values()))
            if lane.is_unread:
                continue
            inflight = lane.inflight
            if inflight:
                row = inflight_row(lane.key, inflight.taken, inflight.runs)
                taken.rows[INFLIGHT].put(lane.key, row)
            elif lane.is_inflight_kept:
                taken.rows[INFLIGHT].delete(lane.key)
            lane.is_inflight_kept = len(inflight) > 0
        self._changed_lanes = {}
        taken.joint = self.take_joint()
        self._batch = taken.successor()
        self.batch = self._batch.number
        self.dirty = False
        self.is_awaited = False
        return taken

    def session_saved(self, record: SessionRecord) -> None:
        self.dirty = True
        changes = self._batch.rows[SESSION]
        session = self._index.sessions.get(record.client_id)
        if session is None:
            session = SessionIndex(changes.new_key())
            self._index.sessions[record.client_id] = session
        # The new will is referred to first: it may be the same message as the old one, whose row
        # would be deleted in between.
        old_will = session.will
        session.will = self._referred(record.will) if record.will is not None else None
        if old_will is not None:
            self._let_go(old_will)
        will = session.will.key if session.will is not None else None
        changes.put(session.key, session_row(session.key, record, will))

    def session_removed(self, client_id: str) -> None:
        session = self._index.sessions.pop(client_id, None)
        if session is None:
            return
        self.dirty = True
        rows = self._batch.rows
        rows[SESSION].delete(session.key)
        for key in session.subscriptions.values():
            rows[SUBSCRIPTION].delete(key)
        for key in session.traffic.incoming.values():
            rows[INCOMING].delete(key)
        for delivery in session.traffic.deliveries.values():
            self._forget(delivery)
        if session.lane is not None:
            self._leave(session.lane)
        if session.will is not None:
            self._let_go(session.will)

    def subscription_saved(self, client_id: str, record: SubscriptionRecord) -> None:
        self.dirty = True
        session = self._index.sessions[client_id]
        changes = self._batch.rows[SUBSCRIPTION]
        key = _key_of(record.filter, session.subscriptions, changes)
        changes.put(key, subscription_row(key, session.key, record))

    def subscription_removed(self, client_id: str, filter: str) -> None:
        session = self._index.sessions.get(client_id)
        key = session.subscriptions.pop(filter, None) if session is not None else None
        if key is not None:
            self.dirty = True
            self._batch.rows[SUBSCRIPTION].delete(key)

    def delivery_queued(self, client_id: str, record: DeliveryRecord) -> None:
        self.dirty = True
        session = self._index.sessions[client_id]
        changes = self._batch.deliveries
        key = changes.new_key()
        before = session.traffic.deliveries.get(record.number)
        message = record.message
        if message is None:
            stored = None
            row = delivery_row(key, session.key, record, None)
        else:
            stored = self._referred(message)
            row = delivery_row(key, session.key, record, stored.key)
        session.own_traffic().deliveries[record.number] = StoredDelivery(row, stored)
        changes.puts[key] = row
        if before is not None:
            # A neighbour that hands a session over names a number twice: a row that nothing knows
            # would outlive the session, and the store would count as damaged.
            self._forget(before)

    def delivery_sent(self, client_id: str, number: int, packet_id: int) -> None:
        delivery = self._delivery(client_id, number)
        if delivery is not None:
            self.dirty = True
            delivery.row = delivery_sent(delivery.row, packet_id)
            self._batch.deliveries.puts[delivery.row[0]] = delivery.row

    def delivery_released(self, client_id: str, number: int) -> None:
        delivery = self._delivery(client_id, number)
        if delivery is not None:
            self.dirty = True
            delivery.row = delivery_released(delivery.row)
            self._batch.deliveries.puts[delivery.row[0]] = delivery.row
            if delivery.message is not None:
                self._let_go(delivery.message)
                delivery.message = None
            return
        session = self._index.sessions.get(client_id)
        sent = session.traffic.sent.pop(number, None) if session is not None else None
        if session is not None and sent is not None:
            # Only its number and its packet identifier are needed from now on.
            place, record = sent
            changes = self._batch.deliveries
            key = changes.new_key()
            row = delivery_released(delivery_row(key, session.key, record, None))
            session.own_traffic().deliveries[number] = StoredDelivery(row, None)
            changes.puts[key] = row
            self._land(session, place)

    def delivery_removed(self, client_id: str, number: int) -> None:
        session = self._index.sessions.get(client_id)
        if session is None:
            return
        sent = session.traffic.sent.pop(number, None)
        if sent is not None:
            self._land(session, sent[0])
            return
        delivery = session.traffic.deliveries.pop(number, None)
        if delivery is not None:
            self.dirty = True
            self._forget(delivery)

    def delivery_spilled(self, client_id: str, record: DeliveryRecord) -> None:
        message = record.message
        assert message is not None
        self.dirty = True
        session = self._index.sessions[client_id]
        lane = session.lane
        if lane is None:
            lane = session.lane = LaneIndex(self._batch.rows[LANE].new_key(), session.key)
        key = lane.key * PLACES + lane.next
        row = waiting_row(key, session.key, record, message)
        self._batch.waiting.puts.setdefault(lane.key, []).append(row)
        lane.next += 1
        lane.messages += 1
        lane.size += record.size
        lane.last_number = record.number
        lane.is_shared = lane.is_shared or record.share != ""
        self.spilled_bytes += record.size
        self._changed_lanes[lane.key] = lane

    def unspill(self, client_id: str) -> list[DeliveryRecord]:
        lane = self._lane(client_id)
        if lane is None:
            return []
        records = self.read_lane(lane)
        if records:
            lane.read = records[-1].place
        return records

    def spilled_mark(self, client_id: str) -> int:
        lane = self._lane(client_id)
        return 0 if lane is None else lane.read

    def spilled_again(self, client_id: str, mark: int) -> None:
        lane = self._lane(client_id)
        if lane is not None and mark < lane.read:
            lane.read = mark

    def spilled_names(self, client_id: str) -> list[bytes]:
        lane = self._lane(client_id)
        return [] if lane is None else self.read_names(lane)

    def read_names(self, lane: LaneIndex) -> list[bytes]:
        return []

    def read_lane(self, lane: LaneIndex) -> list[DeliveryRecord]:
        """The next committed deliveries of the lane behind those that were read, if at hand."""
        return []

    def spilled_taken(self, client_id: str, record: DeliveryRecord) -> None:
        session = self._index.sessions.get(client_id)
        lane = session.lane if session is not None else None
        if session is None or lane is None:
            return
        if not lane.inflight.take(record.place, record.packet_id):
            # Its lane cannot say which packet identifier it has: it gets a row of its own.
            self.spilled_removed(client_id, record, True)
            self.delivery_queued(client_id, record)
            return
        self.dirty = True
        session.own_traffic().sent[record.number] = (record.place, record)
        self._leaves(lane, record)
        self._changed_lanes[lane.key] = lane

    def spilled_removed(self, client_id: str, record: DeliveryRecord, is_first: bool) -> None:
        session = self._index.sessions.get(client_id)
        lane = session.lane if session is not None else None
        if session is None or lane is None:
            return
        self.dirty = True
        self._leaves(lane, record)
        if lane.messages == 0 and not lane.inflight:
            session.lane = None
            self._end(lane)
            if not session.key:
                del self._index.sessions[client_id]
                self.estates.remove(client_id)
            return
        # A cut is one statement for all that came before, so it must not meet what is inflight,
        # which stays in the lane until it is acknowledged.
        if is_first and not lane.inflight:
            self._batch.waiting.cuts[lane.key] = record.place
        else:
            self._batch.waiting.gone.add(lane.key * PLACES + record.place)
        self._changed_lanes[lane.key] = lane

    def _leaves(self, lane: LaneIndex, record: DeliveryRecord) -> None:
        """It is no message of the lane any more."""
        lane.messages -= 1
        # Of a damaged one the size is a guess; with the last, everything has left.
        size = record.size if lane.messages else lane.size
        lane.size -= size
        self.spilled_bytes -= size

    def _land(self, session: SessionIndex, place: int) -> None:
        """What was in flight at this place of its lane need not be sent again."""
        lane = session.lane
        assert lane is not None
        self.dirty = True
        cut = lane.inflight.leave(place)
        if lane.messages == 0 and not lane.inflight:
            session.lane = None
            self._end(lane)
            return
        if cut:
            self._batch.waiting.cuts[lane.key] = cut
        else:
            self._batch.waiting.gone.add(lane.key * PLACES + place)
        self._changed_lanes[lane.key] = lane

    def _leave(self, lane: LaneIndex) -> None:
        """Its session ends: what it has of shared groups is for their other members, but for what
        is in flight, which the core has."""
        if not lane.is_shared or lane.messages == 0:
            self.spilled_bytes -= lane.size
            self._end(lane)
            return
        lane.session = 0
        if lane.inflight:
            self._batch.waiting.cuts[lane.key] = lane.inflight.taken
            lane.inflight = LaneInflight()
        self._changed_lanes[lane.key] = lane
        name = estate_name(lane.key)
        estate = SessionIndex(0)
        estate.lane = lane
        self._index.sessions[name] = estate
        self.estates.append(name)

    def _end(self, lane: LaneIndex) -> None:
        self._changed_lanes.pop(lane.key, None)
        self._batch.rows[LANE].delete(lane.key)
        self._batch.rows[INFLIGHT].delete(lane.key)
        self._batch.waiting.end(lane.key)

    def incoming_added(self, client_id: str, packet_id: int) -> None:
        session = self._index.sessions[client_id]
        if packet_id in session.traffic.incoming:
            return
        self.dirty = True
        changes = self._batch.incoming
        key = changes.new_key()
        session.own_traffic().incoming[packet_id] = key
        changes.put(key, (key, session.key, packet_id))

    def incoming_removed(self, client_id: str, packet_id: int) -> None:
        session = self._index.sessions.get(client_id)
        key = session.traffic.incoming.pop(packet_id, None) if session is not None else None
        if key is not None:
            self.dirty = True
            self._batch.incoming.delete(key)

    def retained_saved(self, message: Message, replaced: int) -> int:
        stored = self._stored(message)
        if stored.key != replaced:  # the same message may be retained already
            self.retained_removed(message.topic, replaced)
            self.dirty = True
            self._batch.rows[RETAINED].put(stored.key, (stored.key,))
            stored.is_retained = True
            self._retained.append(stored)
        return stored.key

    def retained_removed(self, topic: str, stored: int) -> None:
        if not stored:
            return
        self.dirty = True
        self._batch.rows[RETAINED].delete(stored)
        index = self._index
        needed = index.messages.get(stored)
        if stored < index.unread_before:
            index.retained_gone.add(stored)
        elif needed is None:
            self._batch.messages.delete(stored)
        if needed is not None:
            needed.is_retained = False
            self._leave_unneeded(needed)

    def messages_unreferred(self, keys: list[int]) -> None:
        """Rows that nothing refers to."""
        for key in keys:
            self.dirty = True
            self._batch.messages.delete(key)

    def operator_saved(self, state: str, part: str, data: bytes) -> None:
        """One part of an operator's state, new or changed."""
        self.dirty = True
        changes = self._batch.rows[OPERATOR]
        key = _key_of(part, self._index.operators.setdefault(state, {}), changes)
        changes.put(key, sealed((key, state, part, data)))

    def keep(self, room: str, key: str, value: bytes) -> None:
        self.dirty = True
        changes = self._batch.rows[KEPT]
        number = _key_of(key, self._index.rooms.setdefault(room, {}), changes)
        changes.put(number, sealed((number, room, key, value)))

    def drop(self, room: str, key: str) -> None:
        keys = self._index.rooms.get(room)
        number = keys.pop(key, None) if keys is not None else None
        if number is not None:
            self.dirty = True
            self._batch.rows[KEPT].delete(number)
            if not keys:
                del self._index.rooms[room]

    def drop_room(self, room: str) -> None:
        for number in self._index.rooms.pop(room, {}).values():
            self.dirty = True
            self._batch.rows[KEPT].delete(number)

    def _collect_parts(self) -> None:
        for state in self.parts.take_dropped():
            for key in self._index.operators.pop(state, {}).values():
                self._batch.rows[OPERATOR].delete(key)
        for state, part, data in self.parts.take_changed():
            if data is not None:
                self.operator_saved(state, part, data)
                continue
            gone = self._index.operators.get(state, {}).pop(part, None)
            if gone is not None:
                self._batch.rows[OPERATOR].delete(gone)

    def _lane(self, client_id: str) -> LaneIndex | None:
        session = self._index.sessions.get(client_id)
        return session.lane if session is not None else None

    def _delivery(self, client_id: str, number: int) -> StoredDelivery | None:
        session = self._index.sessions.get(client_id)
        return session.traffic.deliveries.get(number) if session is not None else None

    def _forget(self, delivery: StoredDelivery) -> None:
        self._batch.deliveries.delete(delivery.row[0])
        if delivery.message is not None:
            self._let_go(delivery.message)

    def _referred(self, message: Message) -> StoredMessage:
        """The stored form of a message, with one reference more."""
        stored = self._stored(message)
        stored.references += 1
        return stored

    def _stored(self, message: Message) -> StoredMessage:
        messages = self._index.messages
        stored = messages.get(message.stored)
        if stored is None or stored.message is not message:  # another store may have numbered it
            changes = self._batch.messages
            key = changes.new_key()
            stored = StoredMessage(key, message)
            message.stored = key
            messages[key] = stored
            changes.puts[key] = message
        return stored

    def _let_go(self, stored: StoredMessage) -> None:
        stored.references -= 1
        self._leave_unneeded(stored)

    def _leave_unneeded(self, stored: StoredMessage) -> None:
        """What no session needs is known here no longer, nor stored if it is not retained."""
        if stored.references == 0:
            self._index.messages.pop(stored.key, None)
            if not stored.is_retained and stored.key >= self._index.unread_before:
                self._batch.messages.delete(stored.key)


def _key_of(name: str, keys: dict[str, int], changes: Changes[Row]) -> int:
    """The key of the row that this name has, or gets."""
    key = keys.get(name)
    if key is None:
        key = keys[name] = changes.new_key()
    return key


def _nothing_joint() -> list[Any]:
    return []
