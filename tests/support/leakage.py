"""Does a path through the core leave something behind each time that it is taken?

A path is taken many times, in intervals, and what the process holds is read all the time: blocks
of Python's allocator (every object of up to 512 bytes, also those that no collector sees, which a
missing decrement in compiled code leaves), bytes of the C allocator (what is larger), and objects
by type. The least that there was in an interval counts: what is swept out now and then, as
cancelled timers are, comes back to it, and what each round leaves raises it in every interval. A
cache that fills or a table that doubles does so in one. So the median growth from interval to
interval is taken, by round.

Counting by type over repeated runs is how sqlglot watches its own compiled build.
"""

import ctypes
import gc
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

Round = Callable[[], None]

INTERVALS = 5
# How often the objects are counted in an interval: that takes a while, the numbers do not.
COUNTS = 8
# Below one in twenty rounds it is not what each round leaves. Of bytes: half a pointer a round.
MOST_BLOCKS = 0.05
MOST_BYTES = 4.0
MOST_OBJECTS = 0.2


class Growth(NamedTuple):
    """By round; ``types`` only has those that grow."""

    blocks: float
    bytes: float
    types: dict[str, float]

    def trouble(self) -> str:
        """What leaks, in words; empty if nothing does."""
        found = []
        if self.blocks > MOST_BLOCKS:
            found.append(f"{self.blocks:.2f} blocks")
        if self.bytes > MOST_BYTES:
            found.append(f"{self.bytes:.0f} bytes of large objects")
        found += [f"{count:.2f} of {name}" for name, count in self.types.items()]
        return f"each round leaves {', '.join(found)}" if found else ""


class _Watch:
    """Reads what there is, less what it has taken itself to write it down."""

    def __init__(self) -> None:
        self._own_blocks = self._own_bytes = 0
        self.blocks: list[int] = []
        self.bytes: list[int] = []
        self.types: list[Counter[str]] = []

    def interval(self, path: Round, rounds: int) -> None:
        """Takes the path so often, and keeps the least of everything that was there."""
        between = max(1, rounds // COUNTS)
        blocks = large = sys.maxsize
        types: Counter[str] | None = None
        for number in range(rounds):
            path()
            is_counted = number % between == 0
            if is_counted:
                gc.collect()
                gc.collect()  # what a finaliser let go
            blocks = min(blocks, sys.getallocatedblocks() - self._own_blocks)
            large = min(large, _large_bytes() - self._own_bytes)
            if is_counted:
                before = sys.getallocatedblocks(), _large_bytes()
                found = Counter(type(thing).__name__ for thing in gc.get_objects())
                types = found if types is None else types & found
                del found
                self._own_blocks += sys.getallocatedblocks() - before[0]
                self._own_bytes += _large_bytes() - before[1]
        self.blocks.append(blocks)
        self.bytes.append(large)
        self.types.append(types or Counter())


def growth(path: Round, rounds: int, warm_up: int) -> Growth:
    """What a round leaves, after so many that may fill caches."""
    for _ in range(warm_up):
        path()
    gc.collect()
    # What is there already is not looked at: each collection then takes no time to speak of.
    gc.freeze()
    try:
        watch = _Watch()
        for _ in range(INTERVALS + 1):
            watch.interval(path, rounds)
    finally:
        gc.unfreeze()
    names = sorted(set().union(*watch.types))
    types = {name: _slope([counted[name] for counted in watch.types], rounds) for name in names}
    return Growth(
        _slope(watch.blocks, rounds),
        _slope(watch.bytes, rounds),
        {name: slope for name, slope in types.items() if slope > MOST_OBJECTS},
    )


def _slope(values: list[int], rounds: int) -> float:
    return median(after - before for before, after in pairwise(values)) / rounds


class _Mallinfo(ctypes.Structure):
    """glibc's mallinfo2."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd",
        "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    )]  # fmt: skip


_mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
if _mallinfo is not None:
    _mallinfo.restype = _Mallinfo


def _large_bytes() -> int:
    """Bytes that the C allocator has given away; 0 where it does not tell."""
    if _mallinfo is None:
        return 0
    told = _mallinfo()
    return int(told.uordblks + told.hblkhd)


def resident_bytes() -> int:
    """Resident memory of this process; 0 where /proc does not tell."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Rss:"))
