"""What a broker's process holds at one moment, read from outside: /proc and its folder."""

import os
from pathlib import Path
from typing import Final

from gossamer_lab.torture.soak.trends import Measure

_MIB: Final = 1024.0 * 1024.0

# What is left of filling after the warm-up: pages that the allocator has not yet used again.
MEMORY: Final = Measure("resident memory", "MiB", 8.0, 0.03)
# Churn has so many connections more at one moment than at another.
DESCRIPTORS: Final = Measure("descriptors", "", 12.0, 0.0)
# Pools of threads grow to their bound on demand.
THREADS: Final = Measure("threads", "", 4.0, 0.0)
# Segments that wait to be sealed or removed, and SQLite's log before it is folded in.
DISK: Final = Measure("disk", "MiB", 24.0, 0.1)


def held(pid: int, folder: Path) -> dict[Measure, float]:
    """By a process and its folder; OSError if the process is gone."""
    process = Path(f"/proc/{pid}")
    pages = int((process / "statm").read_text().split()[1])
    return {
        MEMORY: pages * os.sysconf("SC_PAGE_SIZE") / _MIB,
        DESCRIPTORS: float(len(os.listdir(process / "fd"))),
        THREADS: float(len(os.listdir(process / "task"))),
        DISK: _size(folder) / _MIB,
    }


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name), follow_symlinks=False).st_size
            except FileNotFoundError:
                continue  # a segment that was sealed or removed meanwhile
    return total
