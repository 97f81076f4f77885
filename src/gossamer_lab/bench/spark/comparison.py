"""Two ways to the same rows, timed in turns: wall time, and processor time of all processes.

Processor time holds on a machine that has other work, where rates do not.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

Work = Callable[[], object]

_TICKS: Final = os.sysconf("SC_CLK_TCK")
# Of /proc/PID/stat, behind the name: the parent, and the times of itself and its reaped children.
_PARENT: Final = 1
_TIMES: Final = slice(11, 15)


@dataclass(frozen=True)
class RunCost:
    """What one way took, in seconds."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Comparison:
    """`ours` beside `theirs` for so many rows; `wanted` is the least ratio of the rates."""

    title: str
    rows: int
    ours: RunCost
    theirs: RunCost
    wanted: float

    @property
    def rate(self) -> float:
        return self.rows / self.ours.wall

    @property
    def their_rate(self) -> float:
        return self.rows / self.theirs.wall

    @property
    def ratio(self) -> float:
        """Of the rates: above 1 is faster than they are."""
        return self.theirs.wall / self.ours.wall

    @property
    def processor_ratio(self) -> float:
        return self.theirs.processor / max(self.ours.processor, 1 / _TICKS)


def compare(
    title: str, rows: int, ours: Work, theirs: Work, *, repeat: int, wanted: float
) -> Comparison:
    """Once each to warm up, then in turns; the medians count."""
    costs: dict[Work, list[RunCost]] = {ours: [], theirs: []}
    for _ in range(repeat + 1):
        for work, found in costs.items():
            found.append(cost_of(work))
    return Comparison(title, rows, _middle(costs[ours][1:]), _middle(costs[theirs][1:]), wanted)


def cost_of(work: Work) -> RunCost:
    began, used = time.perf_counter(), processor_seconds()
    work()
    return RunCost(time.perf_counter() - began, processor_seconds() - used)


def processor_seconds() -> float:
    """Of this process and all below it, with those that have ended and were waited for."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        pid = int(stat.parent.name)
        parents[pid] = int(fields[_PARENT])
        ticks[pid] = sum(map(int, fields[_TIMES]))
    return sum(ticks[pid] for pid in parents if _is_below(pid, parents)) / _TICKS


def _is_below(pid: int, parents: dict[int, int]) -> bool:
    own = os.getpid()
    while pid > 1 and pid != own:
        pid = parents.get(pid, 0)
    return pid == own


def _middle(costs: list[RunCost]) -> RunCost:
    return RunCost(median(one.wall for one in costs), median(one.processor for one in costs))
