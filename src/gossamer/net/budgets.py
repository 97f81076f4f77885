"""The budgets of a configuration on this machine: what each table may hold, and what that means.

A key that is set is taken as it is; the rest is a part of the memory (`budget/division.py`): the
machine's, or less if the broker's control group has less. That is looked at once, at the start:
budgets do not move under clients because a limit does. Told at the start, by `gossamer check` and
by `gossamer ctl memory`.
"""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from gossamer.budget.division import divided
from gossamer.net.config.limits import Limits

_Mount = tuple[str, tuple[str, ...]]
# Of control groups, version 2 and 1: where they are mounted, and the files with their limits. Past
# `memory.high` nothing is refused, and everything waits.
_UNIFIED: Final[_Mount] = ("sys/fs/cgroup", ("memory.max", "memory.high"))
_MEMORY: Final[_Mount] = ("sys/fs/cgroup/memory", ("memory.limit_in_bytes",))
# Where even the machine's memory is not known, a box so small that any has as much.
_UNKNOWN: Final = 512 << 20
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
class Memory:
    """Bytes, and whose limit they are."""

    size: int
    source: str


@cache
def machine_memory() -> Memory:
    """Of this machine and this process."""
    try:
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        installed = 0
    return memory_in(Path("/"), installed)


def memory_in(root: Path, installed: int) -> Memory:
    """`root` has `proc` and `sys`; `installed` is what the machine has, 0 if that is not known."""
    found = [Memory(size, "the limit of its control group") for size in _group_limits(root)]
    if installed > 0:
        found.append(Memory(installed, "the memory of this machine"))
    if not found:
        return Memory(_UNKNOWN, "an assumption, since the memory of this machine is not known")
    return min(found, key=lambda one: one.size)


def _group_limits(root: Path) -> list[int]:
    """Of the group of this process and of those around it; a limit there holds here as well."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    limits: list[int] = []
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mount, names = _UNIFIED
        elif "memory" in controllers.split(","):
            mount, names = _MEMORY
        else:
            continue
        inner = Path(path.strip("/"))
        if ".." in inner.parts:  # of a namespace that we do not see from the inside
            inner = Path()
        for group in (inner, *inner.parents):
            for name in names:
                limits += _limit(root / mount / group / name)
    return limits


def _limit(file: Path) -> list[int]:
    """The limit in a file; none if there is no file, or no limit ("max")."""
    try:
        text = file.read_text().strip()
    except OSError:
        return []
    return [int(text)] if text.isdigit() and int(text) > 0 else []


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
