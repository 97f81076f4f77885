"""The end of one session's queue that only the store has: memory holds the head, and reads the next
of the lane back as that gets shorter.

What is read back stays in the lane, on disk, until it is sent or dropped.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.session.hub import Hub
    from gossamer.session.message import Message
    from gossamer.session.records import DeliveryRecord

logger = logging.getLogger(__name__)


class Lane:
    """Counts what is in it, and tells the journal what becomes of it.

    Few queues are ever long enough to need one: sessions share an empty one of the hub's until they
    put something into their own (`Session.own_lane`).
    """

    __slots__ = ("_client_id", "_hub", "_looked_from", "bytes", "damaged", "messages")

    def __init__(self, hub: Hub, client_id: str) -> None:
        self._hub = hub
        self._client_id = client_id
        self.messages = 0  # that follow those in memory
        self.bytes = 0
        self.damaged = 0  # messages that could not be read back
        self._looked_from = -1  # while somebody looks through it: where the first of that is

    def restore(self, messages: int, size: int) -> None:
        """What the store has of it at the start."""
        self.messages = messages
        self.bytes = size

    def took_back(self, messages: int, size: int) -> None:
        """Memory has so many of them again."""
        self.messages -= messages
        self.bytes -= size

    def leave(self) -> None:
        """What is in it is not this session's any more."""
        self.restore(0, 0)

    def add(self, delivery: DeliveryRecord, message: Message) -> None:
        # The copy in the store must be known by the name that others will have it by.
        message.be_named(self._hub.namer)
        self.messages += 1
        self.bytes += delivery.size
        self._hub.journal.delivery_spilled(self._client_id, delivery)

    def take_next(self) -> list[DeliveryRecord]:
        """The oldest of them, for memory; none if they are not at hand yet."""
        self.stop_looking()
        found = self._hub.journal.unspill(self._client_id)
        for delivery in found:
            self.messages -= 1
            self.bytes -= delivery.size
        if not self.messages:
            self.bytes = 0  # of what was damaged it was a guess
        return found

    def look_ahead(self) -> list[DeliveryRecord]:
        """The next, behind what this gave before, without taking them."""
        journal = self._hub.journal
        if self._looked_from < 0:
            self._looked_from = journal.spilled_mark(self._client_id)
        return journal.unspill(self._client_id)

    def is_looked_through(self) -> bool:
        """Whether `look_ahead` would go on, and not begin anew."""
        return self._looked_from >= 0

    def stop_looking(self) -> None:
        """What was looked at is to come once more."""
        if self._looked_from >= 0:
            self._hub.journal.spilled_again(self._client_id, self._looked_from)
            self._looked_from = -1

    def sent(self, delivery: DeliveryRecord, is_kept: bool) -> None:
        """One that was taken: from now on it is a delivery like others, if those are kept."""
        if is_kept:
            self._hub.journal.spilled_taken(self._client_id, delivery)
        else:
            self.drop(delivery, True)
        delivery.place = 0

    def drop(self, delivery: DeliveryRecord, is_first: bool) -> None:
        """One that was taken, and will not be sent."""
        self._hub.journal.spilled_removed(self._client_id, delivery, is_first)

    def set_aside(self, delivery: DeliveryRecord) -> None:
        """Its row is damaged: it cannot be sent, and must not be in the way of those behind it."""
        if not self.damaged:
            logger.error(
                "messages that waited in the store for client %r are damaged: they are set aside "
                "and counted, and the others are sent; `gossamer store check` looks at all of it",
                self._client_id,
            )
        self.damaged += 1
        self._hub.counters.damaged += 1
        self.drop(delivery, False)
