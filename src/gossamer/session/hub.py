"""What all outboxes and sessions of one broker share, and which of them wait for what."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from gossamer.budget.ledger import Account
from gossamer.session.counters import Counters, Faults
from gossamer.session.journal import Journal
from gossamer.session.lane import Lane
from gossamer.session.message_names import MessageNamer
from gossamer.session.onward_acks import Passing
from gossamer.session.queue_policy import UNBOUNDED, Deliveries, Guard, QueueRefused

if TYPE_CHECKING:
    from gossamer.session.outbox import Outbox
    from gossamer.session.session import Session


class Hub:
    """What all outboxes and sessions of one broker share."""

    __slots__ = (
        "counters",
        "crowded",
        "deliveries",
        "dirty",
        "faults",
        "full",
        "guard",
        "holding",
        "journal",
        "last_committed",
        "namer",
        "no_lane",
        "owing",
        "passing",
        "refusing",
        "stalled",
        "starving",
        "unsent",
        "unwritten",
        "waiting",
    )

    def __init__(self, journal: Journal, counters: Counters) -> None:
        self.journal = journal
        self.counters = counters
        self.faults = Faults()
        self.deliveries = Deliveries()
        self.unsent = Account("unsent", UNBOUNDED)  # output that sockets have not taken
        self.crowded: dict[Session, None] = {}  # wait for room in memory for what they spilled
        self.dirty: list[Outbox] = []
        self.unwritten: deque[Outbox] = deque()  # were dirty in a turn that had too many of them
        self.holding: list[Outbox] = []
        self.last_committed = 0
        self.namer = MessageNamer()
        self.no_lane = Lane(self, "")  # of all sessions that have none of their own
        # Have room for retained messages that they are owed.
        self.owing: dict[Session, None] = {}
        self.guard = Guard()
        self.passing = Passing()
        self.starving: list[Session] = []  # wait for the store to give back what they spilled
        self.full: dict[Session, None] = {}  # queues that are, or were a moment ago
        self.refusing: list[QueueRefused] = []  # by the message that is being distributed
        self.waiting: dict[Session, None] = {}  # their queues were cut off by the size of a turn
        self.stalled: list[Session] = []  # as `waiting`, until the next transaction is on disk

    def committed(self, batch: int) -> None:
        """Lets go of everything that waited for this transaction or an earlier one."""
        self.last_committed = batch
        for session in self.stalled:
            self.waiting[session] = None
        self.stalled = []
        still: list[Outbox] = []
        for outbox in self.holding:
            if outbox.release(batch):
                still.append(outbox)
        self.holding = still
