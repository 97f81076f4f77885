"""A publication while the broker holds it: what is forwarded, kept in queues and retained."""

from gossamer.wire.properties import Properties


class Message:
    """Immutable once made; shared by every session that has it queued.

    `properties` holds only what travels on to subscribers (no alias, no subscription identifier,
    no expiry interval: that is `expires_at`, absolute seconds of the wall clock, 0 for never).
    `stored` is the number under which a store keeps it, 0 while none does.
    """

    __slots__ = (
        "expires_at",
        "payload",
        "properties",
        "publisher",
        "qos",
        "retain",
        "stored",
        "topic",
        "user",
    )

    def __init__(
        self,
        topic: str,
        payload: bytes,
        qos: int,
        retain: bool,
        properties: Properties | None,
        expires_at: float,
        publisher: str,
        user: str,
    ) -> None:
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.properties = properties
        self.expires_at = expires_at
        self.publisher = publisher
        self.user = user
        self.stored = 0
