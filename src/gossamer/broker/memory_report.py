"""What holds how much memory: the accounts of the ledger, what sessions hold, and the archive.

This is the one list: `ctl memory`, the admin API, the metrics and `$SYS` tell it.

What sessions and connections hold for themselves (queues, messages in flight, input and output) is
not counted while messages pass. Where there are few clients they are added up when somebody asks;
where there are many, a part of them at a time, and what is told is the last whole round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gossamer.broker.timers import Timer
from gossamer.session.session import FLIGHT_BYTES, Session

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection
    from gossamer.broker.core import Core

AT_ONCE: Final = 2_000  # sessions and connections that are looked at in one go
MOST_STEPS: Final = 50  # of one round, however many there are
STEP_SECONDS: Final = 0.1
ROUND_SECONDS: Final = 10.0  # between two rounds


@dataclass(slots=True, eq=False)
class Holding:
    """One table. `budget` is for all, `client_budget` for each client; 0 where there is none."""

    name: str
    held: int = 0
    budget: int = 0
    client_budget: int = 0
    refused: int = 0
    evicted: int = 0
    largest: str = ""  # the client that holds most of it
    largest_held: int = 0

    def add(self, client_id: str, size: int) -> None:
        self.held += size
        if size > self.largest_held:
            self.largest = client_id
            self.largest_held = size


class UsageSums:
    """What all sessions and connections hold, by kind."""

    __slots__ = ("inflight", "input", "output", "queues")

    def __init__(self) -> None:
        self.queues = Holding("queues")  # of messages that wait in memory
        self.inflight = Holding("inflight")  # of what is kept until it is acknowledged
        self.input = Holding("input")  # of what was read and waits for its turn
        self.output = Holding("output")  # of what was encoded and is not sent

    def add_session(self, session: Session) -> None:
        self.queues.add(session.client_id, session.queue_bytes)
        self.inflight.add(session.client_id, session.flight_bytes)

    def add_connection(self, connection: Connection) -> None:
        client_id = connection.identity.client_id
        outbox = connection.outbox
        self.input.add(client_id, outbox.sink.unread_bytes())
        self.output.add(client_id, outbox.waiting_bytes() + outbox.sink.unsent_bytes())


class Usage(Timer):
    """Goes round sessions and connections; by name, so that it keeps none of them alive."""

    def __init__(self, sessions: dict[str, Session], connections: dict[int, Connection]) -> None:
        self._sessions = sessions
        self._connections = connections
        self._told = UsageSums()  # the last whole round
        self._under_way = UsageSums()
        self._names: list[str] = []
        self._tokens: list[int] = []
        self._step = AT_ONCE

    def sums(self) -> UsageSums:
        """Exact where there are few; otherwise of the last round."""
        if self._are_few():
            self._told = UsageSums()
            for session in self._sessions.values():
                self._told.add_session(session)
            for connection in self._connections.values():
                self._told.add_connection(connection)
        return self._told

    def fire(self, now: float) -> float:
        if self._are_few():
            return now + ROUND_SECONDS
        if not self._names and not self._tokens:
            self._under_way = UsageSums()
            self._names = list(self._sessions)
            self._tokens = list(self._connections)
            self._step = max(AT_ONCE, (len(self._names) + len(self._tokens)) // MOST_STEPS)
        self._go_on()
        if self._names or self._tokens:
            return now + STEP_SECONDS
        self._told = self._under_way
        return now + ROUND_SECONDS

    def _are_few(self) -> bool:
        return len(self._sessions) + len(self._connections) <= AT_ONCE

    def _go_on(self) -> None:
        left = self._step
        while left > 0 and self._names:
            left -= 1
            session = self._sessions.get(self._names.pop())
            if session is not None:
                self._under_way.add_session(session)
        while left > 0 and self._tokens:
            left -= 1
            connection = self._connections.get(self._tokens.pop())
            if connection is not None:
                self._under_way.add_connection(connection)


def holdings(core: Core) -> list[Holding]:
    """Without which client holds most of an account: that takes a look at all of them."""
    found: list[Holding] = []
    for account in core.ledger.accounts.values():
        holding = Holding(
            account.name, account.held, account.budget, account.client_most, account.refused
        )
        holding.evicted = account.evicted
        found.append(holding)
    sums = core.usage.sums()
    sums.queues.client_budget = core.settings.max_queued_memory
    sums.queues.refused = core.counters.dropped_full
    sums.inflight.client_budget = FLIGHT_BYTES
    sums.output.refused = core.counters.dropped_slow
    found += [sums.queues, sums.inflight, sums.input, sums.output]
    archive = core.archive
    waiting = archive.waiting_bytes()
    found.append(Holding("archive", waiting, archive.most_waiting, 0, archive.dropped))
    return found
