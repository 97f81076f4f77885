"""The budgets of a configuration on this machine: what each table may hold, and what that means.

A key that is set is taken as it is; the rest is divided by `budget.dividing`. Told at the start, by
`gossamer check` and by `gossamer ctl memory`.
"""

from dataclasses import dataclass
from typing import Final

from gossamer.budget.division import divided
from gossamer.net.config.limits import Limits
from gossamer.net.machine_memory import Memory, machine_memory

# The accounts of the ledger and the archive's collector, and the key that has the budget of each.
BUDGET_KEYS: Final = {
    "routes": "route_bytes",
    "grants": "grant_bytes",
    "aliases": "alias_bytes",
    "packets": "packet_bytes",
    "sessions": "session_bytes",
    "subscriptions": "subscription_bytes",
    "retained": "retained_bytes",
    "mesh": "mesh_bytes",
    "directed": "directed_bytes",
    "operators": "operator_bytes",
    "geo": "geo_bytes",
    "deliveries": "delivery_bytes",
    "unsent": "unsent_bytes",
    "archive": "archive_bytes",
}
# A client must be able to send the largest packet, whatever its share of the account.
_PACKETS_THAT_FIT: Final = 4


@dataclass(frozen=True)
class Budgets:
    """By account, and the memory that they are parts of."""

    memory: Memory
    share: float
    sizes: dict[str, int]

    @property
    def together(self) -> int:
        return sum(self.sizes.values())

    def line(self) -> str:
        return (
            f"memory: all budgets together are {shown(self.together)}, "
            f"{self.together / self.memory.size:.0%} of {shown(self.memory.size)} "
            f"({self.memory.source})"
        )

    def lines(self) -> list[str]:
        """Each budget under the key that would change it."""
        sizes = [f"{BUDGET_KEYS[name]} {shown(size)}" for name, size in self.sizes.items()]
        return [self.line(), *sizes]

    def warnings(self) -> list[str]:
        if self.together <= int(self.memory.size * self.share) + len(self.sizes):
            return []
        if self.together > self.memory.size:
            found = "more than there is: clients could fill it until the system ends the broker"
        else:
            found = f"more than limits.memory_share ({self.share:.0%}) leaves to them"
        return [
            f"limits: the budgets are {shown(self.together)} together, of "
            f"{shown(self.memory.size)} ({self.memory.source}): {found}; lower the keys "
            "…_bytes that are set, or leave them out"
        ]


def budgets_of(limits: Limits, memory: Memory | None = None) -> Budgets:
    """On this machine, unless another memory is named."""
    if limits.memory:
        memory = Memory(limits.memory, "limits.memory")
    elif memory is None:
        memory = machine_memory()
    named = {
        name: size
        for name, key in BUDGET_KEYS.items()
        if (size := getattr(limits, key)) is not None
    }
    sizes = divided(memory.size, limits.memory_share, named)
    least = _PACKETS_THAT_FIT * limits.packet_size
    if sizes["packets"] < least:
        sizes = divided(memory.size, limits.memory_share, {**named, "packets": least})
    return Budgets(memory, limits.memory_share, sizes)


def shown(size: int) -> str:
    """Bytes for people."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size / 1024:.0f} KiB"
