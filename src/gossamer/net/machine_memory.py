"""How much memory the broker may count on: the machine's, or less if its control group has less.

Looked at once, when the broker starts: budgets do not move under clients because a limit does.
"""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_Mount = tuple[str, tuple[str, ...]]
# Of control groups, version 2 and 1: where they are mounted, and the files with their limits. Past
# `memory.high` nothing is refused, and everything waits.
_UNIFIED: Final[_Mount] = ("sys/fs/cgroup", ("memory.max", "memory.high"))
_MEMORY: Final[_Mount] = ("sys/fs/cgroup/memory", ("memory.limit_in_bytes",))
# Where even the machine's memory is not known, a box so small that any has as much.
_UNKNOWN: Final = 512 << 20


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
