"""What a worker gives up before it looks at what strangers sent.

Limits that every Unix knows (memory, processor time, files), and on Linux a filter of system calls:
no files, no sockets, no other programs or processes. A worker keeps its threads, its memory and the
two pipes to the broker.
"""

import ctypes
import os
import platform
import resource
import struct
import sys
from pathlib import Path
from signal import SIGKILL
from typing import Final

# The pipes and what the interpreter holds open already.
OPEN_FILES: Final = 32

# Past the wall clock's limit, which the broker holds: the last line if the broker is stuck itself.
SPARE_CPU_SECONDS: Final = 2

# Those who publish and subscribe come before those who look at images.
NICENESS: Final = 10

_MACHINES: Final = ("x86_64", "aarch64")
# The kernel's names for the machines, as a filter sees them.
_ARCHITECTURES: Final = (0xC000003E, 0xC00000B7)

# Numbers on these machines; None where there is no such call.
_REFUSED: Final = {
    "open": (2, None),
    "creat": (85, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
    "kill": (62, 129),
    "tkill": (200, 130),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "unlinkat": (263, 35),
    "unlink": (87, None),
    "renameat2": (316, 276),
    "rename": (82, None),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
}
_CLONE: Final = (56, 220)
_CLONE3: Final = (435, 435)
_SECCOMP: Final = (317, 277)

_CLONE_THREAD: Final = 0x0001_0000
_OTHER_ABI: Final = 0x4000_0000  # x86_64 has a second numbering of its calls

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_SET_MODE_FILTER: Final = 1
_ALL_THREADS: Final = 1

_LOAD: Final = 0x20
_JUMP_IF_EQUAL: Final = 0x15
_JUMP_IF_SET: Final = 0x45
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF_0000
_REFUSE: Final = 0x0005_0000 | 1  # EPERM
_NOT_THERE: Final = 0x0005_0000 | 38  # ENOSYS

# Where a filter finds these of a call.
_NUMBER_AT: Final = 0
_ARCHITECTURE_AT: Final = 4
_FIRST_ARGUMENT_AT: Final = 16

_Step = tuple[int, int, int, int]  # operation, steps to skip if true, if false, operand


def die_with_parent() -> None:
    """Where the kernel can do it; elsewhere the end of the input ends a worker."""
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, SIGKILL)


def confine(memory: int) -> None:
    """For good. `memory` is in bytes, on top of what is taken now."""
    os.nice(NICENESS)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    size = _address_space()
    if size is not None:
        _limit(resource.RLIMIT_AS, size + memory)
    if sys.platform == "linux" and platform.machine() in _MACHINES:
        _filter_calls(_MACHINES.index(platform.machine()))


def allow_seconds(seconds: float) -> None:
    """Of processor time from now; the kernel ends a worker that takes more."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime + seconds) + SPARE_CPU_SECONDS
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard == resource.RLIM_INFINITY or soft <= hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


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


def _filter_calls(machine: int) -> None:
    """A kernel that cannot do it leaves the other limits in force."""
    steps = _steps(machine)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(code)))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _libc().syscall(
        ctypes.c_long(_SECCOMP[machine]),
        ctypes.c_ulong(_SET_MODE_FILTER),
        ctypes.c_ulong(_ALL_THREADS),
        ctypes.c_void_p(ctypes.addressof(program)),
    )


def _steps(machine: int) -> list[_Step]:
    steps: list[_Step] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_IF_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_JUMP_IF_SET, 0, 1, _OTHER_ABI),
        (_RETURN, 0, 0, _REFUSE),
        # It hides its flags from a filter; C libraries take `clone` instead where it is missing.
        (_JUMP_IF_EQUAL, 0, 1, _CLONE3[machine]),
        (_RETURN, 0, 0, _NOT_THERE),
    ]
    for numbers in _REFUSED.values():
        number = numbers[machine]
        if number is not None:
            steps += [(_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    return [
        *steps,
        (_JUMP_IF_EQUAL, 0, 3, _CLONE[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
        (_JUMP_IF_SET, 1, 0, _CLONE_THREAD),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _prctl(option: int, value: int) -> None:
    nothing = ctypes.c_ulong(0)
    _libc().prctl(ctypes.c_int(option), ctypes.c_ulong(value), nothing, nothing, nothing)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
