"""What bounds queues: limits, what becomes of a message for a queue that is full, and the memory
that all of them have together; data that the queue and the broker share.

drop-newest   the queue keeps what it has, the message is dropped and counted
drop-oldest   the queue lets go of its oldest messages until there is room
refuse        the publisher is told (5.0), or waits for its acknowledgement (3.1.1, neighbours);
              receivers that have room get the message all the same, once
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from gossamer.budget.ledger import LITTLE, RESERVED_PART, Account
from gossamer.session.message import Message
from gossamer.session.message_bytes import MESSAGE_BYTES, properties_bytes
from gossamer.session.records import DeliveryRecord

if TYPE_CHECKING:
    from gossamer.session.session import Session

DROP_NEWEST: Final = 0
DROP_OLDEST: Final = 1
REFUSE: Final = 2
POLICIES: Final = {"drop-newest": DROP_NEWEST, "drop-oldest": DROP_OLDEST, "refuse": REFUSE}
# For the log, in the order of their numbers.
CONSEQUENCES: Final = (
    "new messages for it are dropped",
    "its oldest messages are dropped",
    "publishers are refused",
)

# The episode of a full queue ends when it has come down to this part of its limit, so that one that
# hovers there is not told of with every message.
ROOM_AGAIN: Final = 0.875
# A publisher that cannot be refused has its message taken, and waits for the acknowledgement. What
# it sends meanwhile may take a queue this far above its limit; then it is not taken either.
OVER_LIMIT: Final = 1.25

UNBOUNDED: Final = 1 << 62  # where no broker sets a budget
# A record, and its place in a queue or a window.
DELIVERY_BYTES: Final = 256


class QueueLimits:
    """How long a queue may become, and what happens then."""

    __slots__ = ("memory_bytes", "messages", "policy", "stored_bytes")

    def __init__(self, messages: int, stored_bytes: int, memory_bytes: int, policy: int) -> None:
        self.messages = messages  # 0 if only bytes count
        self.stored_bytes = stored_bytes  # where the store holds what memory should not
        self.memory_bytes = memory_bytes  # where memory holds everything
        self.policy = policy


@lru_cache(maxsize=64)
def queue_limits(messages: int, stored_bytes: int, memory_bytes: int, policy: int) -> QueueLimits:
    """One object for all sessions that have the same."""
    return QueueLimits(messages, stored_bytes, memory_bytes, policy)


NO_BYTES_LIMIT: Final = 1 << 62
NO_LIMITS: Final = QueueLimits(0, NO_BYTES_LIMIT, NO_BYTES_LIMIT, DROP_NEWEST)


class QueueRefused:
    """A message that a full queue did not take, with all that is needed to try again."""

    __slots__ = ("identifiers", "message", "qos", "queue", "retain", "share")

    def __init__(
        self,
        queue: Session,
        message: Message,
        qos: int,
        retain: bool,
        identifiers: list[int],
        share: str,
    ) -> None:
        self.queue = queue
        self.message = message
        self.qos = qos
        self.retain = retain
        self.identifiers = identifiers
        self.share = share


class Withheld:
    """An acknowledgement that waits: until queues that are over their limit have room again, or
    until those to whom the message is passed on have it (`onward_acks.py`)."""

    __slots__ = ("answer", "packet_id", "publisher", "queues", "size")

    def __init__(self, publisher: Session, packet_id: int, answer: bytes, size: int = 0) -> None:
        self.publisher = publisher
        self.packet_id = packet_id
        self.answer = answer
        self.queues = 0  # that it still waits for
        self.size = size  # bytes of the message, which its publisher keeps meanwhile

    def has_room(self) -> None:
        """One of the queues it waits for has room; after the last one the publisher is answered. A
        publisher that is away is answered when it sends the message again."""
        self.queues -= 1
        if self.queues != 0 or not self.answer:
            return
        publisher = self.publisher
        publisher.withheld_bytes -= self.size
        self.size = 0
        outbox = publisher.outbox
        withheld = publisher.withheld
        if outbox is None or withheld is None or withheld.get(self.packet_id) is not self:
            return  # it is away, or uses the identifier for another message by now
        del withheld[self.packet_id]
        outbox.put_promise(self.answer)

    def cancel(self) -> None:
        """It is not to be given at all."""
        self.publisher.withheld_bytes -= self.size
        self.size = 0
        self.queues = 0
        self.answer = b""


class Guard:
    """Who may have what waits: asked of messages that come back from the store, since rights may
    have changed meanwhile. The base lets everything pass."""

    def may_have(self, queue: Session, message: Message) -> bool:
        return True


class Deliveries:
    """What memory holds of messages on their way to clients, of all clients together: the account,
    and the rules by which it is charged. `hold` and `let_go` may be repeated.

    A message is counted once, however many queues and windows hold it, and each place that holds it
    for what a place costs. When the budget is nearly full, who holds much already gets no more of
    it: what waits for a session that lasts goes to the store, and where there is none a full
    queue's policy decides. Who holds little, or nothing, finds room in the part that is kept for
    such. A session that ends with its connection is sent its messages all the same: nothing of them
    is kept.
    """

    __slots__ = ("account",)

    def __init__(self) -> None:
        self.account = Account("deliveries", UNBOUNDED)

    def hold(self, delivery: DeliveryRecord) -> None:
        """It is in a queue or a window in memory."""
        message = delivery.message
        if delivery.is_held or message is None:
            return
        delivery.is_held = True
        size = DELIVERY_BYTES
        message.holders += 1
        if message.holders == 1:
            size += _content_bytes(message)
        self.account.held += size

    def let_go(self, delivery: DeliveryRecord) -> None:
        """It is not there any more; before its message is forgotten."""
        message = delivery.message
        if not delivery.is_held or message is None:
            return
        delivery.is_held = False
        size = DELIVERY_BYTES
        message.holders -= 1
        if message.holders == 0:
            size += _content_bytes(message)
        self.account.held -= size

    def lacks_room(self, message: Message, own: int) -> bool:
        """Whether a session that holds so many bytes already can have this one too."""
        account = self.account
        size = DELIVERY_BYTES
        if message.holders == 0:
            size += _content_bytes(message)
        held = account.held + size
        budget = account.budget
        if held <= budget - budget // RESERVED_PART:
            return False
        return held > budget or (own > 0 and own + size > LITTLE)

    def is_crowded(self) -> bool:
        """Whether only those who hold little find room."""
        account = self.account
        return account.held > account.budget - account.budget // RESERVED_PART


def _content_bytes(message: Message) -> int:
    """With the encoding that its receivers share; the same whenever it is asked."""
    size = MESSAGE_BYTES + 2 * (len(message.topic_bytes) + len(message.payload))
    properties = message.properties
    return size if properties is None else size + properties_bytes(properties)
