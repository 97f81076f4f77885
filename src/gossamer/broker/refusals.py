"""Publications that full queues refuse, where that is the policy: who is told what, and when.

A 5.0 client is told with 0x97. A 3.1.1 client and a neighbour cannot be: their message is taken,
even over the limit, and its acknowledgement waits until there is room, so they stop by themselves.
Past that, a 3.1.1 client gets no answer at all, and sends again when it next connects.

Receivers that had room have the message already. So what was refused is remembered for a while: if
the publisher sends the same again it goes only to those that do not have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.session.incoming import accept_incoming, refuse_incoming
from gossamer.session.message import Message
from gossamer.session.message_bytes import message_bytes
from gossamer.session.queue import count_dropped, enqueue_over
from gossamer.session.queue_policy import QueueRefused, Withheld
from gossamer.wire import reasons
from gossamer.wire.packets import V5
from gossamer.wire.publish_codec import IDENTIFIERS, PUBACK_HEAD, PUBREC_HEAD

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection
    from gossamer.broker.core import Core

# A 5.0 client sends again as a new message: within this time the same one is taken for that.
AGAIN_SECONDS: Final = 60.0
# A 3.1.1 client marks what it sends again, so there is no haste.
MARKED_SECONDS: Final = 3600.0
# Of what is remembered, for all publishers together, and what one publication costs at least.
REMEMBERED_BYTES: Final = 8 << 20
_MISSED_BYTES: Final = 600

# In the place of a message that its publisher has to send again.
COMES_AGAIN: Final = Message("", b"", 0, False, None, 0.0, "", "")

# Who published what: client, topic, QoS, retain, and a digest of properties and payload.
Key = tuple[str, str, int, bool, int]


class Missed:
    """The receivers that do not have a publication yet."""

    __slots__ = ("is_marked", "refused", "size", "until")

    def __init__(
        self, refused: list[QueueRefused], message: Message, until: float, is_marked: bool
    ) -> None:
        self.refused = refused
        self.until = until
        self.is_marked = is_marked
        self.size = _MISSED_BYTES + len(message.topic_bytes)
        for each in refused:
            self.size += _MISSED_BYTES // 4
            if each.message is message:
                each.message = COMES_AGAIN
            else:  # it was to be another form of it, without its place
                self.size += message_bytes(each.message)


class Refusals:
    """Of one broker, the oldest forgotten first."""

    __slots__ = ("_size", "missed")

    def __init__(self) -> None:
        self.missed: dict[Key, Missed] = {}
        self._size = 0

    def remember(self, key: Key, missed: Missed) -> None:
        self._forget(key)
        while self.missed and self._size + missed.size > REMEMBERED_BYTES:
            self._forget(next(iter(self.missed)))
        self.missed[key] = missed
        self._size += missed.size

    def recall(self, key: Key, is_marked: bool, now: float) -> list[QueueRefused] | None:
        """Who missed it the last time; None if it is a new publication."""
        missed = self.missed.get(key)
        if missed is None or (missed.is_marked and not is_marked):
            return None
        self._forget(key)
        return missed.refused if now < missed.until else None

    def purge(self, now: float) -> None:
        """Forgets those that nobody sends again any more."""
        for key in [key for key, missed in self.missed.items() if now >= missed.until]:
            self._forget(key)

    def _forget(self, key: Key) -> None:
        missed = self.missed.pop(key, None)
        if missed is not None:
            self._size -= missed.size


def send_again(
    connection: Connection, message: Message, packet_id: int, is_marked: bool, now: float
) -> bool:
    """Whether this is a publication that was refused: then it goes to whom it did not reach."""
    core = connection.core
    refused = core.refusals.recall(_key(message), is_marked, now)
    if refused is None:
        return False
    session = connection.session
    assert session is not None
    if message.qos == 2:
        accept_incoming(session, packet_id)
    drop_refused(core)
    for each in refused:
        queue = each.queue
        if core.sessions.get(queue.client_id) is queue:
            sent = message if each.message is COMES_AGAIN else each.message
            queue.enqueue(sent, each.qos, each.retain, each.identifiers, each.share, now)
    if not is_refused(connection, message, packet_id, now):
        connection.outbox.acknowledge(message.qos, packet_id)
    return True


def is_refused(connection: Connection, message: Message, packet_id: int, now: float) -> bool:
    """After the message went to its receivers: whether some of their queues were full. Then its
    publisher has been answered, or will be later, or must send it again."""
    core = connection.core
    refused = core.hub.refusing
    if not refused:
        return False
    core.hub.refusing = []
    core.hub.passing.end()
    session = connection.session
    assert session is not None
    qos = message.qos
    if connection.version == V5 and not connection.is_peer:
        core.counters.publications_refused += 1
        missed = Missed(refused, message, now + AGAIN_SECONDS, False)
        core.refusals.remember(_key(message), missed)
        if qos == 2:
            refuse_incoming(session, packet_id)
        text = "the queue of a subscriber is full"
        connection.answer(qos, packet_id, reasons.QUOTA_EXCEEDED, text, True)
        return True
    head = PUBACK_HEAD if qos == 1 else PUBREC_HEAD
    withheld = Withheld(session, packet_id, head + IDENTIFIERS[packet_id])
    left = [each for each in refused if not enqueue_over(each.queue, each, withheld)]
    if left and not connection.is_peer:
        core.counters.publications_refused += 1
        missed = Missed(left, message, now + MARKED_SECONDS, True)
        core.refusals.remember(_key(message), missed)
        if qos == 2:
            refuse_incoming(session, packet_id)
        withheld.cancel()
        return True
    if withheld.queues == 0:
        return False  # a neighbour has done its part
    core.counters.withheld += 1
    if session.withheld is None:
        session.withheld = {}
    session.withheld[packet_id] = withheld
    return True


def is_withheld(connection: Connection, packet_id: int) -> bool:
    """A publication that came again: whether its acknowledgement was withheld, and may still be."""
    session = connection.session
    assert session is not None
    held = session.withheld
    withheld = None if held is None else held.get(packet_id)
    if withheld is None or held is None:
        return False
    if withheld.queues == 0:
        del held[packet_id]
        connection.outbox.put_promise(withheld.answer)
    return True


def drop_refused(core: Core) -> None:
    """What full queues refused though nobody can be told: wills, and what is handed on."""
    refused = core.hub.refusing
    core.hub.refusing = []
    for each in refused:
        count_dropped(each.queue)


def _key(message: Message) -> Key:
    digest = hash(message.tail(V5))
    return (message.publisher, message.topic, message.qos, message.retain, digest)
