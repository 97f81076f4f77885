"""Files, ports and other processes closed to a worker by the kernel's Landlock, where it has it.

A second wall behind the list of system calls, and the only one on machines for which there is no
such list. It comes in two stages, since it binds the thread that asks and those it starts later:
before models are loaded nothing on any filesystem can be changed any more, by no thread; when they
are loaded nothing can be opened either.
"""

import ctypes
import os
import struct
from typing import Final

from gossamer.vision.linux_calls import IS_LINUX, syscall, take_no_privileges

# The same on every machine but Alpha.
_CREATE: Final = 444
_ADD_RULE: Final = 445
_RESTRICT: Final = 446
_VERSION: Final = 1
_BELOW_PATH: Final = 1

# What may be done with files, as bits, and the version of Landlock that knows of it.
_EXECUTE: Final = 1 << 0
_WRITE: Final = 1 << 1
_READ_FILE: Final = 1 << 2
_READ_FOLDER: Final = 1 << 3
_CHANGES: Final = (
    (1, _WRITE),
    (1, 0x1FF0),  # remove folders and files; make devices, folders, files, sockets, pipes, links
    (2, 1 << 13),  # link or rename into another folder
    (3, 1 << 14),  # truncate
    (5, 1 << 15),  # control devices
)
_LOOKS: Final = _EXECUTE | _READ_FILE | _READ_FOLDER
# Bind and connect by TCP; abstract sockets and signals outside of what is confined together.
_NETWORK: Final = (4, 0b11)
_SCOPE: Final = (6, 0b11)

# What the ruleset's description has of 64-bit numbers, by version.
_FIELDS: Final = ((6, 3), (4, 2), (1, 1))


def version() -> int:
    """Of the kernel's Landlock; 0 where there is none."""
    if not IS_LINUX:
        return 0
    try:
        return syscall(_CREATE, None, 0, _VERSION)
    except OSError:
        return 0


def forbid_changes() -> int:
    """Of any filesystem, by this thread and those it starts; the version that holds it, 0 if none.

    What goes to /dev/null is no change.
    """
    return _restrict(_changes(version()), (os.devnull,))


def forbid_opening() -> int:
    """Of anything at all, by this thread."""
    return _restrict(_changes(version()) | _LOOKS, ())


def _changes(known: int) -> int:
    bits = 0
    for since, bit in _CHANGES:
        if known >= since:
            bits |= bit
    return bits


def _restrict(refused: int, writable: tuple[str, ...]) -> int:
    known = version()
    if not known:
        return 0
    fields = [
        refused,
        _NETWORK[1] if known >= _NETWORK[0] else 0,
        _SCOPE[1] if known >= _SCOPE[0] else 0,
    ]
    size = next(count for since, count in _FIELDS if known >= since)
    description = ctypes.create_string_buffer(struct.pack(f"={size}Q", *fields[:size]), 8 * size)
    take_no_privileges()
    try:
        ruleset = syscall(_CREATE, _pointer(description), 8 * size, 0)
        try:
            for path in writable:
                _permit(ruleset, path, _WRITE)
            syscall(_RESTRICT, ruleset, 0)
        finally:
            os.close(ruleset)
    except OSError:
        return 0
    return known


def _permit(ruleset: int, path: str, bits: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = ctypes.create_string_buffer(struct.pack("=Qi", bits, place), 12)
        syscall(_ADD_RULE, ruleset, _BELOW_PATH, _pointer(rule), 0)
    finally:
        os.close(place)


def _pointer(buffer: "ctypes.Array[ctypes.c_char]") -> ctypes.c_void_p:
    return ctypes.c_void_p(ctypes.addressof(buffer))
