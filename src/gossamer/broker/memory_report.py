"""What holds how much memory: the accounts of the ledger, what sessions hold, and the archive.

This is the one list: `ctl memory`, the admin API, the metrics and `$SYS` tell it.
"""

from gossamer.broker.core import Core
from gossamer.broker.usage import UsageSum
from gossamer.session.queue import FLIGHT_BYTES


class Holding:
    """One table. `budget` is for all, `client_budget` for each client; 0 where there is none."""

    __slots__ = (
        "budget",
        "client_budget",
        "evicted",
        "held",
        "largest",
        "largest_held",
        "name",
        "refused",
    )

    def __init__(self, name: str, held: int, budget: int, client_budget: int) -> None:
        self.name = name
        self.held = held
        self.budget = budget
        self.client_budget = client_budget
        self.refused = 0
        self.evicted = 0
        self.largest = ""  # the client that holds most of it
        self.largest_held = 0


def holdings(core: Core, *, with_largest: bool) -> list[Holding]:
    """Which client holds most of an account takes a look at all of them; see who asks how often."""
    found: list[Holding] = []
    for account in core.ledger.accounts.values():
        holding = Holding(account.name, account.held, account.budget, account.client_most)
        holding.refused = account.refused
        holding.evicted = account.evicted
        if with_largest:
            holding.largest, holding.largest_held = account.largest()
        found.append(holding)
    sums = core.tally.sums()
    counters = core.counters
    queue_memory = core.settings.max_queued_memory
    found.append(_of_sum("queues", sums.queues, queue_memory, counters.dropped_full))
    found.append(_of_sum("inflight", sums.inflight, FLIGHT_BYTES, 0))
    found.append(_of_sum("input", sums.input, 0, 0))
    found.append(_of_sum("output", sums.output, 0, counters.dropped_slow))
    archive = core.archive
    collected = Holding("archive", archive.waiting_bytes(), archive.most_waiting, 0)
    collected.refused = archive.dropped
    found.append(collected)
    return found


def _of_sum(name: str, total: UsageSum, client_budget: int, refused: int) -> Holding:
    holding = Holding(name, total.held, 0, client_budget)
    holding.refused = refused
    holding.largest = total.largest
    holding.largest_held = total.largest_held
    return holding
