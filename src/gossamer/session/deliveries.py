"""What memory holds of messages on their way to clients, of all clients together.

A message is counted once, however many queues and windows hold it, and each place that holds it for
what a place costs. When the budget is nearly full, who holds much already gets no more of it: what
waits for a session that lasts goes to the store, and where there is none a full queue's policy
decides (`queue.py`). Who holds little, or nothing, finds room in the part that is kept for such.
A session that ends with its connection is sent its messages all the same: nothing of them is kept.
"""

from __future__ import annotations

from typing import Final

from gossamer.budget.ledger import LITTLE, RESERVED_PART, Account
from gossamer.session.message import Message
from gossamer.session.records import DeliveryRecord
from gossamer.session.sizes import MESSAGE_BYTES, properties_bytes

UNBOUNDED: Final = 1 << 62  # where no broker sets a budget
# A record, and its place in a queue or a window.
DELIVERY_BYTES: Final = 280


class Deliveries:
    """The account, and the rules by which it is charged. `hold` and `let_go` may be repeated."""

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
