"""Where everything is in the store: names to keys, kept in memory so that no table needs an index.

Counts how often each stored message is referred to; the last one to let go deletes its row.
"""

from gossamer.session.message import Message
from gossamer.storage.rows import Row


class StoredMessage:
    """A message that has a row, or gets one in the batch that collects now."""

    __slots__ = ("key", "message", "references")

    def __init__(self, key: int, message: Message) -> None:
        self.key = key
        self.message = message
        self.references = 0


class StoredDelivery:
    """The present row of one delivery, and the message it still needs."""

    __slots__ = ("message", "row")

    def __init__(self, row: Row, message: StoredMessage | None) -> None:
        self.row = row
        self.message = message


class SessionIndex:
    """The keys of everything that one session owns."""

    __slots__ = (
        "deliveries",
        "has_spilled",
        "incoming",
        "key",
        "subscriptions",
        "unspilled",
        "will",
    )

    def __init__(self, key: int) -> None:
        self.key = key
        self.will: StoredMessage | None = None
        self.subscriptions: dict[str, int] = {}
        self.deliveries: dict[int, StoredDelivery] = {}
        self.incoming: dict[int, int] = {}
        self.has_spilled = False
        self.unspilled = 0  # the key up to which spilled deliveries were read back


class Index:
    """The keys of the whole store, and the first key of each table that was never used."""

    __slots__ = (
        "messages",
        "next_delivery",
        "next_incoming",
        "next_kept",
        "next_message",
        "next_operator",
        "next_session",
        "next_spill",
        "next_subscription",
        "operators",
        "retained",
        "rooms",
        "sessions",
    )

    def __init__(self) -> None:
        self.sessions: dict[str, SessionIndex] = {}
        self.messages: dict[int, StoredMessage] = {}
        self.retained: dict[str, StoredMessage] = {}
        self.operators: dict[str, dict[str, int]] = {}  # a state's key, and its parts by name
        self.rooms: dict[str, dict[str, int]] = {}  # a room's name, and what it keeps by key
        self.next_message = 1
        self.next_session = 1
        self.next_subscription = 1
        self.next_delivery = 1
        self.next_incoming = 1
        self.next_operator = 1
        self.next_kept = 1
        self.next_spill = 1
