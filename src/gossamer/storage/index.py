"""Where everything is in the store: names to keys, kept in memory so that no table needs an index.

Counts how often sessions refer to each stored message; the last one to let go deletes its row. A
message that is only retained is not known here: the table that keeps it knows its row.
"""

from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.session.message import Message
from gossamer.session.records import DeliveryRecord
from gossamer.storage.lane_inflight import LaneInflight
from gossamer.storage.rows import Row
from gossamer.storage.schema import Table


@mypyc_attr(acyclic=True)
class StoredMessage:
    """A message that has a row, or gets one in the batch that collects now; `references` are those
    of sessions."""

    __slots__ = ("is_retained", "key", "message", "references")

    def __init__(self, key: int, message: Message) -> None:
        self.key = key
        self.message = message
        self.references = 0
        self.is_retained = False


@mypyc_attr(acyclic=True)
class StoredDelivery:
    """The present row of one delivery, and the message it still needs."""

    __slots__ = ("message", "row")

    def __init__(self, row: Row, message: StoredMessage | None) -> None:
        self.row = row
        self.message = message


@mypyc_attr(acyclic=True)
class LaneIndex:
    """Where the end of one session's queue is in the store."""

    __slots__ = (
        "inflight",
        "is_inflight_kept",
        "is_shared",
        "is_unread",
        "key",
        "last_number",
        "messages",
        "next",
        "read",
        "session",
        "size",
    )

    def __init__(self, key: int, session: int) -> None:
        self.key = key
        self.session = session
        self.next = 1  # the place of the delivery that comes next
        self.read = 0  # the place up to which the core has them back
        self.messages = 0  # that were not sent
        self.size = 0  # their bytes, as the queue counts them
        self.last_number = 0
        self.is_shared = False
        self.inflight = LaneInflight()  # what was sent from here
        self.is_inflight_kept = False  # whether there is a row of it
        self.is_unread = False  # whether what is in flight is known by that row only

    def values(self) -> tuple[int, int, int, int, int, int]:
        """What its row holds."""
        shared = int(self.is_shared)
        return (self.session, self.next, self.last_number, self.messages, self.size, shared)


@mypyc_attr(acyclic=True)
class TrafficIndex:
    """The keys of what is on its way to one session, and from it."""

    __slots__ = ("deliveries", "incoming", "sent")

    def __init__(self) -> None:
        self.deliveries: dict[int, StoredDelivery] = {}
        self.incoming: dict[int, int] = {}
        # Deliveries in flight that are in the lane still, by number, each with its place there.
        self.sent: dict[int, tuple[int, DeliveryRecord]] = {}


# Of every session that no message was for yet; three tables for each would be a tenth of what an
# idle session weighs. Nothing is ever entered here.
NO_TRAFFIC: Final = TrafficIndex()


@mypyc_attr(acyclic=True)
class SessionIndex:
    """The keys of everything that one session owns."""

    __slots__ = ("key", "lane", "subscriptions", "traffic", "will")

    def __init__(self, key: int) -> None:
        self.key = key
        self.will: StoredMessage | None = None
        self.subscriptions: dict[str, int] = {}
        self.traffic = NO_TRAFFIC  # `own_traffic` is for whoever enters something
        self.lane: LaneIndex | None = None  # while some of its queue is in the store only

    def own_traffic(self) -> TrafficIndex:
        if self.traffic is NO_TRAFFIC:
            self.traffic = TrafficIndex()
        return self.traffic


class Index:
    """The keys of the whole store, and the first key of each table that was never used."""

    __slots__ = (
        "messages",
        "next",
        "operators",
        "retained_gone",
        "rooms",
        "sessions",
        "unread_before",
    )

    def __init__(self) -> None:
        self.sessions: dict[str, SessionIndex] = {}
        self.messages: dict[int, StoredMessage] = {}
        self.operators: dict[str, dict[str, int]] = {}  # a state's key, and its parts by name
        self.rooms: dict[str, dict[str, int]] = {}  # a room's name, and what it keeps by key
        self.next: dict[Table, int] = {}  # 1 for tables that are not named
        # While not all is known that refers to messages: the key of the first that is new. Rows of
        # messages before it are not deleted yet.
        self.unread_before = 0
        self.retained_gone: set[int] = set()  # of them, those that were retained until then


def estate_name(lane: int) -> str:
    """Under which what an ended session left behind is read; no client has such a name."""
    return f"\0estate/{lane}"
