"""What a worker gives up before it looks at what strangers sent.

Limits that every Unix knows (memory, processor time, files); on Linux a list of the system calls
that are left, and Landlock, which closes files even where the list is missing. A worker keeps its
threads, its memory and the two pipes to the broker. What the system cannot do is left out and
told: `weaknesses` names it before a worker starts, and a worker says what holds in it.
"""

import os
import resource
from pathlib import Path
from typing import Final

from gossamer.vision import landlock, seccomp

# The pipes and what the interpreter holds open already.
OPEN_FILES: Final = 32

# Past the wall clock's limit, which the broker holds: the last line if the broker is stuck itself.
SPARE_CPU_SECONDS: Final = 2

# Those who publish and subscribe come before those who look at images.
NICENESS: Final = 10

# The first version of Landlock that knows that to truncate a file is to change it.
WHOLE_LANDLOCK: Final = 3


def weaknesses() -> list[str]:
    """What a worker on this system would not give up, in words; empty if nothing."""
    return _words(seccomp.can_filter(), landlock.version())


def begin() -> None:
    """First of all, while there is one thread: from now on no file can be changed."""
    landlock.forbid_changes()


def confine(memory: int) -> list[str]:
    """For good. `memory` is in bytes, on top of what is taken now. What does not hold, in words."""
    os.nice(NICENESS)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    size = _address_space()
    if size is not None:
        _limit(resource.RLIMIT_AS, size + memory)
    files = landlock.forbid_opening()
    calls = seccomp.refuse_other_calls(os.getpid())
    return _words(calls and not _can_open(), files)


def allow_seconds(seconds: float) -> None:
    """Of processor time from now; the kernel ends a worker that takes more."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime + seconds) + SPARE_CPU_SECONDS
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard == resource.RLIM_INFINITY or soft <= hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _words(filters_calls: bool, landlock_version: int) -> list[str]:
    found: list[str] = []
    if not filters_calls:
        found.append("system calls are not filtered (seccomp on Linux, on x86-64 and ARM)")
    if not landlock_version:
        found.append("files are not closed a second time (Landlock, in Linux since 5.13)")
    elif landlock_version < WHOLE_LANDLOCK and not filters_calls:
        found.append("files can be truncated (Landlock knows of it in Linux since 6.2)")
    return found


def _can_open() -> bool:
    """Whether the walls stand: believed once it was tried."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except PermissionError:
        return False
    return True


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _address_space() -> int | None:
    """Bytes, None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
