"""How the memory of a machine is divided among the accounts of the ledger.

All budgets together are at most `MEMORY_SHARE` of the memory, on a small box as on a large one; the
rest is for the interpreter, sockets and the store's pages. A budget that somebody names is
taken as it is, and the others share what it leaves. Only when what is named takes nearly all do
they keep a `LEAST_PART` of theirs, so that the broker can work at all: then the sum is more than
the share, and `check` says so.
"""

from typing import Final

MIB: Final = 1 << 20

# What all budgets together may be of the machine's memory.
MEMORY_SHARE: Final = 0.7
# What a core assumes that nobody has told of a machine: a simulation, a test.
ASSUMED_MEMORY: Final = 8192 * MIB
# No budget is less, whatever is left.
LEAST_BUDGET: Final = 65_536
LEAST_PART: Final = 8

# Counted by the archive's collector, and no account of the ledger.
ARCHIVE: Final = "archive"
# Each account with its parts of a thousand, and the most that it is given unasked (0: no bound). A
# gateway is one client, and a site one address: on 8 GiB, their shares hold 300,000 retained
# messages of 1 KB and a million filters. Caches gain nothing past a size.
PARTS: Final = (
    ("routes", 26, 256 * MIB),  # topics with their receivers, a cache
    ("grants", 13, 128 * MIB),  # what clients are known to be allowed, a cache
    ("aliases", 13, 512 * MIB),  # topics that connections know by number
    ("packets", 26, 1024 * MIB),  # packets that have come in part
    ("sessions", 86, 0),  # clients, connected or away, with their wills
    ("subscriptions", 300, 0),  # filters and their tree
    ("retained", 266, 0),
    ("mesh", 41, 0),  # whose session is where, and who is in which group
    ("directed", 10, 256 * MIB),  # what is for one broker, and waits on the way to it
    ("operators", 26, 0),  # filters, windows and values of operator subscriptions
    ("geo", 26, 0),  # areas, and who is in them
    ("deliveries", 100, 0),  # messages that wait, or were not acknowledged, in memory
    ("unsent", 41, 0),  # output to clients that are behind
    (ARCHIVE, 26, 128 * MIB),  # payloads that the archive's writer has not taken yet
)


def divided(
    memory: int, share: float = MEMORY_SHARE, named: dict[str, int] | None = None
) -> dict[str, int]:
    """The budget of every account, in bytes; `named` has those that were chosen."""
    chosen: dict[str, int] = {} if named is None else named
    total = int(memory * share)
    wanted: dict[str, int] = {}
    for name, part, most in PARTS:
        if name not in chosen:
            size = total * part // 1000
            wanted[name] = min(size, most) if most else size
    asked = sum(wanted.values())
    left = max(0, total - sum(chosen.values()))
    budgets: dict[str, int] = {}
    for name, _, _ in PARTS:
        if name in chosen:
            budgets[name] = chosen[name]
            continue
        size = wanted[name]
        if left < asked:
            size = max(size * left // asked, size // LEAST_PART)
        budgets[name] = max(size, LEAST_BUDGET)
    return budgets
