"""What holds how much memory: the accounts of the ledger, and what sessions hold for themselves.

The accounts are current at any time. Queues and unsent output are bounded for each client; what
all of them hold together is added up when somebody asks.
"""

from gossamer.broker.core import Core


class Holding:
    """One table; `budget` is 0 where the limits are those of each client."""

    __slots__ = ("budget", "evicted", "held", "largest", "largest_held", "name", "refused")

    def __init__(self, name: str, held: int, budget: int) -> None:
        self.name = name
        self.held = held
        self.budget = budget
        self.refused = 0
        self.evicted = 0
        self.largest = ""  # the client that holds most of it
        self.largest_held = 0


def holdings(core: Core) -> list[Holding]:
    found: list[Holding] = []
    for account in core.ledger.accounts.values():
        holding = Holding(account.name, account.held, account.budget)
        holding.refused = account.refused
        holding.evicted = account.evicted
        holding.largest, holding.largest_held = account.largest()
        found.append(holding)
    found.append(_queues(core))
    found.append(_inflight(core))
    found.append(_output(core))
    return found


def _queues(core: Core) -> Holding:
    holding = Holding("queues", 0, 0)
    holding.refused = core.counters.dropped_full
    for session in core.sessions.values():
        size = session.queue_bytes
        holding.held += size
        if size > holding.largest_held:
            holding.largest = session.client_id
            holding.largest_held = size
    return holding


def _inflight(core: Core) -> Holding:
    """What was sent and is kept until it is acknowledged, of sessions that outlive it."""
    holding = Holding("inflight", 0, 0)
    for session in core.sessions.values():
        size = session.flight_bytes
        holding.held += size
        if size > holding.largest_held:
            holding.largest = session.client_id
            holding.largest_held = size
    return holding


def _output(core: Core) -> Holding:
    """What was encoded and not given to the socket: it waits for the disk, or the end of a turn."""
    holding = Holding("output", 0, 0)
    holding.refused = core.counters.dropped_slow
    for connection in core.connections.values():
        size = connection.outlet.waiting_bytes()
        holding.held += size
        if size > holding.largest_held:
            holding.largest = connection.identity.client_id
            holding.largest_held = size
    return holding
