"""The seam to durable storage: the core tells a journal each change; the journal makes it last.

Calls come from the core, synchronously, and must not block: a journal collects them. What one turn
of the event loop told it becomes one transaction, or that of several while nobody waits for it.
`batch` is the number of the transaction that collects now; output that depends on it is held until
the shell reports that number as committed.
The base class is the journal of a broker without a store: it keeps nothing and holds nothing.
"""

from mypy_extensions import mypyc_attr

from gossamer.session.message import Message
from gossamer.session.records import (
    DeliveryRecord,
    SessionRecord,
    StoredPiece,
    SubscriptionRecord,
)

# Of an operator's state: the state's key, the part's name, and its bytes or None if it is gone.
Part = tuple[str, str, bytes | None]


@mypyc_attr(allow_interpreted_subclasses=True)
class PartSource:
    """What changes so often that it is asked for once, when a transaction is complete.

    Whoever has something to save sets the journal's `dirty`.
    """

    def take_dropped(self) -> list[str]:
        """The keys of states that are gone with all their parts; they come before the changes."""
        return []

    def take_changed(self) -> list[Part]:
        return []


@mypyc_attr(allow_interpreted_subclasses=True)
class Saver:
    """Who keeps things in a room that change so often that they are written down once, when a
    transaction is complete. Whoever has something to save sets the journal's `dirty`."""

    def save(self) -> None:
        """Calls the journal's `keep` and `drop`."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Unread:
    """What a store holds and has not told yet: retained messages, and the deliveries of sessions.
    It comes in pieces that a turn of the event loop has time for. This one has nothing."""

    def __init__(self) -> None:
        self.has_more = False  # until the last piece was taken
        self.has_retained = False  # until the last one with retained messages was
        self.is_at_hand = False  # whether `take` has something now

    def want(self, client_id: str) -> None:
        """The deliveries of this session are waited for: they come before those of others. It is
        one that the first snapshot had without them."""

    def take(self) -> StoredPiece | None:
        """The next piece, if it is at hand; if not it is being read, and the shell says when to ask
        again."""
        return None


class Written:
    """What a store has done since the start; its writer counts, others read."""

    __slots__ = ("commits", "microseconds", "rows")

    def __init__(self) -> None:
        self.commits = 0
        self.rows = 0  # put or deleted
        self.microseconds = 0  # spent in commits


@mypyc_attr(allow_interpreted_subclasses=True)
class Journal:
    """Keeps nothing; the interface that a store's journal overrides."""

    def __init__(self) -> None:
        self.keeps = False  # whether anything is kept at all
        self.spills = False  # whether deliveries can be given away and read back later
        self.durable = False  # whether acknowledgements must wait for a commit
        self.accepts = True  # False while the store cannot take new durable work (disk full)
        self.batch = 1  # the transaction that collects changes now
        self.dirty = False  # whether that transaction holds anything
        # Whether somebody waits for it; if nobody does, more may come to it, and things that it
        # holds be gone again before it is written.
        self.is_awaited = False
        self.spilled_bytes = 0  # of all sessions together
        self.spill_limit = 1 << 62  # the share of the disk that they may take
        # Names of what sessions that ended left in the store of shared groups: it is read and
        # removed like what a session has spilled.
        self.estates: list[str] = []
        self.parts = PartSource()  # a journal that keeps things asks it as it ends a transaction
        self.savers: list[Saver] = []  # asked likewise
        self.written = Written()
        self.unread = Unread()

    def session_saved(self, record: SessionRecord) -> None:
        """Created or changed (expiry, disconnection, will)."""

    def session_removed(self, client_id: str) -> None:
        """With its subscriptions, deliveries and incoming ids."""

    def subscription_saved(self, client_id: str, record: SubscriptionRecord) -> None: ...

    def subscription_removed(self, client_id: str, filter: str) -> None: ...

    def delivery_queued(self, client_id: str, record: DeliveryRecord) -> None:
        """A new delivery, in whatever state it starts. `record.message.stored` may be set here."""

    def delivery_sent(self, client_id: str, number: int, packet_id: int) -> None:
        """QUEUED became SENT."""

    def delivery_released(self, client_id: str, number: int) -> None:
        """SENT became RELEASED (QoS 2)."""

    def delivery_removed(self, client_id: str, number: int) -> None:
        """Acknowledged, expired or dropped."""

    # Queues that are longer than memory should hold: the core keeps their head, the store the rest.

    def delivery_spilled(self, client_id: str, record: DeliveryRecord) -> None:
        """A delivery that the core does not keep; those of a session come back in this order."""

    def unspill(self, client_id: str) -> list[DeliveryRecord]:
        """The next of them, each with its `place`, if they are at hand; if not they are being read,
        and the shell says when to ask again. They stay on disk until they are taken or removed."""
        return []

    def spilled_mark(self, client_id: str) -> int:
        """Behind which place `unspill` goes on."""
        return 0

    def spilled_again(self, client_id: str, mark: int) -> None:
        """What was given since that mark and not taken: `unspill` gives it once more."""

    def spilled_taken(self, client_id: str, record: DeliveryRecord) -> None:
        """The first of those that came back was sent: it is a delivery like others from now on."""

    def spilled_removed(self, client_id: str, record: DeliveryRecord, is_first: bool) -> None:
        """One that came back is not needed; if it is the first, nothing before it is either."""

    def spilled_names(self, client_id: str) -> list[bytes]:
        """The names of messages that it has spilled, but for retained ones, which brokers tell each
        other again. At the start only: it may read the disk."""
        return []

    def incoming_added(self, client_id: str, packet_id: int) -> None:
        """A QoS 2 publication was accepted and waits for its PUBREL."""

    def incoming_removed(self, client_id: str, packet_id: int) -> None: ...

    # Whoever keeps retained messages knows under which number the store has each: 0 if it does not.

    def retained_saved(self, message: Message, replaced: int) -> int:
        """A retained message, in place of the one of its topic that has the number `replaced`;
        answers its own number."""
        return 0

    def retained_removed(self, topic: str, stored: int) -> None: ...

    # What the rooms of the broker keep for themselves: each under its own name, by keys of its own,
    # as bytes that only it reads. A room that has parts names them `room/part`.

    def keep(self, room: str, key: str, value: bytes) -> None:
        """New or changed; the snapshot of the next start has it in `rooms`."""

    def drop(self, room: str, key: str) -> None:
        """Gone, if it was there."""

    def drop_room(self, room: str) -> None:
        """With everything that is kept under exactly this name."""
