"""Drives a journal and the model with the same random calls, as a core would make them."""

import random

from gossamer.session.journal import Journal
from gossamer.session.message import Message
from gossamer.session.message_bytes import stored_bytes
from gossamer.session.records import (
    QUEUED,
    SENT,
    DeliveryRecord,
    SessionRecord,
    Snapshot,
    SubscriptionRecord,
)
from gossamer.storage.journal import CollectingJournal
from tests.support.store_model import Model, a_message

CLIENTS = ("anna", "ben", "çelik", "d/+#")
FILTERS = ("a/b", "a/#", "$share/g/a/+", "ü/☂")
TOPICS = ("a", "a/b", "ü/☂")
ROOMS = ("", "position", "mesh/seen/ü", "mesh/seen")
KEYS = ("", "a", "a\0b", "☂" * 9000)


class Driver:
    """Every step makes one call, legal in the present state, to the model and to the journal."""

    def __init__(self, seed: int, model: Model) -> None:
        self.random = random.Random(seed)
        self.model = model
        self.number = 0
        self.packet_id = 0
        self.shared: list[Message] = []
        self.retained: dict[str, int] = {}  # by topic, under which number the store has it
        self.spilled: set[int] = set()  # numbers of deliveries that are in the store only
        self.back: dict[str, list[DeliveryRecord]] = {}  # read back of what was spilled
        self.steps = (
            *[self.spill] * 4,
            self.read_back,
            *[self.send_spilled] * 3,
            self.remove_spilled,
            *[self.queue] * 6,
            *[self.send] * 4,
            *[self.release] * 2,
            *[self.remove] * 4,
            self.save_session,
            self.save_session,
            self.remove_session,
            self.subscribe,
            self.unsubscribe,
            self.take_in,
            self.let_out,
            self.retain,
            self.retain,
            self.unretain,
            *[self.keep] * 3,
            *[self.drop] * 2,
            self.drop_room,
        )

    def step(self, journal: Journal) -> None:
        self.random.choice(self.steps)(journal)

    def both(self, journal: Journal, call: str, *arguments: object) -> None:
        getattr(self.model, call)(*arguments)
        getattr(journal, call)(*arguments)

    def client(self) -> str | None:
        return self.random.choice(sorted(self.model.sessions)) if self.model.sessions else None

    def message(self) -> Message:
        """A new message, or one that the broker has already given away."""
        if self.shared and self.random.random() < 0.4:
            return self.random.choice(self.shared)
        payload = self.random.randbytes(self.random.choice((0, 10, 9000)))
        message = a_message(self.random.choice(TOPICS), payload, self.random.random() < 0.3)
        self.shared = [*self.shared[-5:], message]
        return message

    def reopened(self, snapshot: Snapshot, journal: CollectingJournal) -> None:
        """Another life of the store: what was read back is read again, or in the snapshot."""
        self.back.clear()
        self.retained = {message.topic: message.stored for message in snapshot.retained}
        for stored in snapshot.sessions:
            client = stored.record.client_id
            lane = journal._index.sessions[client].lane
            read = 0 if lane is None else lane.read
            self.back[client] = [each for each in stored.deliveries if 0 < each.place <= read]

    def spill(self, journal: Journal) -> None:
        if (client := self.client()) is not None:
            self.number += 1
            message = self.message()
            share = self.random.choice(("", "$share/g/a/+"))
            qos = self.random.choice((1, 2))
            record = DeliveryRecord(self.number, message, qos, False, [3], 0, QUEUED, share)
            record.size = stored_bytes(message)
            self.spilled.add(self.number)
            self.both(journal, "delivery_spilled", client, record)

    def read_back(self, journal: Journal) -> None:
        if (client := self.client()) is not None:
            self.back.setdefault(client, []).extend(journal.unspill(client))

    def send_spilled(self, journal: Journal) -> None:
        client = self.client()
        if client is not None and self.back.get(client):
            record = self.back[client].pop(0)
            if self.random.random() < 0.2:  # it has expired
                self.both(journal, "spilled_removed", client, record, True)
                return
            record.state = SENT
            if self.random.random() < 0.3:
                self.packet_id = self.random.randrange(1, 60_000)
            self.packet_id += 1
            record.packet_id = self.packet_id
            self.spilled.discard(record.number)
            self.both(journal, "spilled_taken", client, record)

    def remove_spilled(self, journal: Journal) -> None:
        client = self.client()
        if client is not None and self.back.get(client):
            record = self.random.choice(self.back[client])
            self.back[client].remove(record)
            self.both(journal, "spilled_removed", client, record, False)

    def save_session(self, journal: Journal) -> None:
        record = SessionRecord(self.random.choice(CLIENTS), "user", self.random.randrange(1 << 32))
        if self.random.random() < 0.5:
            record.will = self.message()
            record.will_delay = self.random.randrange(1000)
            record.will_due = self.random.random() * 1e9
        record.disconnected_at = self.random.choice((0.0, 1.7e9 + self.random.random()))
        record.is_311 = self.random.random() < 0.5
        self.both(journal, "session_saved", record)
        record.expiry = -1  # the core may change its record after the call

    def remove_session(self, journal: Journal) -> None:
        if (client := self.client()) is not None:
            for record in self.back.pop(client, []):
                self.both(journal, "spilled_removed", client, record, True)
            self.both(journal, "session_removed", client)

    def subscribe(self, journal: Journal) -> None:
        if (client := self.client()) is not None:
            record = SubscriptionRecord(self.random.choice(FILTERS), 2, True, False, 1, 7)
            record.user = self.random.choice(([], [("gpl_x", "ü"), ("gpl_x", "2")]))
            self.both(journal, "subscription_saved", client, record)
            record.qos = 0

    def unsubscribe(self, journal: Journal) -> None:
        if (client := self.client()) is not None:
            topic_filter = self.random.choice(FILTERS)
            self.both(journal, "subscription_removed", client, topic_filter)

    def queue(self, journal: Journal) -> None:
        if (client := self.client()) is not None:
            self.number += 1
            sent = self.random.random() < 0.3
            record = DeliveryRecord(
                self.number,
                self.message(),
                self.random.choice((1, 2)),
                self.random.random() < 0.2,
                self.random.choice(([], [1], [5, 268_435_455])),
                self.random.randrange(1, 65536) if sent else 0,
                SENT if sent else QUEUED,
                self.random.choice(("", "$share/g/a/+")),
            )
            self.both(journal, "delivery_queued", client, record)
            record.state = 77

    def delivery(self, *states: int) -> tuple[str, int] | None:
        found = [
            (client, number)
            for client, session in sorted(self.model.sessions.items())
            for number, delivery in session["deliveries"].items()
            if (not states or delivery["state"] in states) and number not in self.spilled
        ]
        return self.random.choice(found) if found else None

    def send(self, journal: Journal) -> None:
        if (found := self.delivery(QUEUED)) is not None:
            self.both(journal, "delivery_sent", *found, self.random.randrange(1, 65536))

    def release(self, journal: Journal) -> None:
        if (found := self.delivery(SENT)) is not None:
            self.both(journal, "delivery_released", *found)

    def remove(self, journal: Journal) -> None:
        if (found := self.delivery()) is not None:
            self.both(journal, "delivery_removed", *found)

    def take_in(self, journal: Journal) -> None:
        if (client := self.client()) is not None:
            self.both(journal, "incoming_added", client, self.random.randrange(1, 6))

    def let_out(self, journal: Journal) -> None:
        if (client := self.client()) is not None:
            self.both(journal, "incoming_removed", client, self.random.randrange(1, 6))

    def retain(self, journal: Journal) -> None:
        message = self.message()
        replaced = self.retained.get(message.topic, 0)
        self.model.retained_saved(message, replaced)
        self.retained[message.topic] = journal.retained_saved(message, replaced)

    def unretain(self, journal: Journal) -> None:
        topic = self.random.choice(TOPICS)
        self.both(journal, "retained_removed", topic, self.retained.pop(topic, 0))

    def keep(self, journal: Journal) -> None:
        value = self.random.randbytes(self.random.choice((0, 10, 9000)))
        room, key = self.random.choice(ROOMS), self.random.choice(KEYS)
        self.both(journal, "keep", room, key, value)

    def drop(self, journal: Journal) -> None:
        self.both(journal, "drop", self.random.choice(ROOMS), self.random.choice(KEYS))

    def drop_room(self, journal: Journal) -> None:
        self.both(journal, "drop_room", self.random.choice(ROOMS))
