"""Answers to neighbours that wait until what they gave has been passed on.

A broker that answered as soon as a neighbour's message was in its own store would be the only one
to have it until the next broker has it too. If it then left for good, a message would be lost that
no other broker had any trouble with. So it answers when those to whom it passes the message on have
answered; until then the neighbour keeps it, and sends it another way if this broker goes.

What waits like that is bounded, so that a slow neighbour slows no other: past the bounds, and for a
neighbour that nobody can reach, a message is answered as soon as it is stored here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.session.queue_policy import Withheld

if TYPE_CHECKING:
    from gossamer.session.session import Session

# Of one neighbour's messages, well below what it may have in flight (`session/session.py`).
MOST_HELD: Final = 1_000
HELD_BYTES: Final = 1 << 20


class Passing:
    """Deliveries to neighbours carry a ticket: which neighbour's message they pass on."""

    __slots__ = ("_count", "_held", "_last", "ticket")

    def __init__(self) -> None:
        self.ticket = 0  # of the message that is being distributed; 0 if no neighbour gave it
        self._count = 0  # deliveries that took it, while its answer is not held yet
        self._last = 0
        self._held: dict[int, Withheld] = {}

    def begin(self) -> None:
        """A neighbour's message is about to be distributed."""
        self._last += 1
        self.ticket = self._last
        self._count = 0

    def carry(self, ticket: int) -> int:
        """What is distributed next takes the place of a delivery that had this ticket. What it was
        before, for `end`: messages go round while another is being distributed."""
        before = self.ticket
        self.ticket = ticket if ticket in self._held else 0
        return before

    def end(self, before: int = 0) -> None:
        self.ticket = before

    def take(self) -> int:
        """The ticket, for a delivery to a neighbour."""
        held = self._held.get(self.ticket)
        if held is None:
            self._count += 1
        else:
            held.queues += 1
        return self.ticket

    def done(self, ticket: int) -> None:
        """A delivery with this ticket was answered, or will not be made."""
        held = self._held.get(ticket)
        if held is None:
            if ticket == self.ticket:
                self._count -= 1
            return
        held.has_room()
        if held.queues <= 0:
            del self._held[ticket]

    def hold(self, giver: Session, packet_id: int, answer: bytes, size: int) -> bool:
        """The message is distributed: whether its answer waits. Otherwise it is due now."""
        ticket = self.ticket
        self.ticket = 0
        if not ticket or self._count == 0 or giver.withheld_bytes + size > HELD_BYTES:
            return False
        if giver.withheld is None:
            giver.withheld = {}
        elif len(giver.withheld) >= MOST_HELD:
            return False
        held = Withheld(giver, packet_id, answer, size)
        held.queues = self._count
        giver.withheld[packet_id] = held
        giver.withheld_bytes += size
        self._held[ticket] = held
        return True
