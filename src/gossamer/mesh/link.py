"""One neighbour: its session, what it was told, and what it told us."""

from __future__ import annotations

from logging import Logger
from typing import Final

from gossamer.bloom.summary import RemoteSummary
from gossamer.broker.connection import Connection
from gossamer.broker.mesh_port import NeighbourInterest
from gossamer.mesh.control_messages import control_size
from gossamer.mesh.gossip.item import Listed
from gossamer.mesh.interest.filter_advertiser import Advertiser
from gossamer.mesh.settings import ENVELOPES, FIRST, NOTHING
from gossamer.mesh.tree.heartbeat import RoundTrip
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription

# What changes of a summary may take of a link over time, after a burst that costs no wait.
_TOLD_BYTES_A_SECOND: Final = 10_000.0
_BURST_BYTES: Final = 4_096
_LONGEST_PAUSE: Final = 2.0  # seconds
# The same complaint about the same neighbour is written down this often.
_REPEAT_SECONDS: Final = 60.0
_MOST_COMPLAINTS: Final = 1_000  # remembered; past it the memory starts anew


def peer_subscription(session: Session, filter: str) -> Subscription:
    """A neighbour's subscription: all flags travel, and nothing goes back where it came from."""
    return Subscription(session, peer_record(filter), "", filter)


def peer_record(interest: str) -> SubscriptionRecord:
    return SubscriptionRecord(interest, 2, True, True, 2, 0)


class AdvertisedInterest(NeighbourInterest):
    """In the forms that are no filters: everything, or a Bloom summary. Filters are subscriptions
    of the neighbour's session."""

    __slots__ = ("summary", "takes_all")

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(subscription)
        self.takes_all = False
        self.summary: RemoteSummary | None = None

    def matches(self, topic: str) -> bool:
        summary = self.summary
        return self.takes_all or (summary is not None and summary.may_match(topic))


class Traffic:
    """Publications and all bytes, both ways, since the link is known."""

    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "messages_received",
        "messages_sent",
        "saved_received",
        "saved_sent",
    )

    def __init__(self) -> None:
        self.messages_received = 0
        self.messages_sent = 0
        self.bytes_received = 0
        self.bytes_sent = 0
        self.saved_received = 0  # of these bytes, those that did not cross: they were compressed
        self.saved_sent = 0

    def copy(self) -> Traffic:
        copied = Traffic()
        copied.messages_received = self.messages_received
        copied.messages_sent = self.messages_sent
        copied.bytes_received = self.bytes_received
        copied.bytes_sent = self.bytes_sent
        copied.saved_received = self.saved_received
        copied.saved_sent = self.saved_sent
        return copied

    def add(self, connection: Connection) -> None:
        """What went over this connection."""
        outbox = connection.outbox
        self.messages_received += connection.messages_received
        self.messages_sent += outbox.messages_sent
        self.bytes_received += connection.bytes_received
        self.bytes_sent += outbox.bytes_sent
        if connection.inflater is not None:
            self.saved_received += connection.inflater.saved
        if outbox.compressor is not None:
            self.saved_sent += outbox.compressor.saved


class Link:
    """Exists as long as the neighbour's session does, connected or not."""

    __slots__ = (
        "_earlier",
        "advertiser",
        "asked",
        "behind",
        "can",
        "connection",
        "control_bytes",
        "control_bytes_heard",
        "control_messages",
        "control_messages_heard",
        "digests",
        "holds",
        "in_tree",
        "interest",
        "interest_bytes",
        "interest_messages",
        "is_compared",
        "is_deferred",
        "is_dialled",
        "is_forwarding",
        "is_restarting",
        "listed",
        "markers",
        "name",
        "reached",
        "reached_number",
        "receiver",
        "refreshed",
        "round_trip",
        "session",
        "since",
        "speaks",
        "tell_after",
    )

    def __init__(self, name: str, session: Session, advertiser: Advertiser) -> None:
        self.name = name
        self.session = session
        self.advertiser = advertiser
        self.connection: Connection | None = None
        self.is_dialled = False  # by this broker
        self.tell_after = 0.0  # when it may be told of changes again
        self.since = 0.0  # when the connection was made or lost
        self.speaks = FIRST  # as it introduced itself for the connection that it has
        self.can = NOTHING  # of what both ends have, likewise
        subscription = peer_subscription(session, "#")
        self.interest = AdvertisedInterest(subscription)
        self.receiver = Receiver(subscription)
        # Whether it is known what the neighbour holds, so that changes can follow.
        self.is_compared = False
        self.is_deferred = False  # whether changes wait to be told
        # Whether messages are queued for it, and whether the tree has it (`tree_links.py`).
        self.is_forwarding = False
        self.in_tree = False
        # What it said that it has of retained messages, before anything was queued for it: what is
        # kept here until that begins would reach it in no other way.
        self.digests = b""
        self.round_trip: RoundTrip | None = None
        self.holds = 0  # how often we asked for its interests
        self.markers = 0  # sent to it; they are no publications
        self.asked = b""  # the number with which it last asked for ours
        # Whom the tree had behind it since its queue was last empty; None if that is not known.
        self.behind: set[str] | None = None
        # Those of them who were sent the queue in another way, up to the delivery of this number.
        self.reached: set[str] = set()
        self.reached_number = 0
        # While the neighbour tells all its interests anew: those named so far.
        self.is_restarting = False
        self.refreshed: set[str] = set()
        self.listed: Listed = {}  # the gossip items that it has, while it names them
        self.control_messages = 0
        self.control_bytes = 0
        self.interest_messages = 0  # of the control messages, those that advertise interest
        self.interest_bytes = 0
        self.control_messages_heard = 0
        self.control_bytes_heard = 0
        self._earlier = Traffic()  # over connections that are gone

    def lost(self, now: float) -> None:
        """The connection is gone; what it carried still counts."""
        connection = self.connection
        if connection is not None:
            self._earlier.add(connection)
            self.connection = None
            self.since = now

    def traffic(self) -> Traffic:
        total = self._earlier.copy()
        if self.connection is not None:
            total.add(self.connection)
        total.messages_sent = max(0, total.messages_sent - self.markers)
        return total

    def heard(self, payload: bytes) -> None:
        """Counts a control message of the neighbour's."""
        self.control_messages_heard += 1
        self.control_bytes_heard += control_size(payload)

    def takes_envelopes(self) -> bool:
        """One that is away may have learnt it before it comes back; then it is seen."""
        return self.connection is None or self.speaks >= ENVELOPES

    def may_tell(self, now: float) -> bool:
        """Whether enough time has passed since it was last told, or the clock was set back."""
        return not now < self.tell_after <= now + _LONGEST_PAUSE

    def tell(self, packets: list[bytes], now: float) -> None:
        """Changes of what is wanted. The more bytes a summary took, the longer its next change
        waits: in a storm a neighbour is told the outcome, not each step."""
        before = self.interest_bytes
        self.advertise(packets)
        if self.advertiser.is_paced:
            size = self.interest_bytes - before
            start = max(self.tell_after, now - _BURST_BYTES / _TOLD_BYTES_A_SECOND)
            self.tell_after = min(now + _LONGEST_PAUSE, start + size / _TOLD_BYTES_A_SECOND)

    def advertise(self, packets: list[bytes]) -> None:
        """All that is wanted here, or changes of it."""
        self.interest_messages += len(packets)
        self.interest_bytes += sum([len(packet) for packet in packets])
        self.send(packets)

    def send(self, packets: list[bytes]) -> None:
        connection = self.connection
        if connection is None:
            return
        for packet in packets:
            self.control_messages += 1
            self.control_bytes += len(packet)
            connection.outbox.put(packet)


class LimitedLog:
    """Warnings with a neighbour's name, each once a minute at most."""

    __slots__ = ("_last", "_logger", "total")

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._last: dict[str, float] = {}
        self.total = 0

    def say(self, neighbour: str, what: str, now: float, example: str = "") -> None:
        """`example` is one of many: the next is the same complaint."""
        self.total += 1
        key = f"{neighbour}\0{what}"
        last = self._last.get(key)
        if last is not None and abs(now - last) < _REPEAT_SECONDS:
            return
        if len(self._last) >= _MOST_COMPLAINTS:
            self._last.clear()
        self._last[key] = now
        shown = f"{what} ({example})" if example else what
        self._logger.warning("by the link to %s: %s", neighbour, shown)
