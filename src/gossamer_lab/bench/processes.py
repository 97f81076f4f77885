"""Processes beside this one: what they cost, read from /proc, and one that runs for a while."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from gossamer_lab.bench.load.client import GeneratorError

START_SECONDS: Final = 60.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")
# Of /proc/PID/stat, behind the name: the parent, and the times of itself and its reaped children.
_PARENT: Final = 1
_TIMES: Final = slice(11, 15)


def cpu_seconds(pid: int) -> float:
    """Processor time of all threads of ``pid``, user and system; 0 for an unknown process."""
    if pid <= 0:
        return 0.0
    try:
        # Nanoseconds, where the kernel keeps them; the clock ticks of `stat` are 10 ms each.
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
    except FileNotFoundError:
        fields = _stat(Path(f"/proc/{pid}/stat"))
        return (int(fields[11]) + int(fields[12])) / _TICKS


def family_cpu_seconds() -> float:
    """Of this process and all below it, with those that have ended and were waited for."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = _stat(stat)
        except OSError:
            continue  # it has just ended
        pid = int(stat.parent.name)
        parents[pid] = int(fields[_PARENT])
        ticks[pid] = sum(map(int, fields[_TIMES]))
    return sum(ticks[pid] for pid in parents if _is_below(pid, parents)) / _TICKS


def _stat(file: Path) -> list[str]:
    """The fields behind the name, which may hold anything."""
    return file.read_text().rpartition(")")[2].split()


def _is_below(pid: int, parents: dict[int, int]) -> bool:
    own = os.getpid()
    while pid > 1 and pid != own:
        pid = parents.get(pid, 0)
    return pid == own


def resident_bytes(pid: int) -> int:
    if pid <= 0:
        return 0
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def listening_pid(port: int) -> int:
    """The process of this machine that listens on ``port``; 0 if it cannot be seen."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:] if Path(table).exists() else ():
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{fields[9]}]")
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(descriptor) in inodes:
                return int(descriptor.parts[2])
        except OSError:
            continue
    return 0


@contextmanager
def beside(work: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """`work(started, …)` in a process of its own, from when it calls `started` to the end.

    GeneratorError if it does not start, or ends by itself.
    """
    context = get_context("spawn")
    started = context.Event()
    process = context.Process(target=work, args=(started.set, *arguments), daemon=True)
    process.start()
    try:
        deadline = time.monotonic() + START_SECONDS
        while not started.wait(0.05):
            if not process.is_alive() or time.monotonic() > deadline:
                raise GeneratorError(f"the {work.__name__} did not start")
        yield
        if not process.is_alive():
            raise GeneratorError(f"the {work.__name__} ended too soon")
    finally:
        process.kill()
        process.join()
