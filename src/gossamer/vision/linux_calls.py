"""Calls of the Linux kernel that Python has no names for."""

import ctypes
import os
import sys
from mmap import MADV_DONTNEED
from signal import SIGKILL
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38

IS_LINUX: Final = sys.platform == "linux"


def syscall(number: int, *arguments: "int | ctypes.c_void_p | None") -> int:
    """What it returns; OSError for what it refuses."""
    answer = int(_libc().syscall(ctypes.c_long(number), *(_wide(each) for each in arguments)))
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer


def die_with_parent() -> None:
    """Where the kernel can do it; elsewhere the end of its input ends a worker."""
    if IS_LINUX:
        _prctl(_PR_SET_PDEATHSIG, SIGKILL)


def take_no_privileges() -> None:
    """No program that is run from here has more rights than this one; filters demand it."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def forget_pages(start: int, size: int) -> bool:
    """Of a mapping that holds nothing of this process's own; False if the kernel refuses."""
    place, length = ctypes.c_void_p(start), ctypes.c_size_t(size)
    return int(_libc().madvise(place, length, ctypes.c_int(MADV_DONTNEED))) == 0


def _prctl(option: int, value: int) -> None:
    nothing = ctypes.c_ulong(0)
    _libc().prctl(ctypes.c_int(option), ctypes.c_ulong(value), nothing, nothing, nothing)


def _wide(argument: "int | ctypes.c_void_p | None") -> "ctypes.c_void_p | ctypes.c_long":
    """As wide as a register: a plain int would be passed with half of it undefined."""
    if argument is None:
        return ctypes.c_void_p()
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
