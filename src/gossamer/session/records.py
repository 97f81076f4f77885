"""What a store keeps of the broker's state, as plain records the core writes and reads at start."""

from typing import Final

from mypy_extensions import mypyc_attr, u8

from gossamer.session.message import Message

# Where an outgoing message stands. A number that only grows while the message lives.
QUEUED = 0  # not sent yet (packet_id is 0)
SENT = 1  # PUBLISH sent, no PUBACK or PUBREC yet
RELEASED = 2  # QoS 2 only: PUBREC came, PUBREL sent; the payload is not needed any more

# Of most subscriptions: shared, and never changed.
NO_USER: Final[list[tuple[str, str]]] = []


@mypyc_attr(acyclic=True)
class SessionRecord:
    """A session that outlives its connection."""

    __slots__ = (
        "client_id",
        "disconnected_at",
        "expiry",
        "is_311",
        "user",
        "will",
        "will_delay",
        "will_due",
    )

    def __init__(self, client_id: str, user: str, expiry: int) -> None:
        self.client_id = client_id
        self.user = user
        self.expiry = expiry  # seconds, 0xFFFFFFFF for never
        self.disconnected_at = 0.0  # wall clock; 0 while connected
        self.will: Message | None = None
        self.will_delay = 0  # seconds
        self.will_due = 0.0  # wall clock; 0 while the client is connected
        self.is_311 = False


@mypyc_attr(acyclic=True)
class SubscriptionRecord:
    """One subscription, as asked for (the filter with its `$share/…` prefix, if any)."""

    __slots__ = (
        "filter",
        "identifier",
        "no_local",
        "qos",
        "retain_as_published",
        "retain_handling",
        "saved_in",
        "user",
    )

    def __init__(
        self,
        filter: str,
        qos: int,
        no_local: bool,
        retain_as_published: bool,
        retain_handling: int,
        identifier: int,
    ) -> None:
        self.filter = filter
        self.qos = qos
        self.no_local = no_local
        self.retain_as_published = retain_as_published
        self.retain_handling = retain_handling
        self.identifier = identifier  # 0 for none
        self.user = NO_USER  # User Properties of the SUBSCRIBE that matter later
        self.saved_in = 0  # the transaction that has it; 0 if the store did before the start

    def asks_the_same(self, other: "SubscriptionRecord") -> bool:
        return (
            self.filter == other.filter
            and self.qos == other.qos
            and self.no_local == other.no_local
            and self.retain_as_published == other.retain_as_published
            and self.retain_handling == other.retain_handling
            and self.identifier == other.identifier
            and self.user == other.user
        )


@mypyc_attr(acyclic=True)
class DeliveryRecord:
    """One message on its way to one session. `number` orders a session's deliveries."""

    __slots__ = (
        "identifiers",
        "is_held",
        "message",
        "number",
        "packet_id",
        "place",
        "qos",
        "retain",
        "share",
        "size",
        "state",
        "ticket",
    )

    def __init__(
        self,
        number: int,
        message: Message | None,
        qos: int,
        retain: bool,
        identifiers: list[int],
        packet_id: int,
        state: int,
        share: str = "",
    ) -> None:
        self.number = number
        self.message = message  # None once RELEASED
        self.identifiers = identifiers
        self.share = share  # the shared subscription it was drawn for, "" for none
        self.place = 0  # among what the session has spilled; 0 if it is not in there
        self.ticket = 0  # of the neighbour's message that it passes on: see `onward_acks.py`
        self.size = 0  # bytes that it counts for in its queue
        self.packet_id = packet_id
        # A byte each, and so together: between wider fields each would take eight.
        self.qos: u8 = qos
        self.state: u8 = state
        self.retain = retain
        self.is_held = False  # counted among what memory holds for all


class StoredSession:
    """Everything of one session, as found at start."""

    def __init__(self, record: SessionRecord) -> None:
        self.record = record
        self.subscriptions: list[SubscriptionRecord] = []
        self.deliveries: list[DeliveryRecord] = []  # by number
        # Deliveries that the store keeps to itself until they are asked for, and the last number.
        self.spilled = 0
        self.spilled_bytes = 0
        self.last_number = 0
        self.incoming: list[int] = []  # packet ids of QoS 2 publications not released yet
        self.is_whole = True  # False while `deliveries` are to come
        self.waiting = 0  # of them, those that were not sent
        self.damaged = 0  # deliveries that could not be read


class Snapshot:
    """All that a store holds, or what of it a broker needs before it serves anybody: the rest comes
    in pieces (`Unread` of `journal.py`)."""

    def __init__(self) -> None:
        self.sessions: list[StoredSession] = []
        self.retained: list[Message] = []
        self.operators: list[tuple[str, str, bytes]] = []  # parts of the operators' states
        self.rooms: dict[str, dict[str, bytes]] = {}  # what each room keeps for itself, by key


class StoredPiece:
    """Some of what a store holds beside its first snapshot."""

    def __init__(self) -> None:
        self.sessions: list[StoredSession] = []  # with their deliveries: now they are whole
        self.retained: list[Message] = []
        self.damaged = 0  # retained messages that could not be read
