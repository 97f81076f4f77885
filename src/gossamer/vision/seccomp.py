"""The system calls that are left to a worker, as a list; every other is refused with EPERM.

A worker that has loaded its models computes: it needs memory, threads, the clock and the two pipes
to the broker. It opens nothing, so no call that takes a path, an address or another process is on
the list. Those that would reach others by an argument are let through for itself alone.
"""

import ctypes
import platform
import struct
from typing import Final, NamedTuple

from gossamer.vision.linux_calls import IS_LINUX, syscall, take_no_privileges

MACHINES: Final = ("x86_64", "aarch64")
# The kernel's names for the machines, as a filter sees them.
_ARCHITECTURES: Final = (0xC000003E, 0xC00000B7)

# Numbers on these machines; None where there is no such call. The most frequent ones first, since
# a filter is read from its beginning at every call.
ALLOWED: Final[dict[str, tuple[int | None, int]]] = {
    "futex": (202, 98),
    "read": (0, 63),
    "write": (1, 64),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mprotect": (10, 226),
    "madvise": (28, 233),
    "brk": (12, 214),
    "mremap": (25, 216),
    "sched_yield": (24, 124),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "restart_syscall": (219, 128),
    # On what is open already: the pipes, and files that a model was read from.
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "lseek": (8, 62),
    "close": (3, 57),
    "fstat": (5, 80),
    # By which C libraries make `fstat`; it tells of other files whether they are there, no more.
    "newfstatat": (262, 79),
    "ppoll": (271, 73),
    # Signals to itself are set up and returned from.
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    # Threads: they are made by `clone`, below.
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "futex_waitv": (449, 449),
    "membarrier": (324, 283),
    "sched_getaffinity": (204, 123),
    "getcpu": (309, 168),
    "exit": (60, 93),
    "exit_group": (231, 94),
    # Who and where it is, and what it has used.
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getppid": (110, 173),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getrusage": (98, 165),
    "times": (100, 153),
    "sysinfo": (99, 179),
    "uname": (63, 160),
    "getrandom": (318, 278),
}
# Only for itself: threads, its own limit of processor time, and the signal that ends it.
CLONE: Final = (56, 220)
PRLIMIT: Final = (302, 261)
TGKILL: Final = (234, 131)
# It hides its flags from a filter; C libraries take `clone` instead where it is missing.
CLONE3: Final = (435, 435)

_SECCOMP: Final = (317, 277)
_SET_MODE_FILTER: Final = 1
_IS_ACTION_KNOWN: Final = 2
_ALL_THREADS: Final = 1

_CLONE_THREAD: Final = 0x0001_0000
_RLIMIT_CPU: Final = 0
_OTHER_ABI: Final = 0x4000_0000  # x86_64 has a second numbering of its calls

_LOAD: Final = 0x20
_JUMP_IF_EQUAL: Final = 0x15
_JUMP_IF_SET: Final = 0x45
_RETURN: Final = 0x06
ALLOW: Final = 0x7FFF_0000
REFUSE: Final = 0x0005_0000 | 1  # EPERM
NOT_THERE: Final = 0x0005_0000 | 38  # ENOSYS

# Where a filter finds these of a call; of an argument the lower half, and the upper one after it.
_NUMBER_AT: Final = 0
_ARCHITECTURE_AT: Final = 4
_ARGUMENTS_AT: Final = 16


class FilterInstruction(NamedTuple):
    operation: int
    if_true: int  # steps to skip
    if_false: int
    operand: int


def machine() -> int | None:
    """Which column of the tables this machine has; None if it has none."""
    name = platform.machine()
    return MACHINES.index(name) if IS_LINUX and name in MACHINES else None


def can_filter() -> bool:
    """Whether the kernel would take a filter; nothing changes."""
    column = machine()
    if column is None:
        return False
    action = ctypes.c_uint32(REFUSE & 0xFFFF_0000)
    try:
        where = ctypes.c_void_p(ctypes.addressof(action))
        syscall(_SECCOMP[column], _IS_ACTION_KNOWN, 0, where)
    except OSError:
        return False
    return True


def refuse_other_calls(pid: int) -> bool:
    """For good, in every thread of this process, whose number is `pid`; False if it cannot be."""
    column = machine()
    if column is None:
        return False
    steps = program(column, pid)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    given = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(code)))
    take_no_privileges()
    try:
        where = ctypes.c_void_p(ctypes.addressof(given))
        syscall(_SECCOMP[column], _SET_MODE_FILTER, _ALL_THREADS, where)
    except OSError:
        return False
    return True


def program(column: int, pid: int) -> list[FilterInstruction]:
    """What the kernel runs at each call."""
    steps = [
        FilterInstruction(_LOAD, 0, 0, _ARCHITECTURE_AT),
        FilterInstruction(_JUMP_IF_EQUAL, 1, 0, _ARCHITECTURES[column]),
        FilterInstruction(_RETURN, 0, 0, REFUSE),
        FilterInstruction(_LOAD, 0, 0, _NUMBER_AT),
        FilterInstruction(_JUMP_IF_SET, 0, 1, _OTHER_ABI),
        FilterInstruction(_RETURN, 0, 0, REFUSE),
    ]
    for numbers in ALLOWED.values():
        number = numbers[column]
        if number is not None:
            steps += [
                FilterInstruction(_JUMP_IF_EQUAL, 0, 1, number),
                FilterInstruction(_RETURN, 0, 0, ALLOW),
            ]
    for number, inside in (
        (CLONE[column], [_first_has(_CLONE_THREAD)]),
        (TGKILL[column], [_equals(0, pid)]),
        # Of processor time, or only asked for; a root's process could raise the others again.
        (PRLIMIT[column], [_equals(0, 0), _equals(1, _RLIMIT_CPU)]),
        (PRLIMIT[column], [_equals(0, 0), _equals(2, 0), _equals(2, 0, upper=True)]),
    ):
        steps += _only_if(number, inside)
    return [
        *steps,
        FilterInstruction(_JUMP_IF_EQUAL, 0, 1, CLONE3[column]),
        FilterInstruction(_RETURN, 0, 0, NOT_THERE),
        FilterInstruction(_RETURN, 0, 0, REFUSE),
    ]


def _equals(argument: int, value: int, upper: bool = False) -> tuple[int, int, int]:
    return _ARGUMENTS_AT + 8 * argument + (4 if upper else 0), _JUMP_IF_EQUAL, value


def _first_has(flag: int) -> tuple[int, int, int]:
    return _ARGUMENTS_AT, _JUMP_IF_SET, flag


def _only_if(number: int, conditions: list[tuple[int, int, int]]) -> list[FilterInstruction]:
    """Lets the call through if all hold; what comes after finds the call's number loaded again."""
    inside: list[FilterInstruction] = []
    left = 2 * len(conditions)
    for place, operation, value in conditions:
        left -= 2
        inside += [
            FilterInstruction(_LOAD, 0, 0, place),
            FilterInstruction(operation, 0, left + 1, value),
        ]
    inside += [FilterInstruction(_RETURN, 0, 0, ALLOW), FilterInstruction(_LOAD, 0, 0, _NUMBER_AT)]
    return [FilterInstruction(_JUMP_IF_EQUAL, 0, len(inside), number), *inside]
