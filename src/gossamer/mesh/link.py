"""One neighbour: its session, what it was told, and what it told us."""

from __future__ import annotations

from gossamer.broker.connection import Connection
from gossamer.broker.routes import PeerView
from gossamer.mesh.teller import Teller
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription


def peer_subscription(session: Session, filter: str) -> Subscription:
    """A neighbour's subscription: all flags travel, and nothing goes back where it came from."""
    return Subscription(session, SubscriptionRecord(filter, 2, True, True, 2, 0), "", filter)


class Link:
    """Exists as long as the neighbour's session does, connected or not."""

    __slots__ = (
        "connection",
        "control_bytes",
        "control_messages",
        "is_dialled",
        "is_restarting",
        "name",
        "receiver",
        "refreshed",
        "session",
        "since",
        "teller",
        "view",
    )

    def __init__(self, name: str, session: Session, teller: Teller) -> None:
        self.name = name
        self.session = session
        self.teller = teller
        self.connection: Connection | None = None
        self.is_dialled = False  # by this broker
        self.since = 0.0  # when the connection was made or lost
        subscription = peer_subscription(session, "#")
        self.view = PeerView(subscription)
        self.receiver = Receiver(subscription)
        # While the neighbour tells all its interests anew: those named so far.
        self.is_restarting = False
        self.refreshed: set[str] = set()
        self.control_messages = 0
        self.control_bytes = 0

    def send(self, packets: list[bytes]) -> None:
        connection = self.connection
        if connection is None:
            return
        for packet in packets:
            self.control_messages += 1
            self.control_bytes += len(packet)
            connection.outlet.put(packet)
