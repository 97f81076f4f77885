"""A disk that fills or fails under SQLite: its writes and syncs are counted, and fail when told to.

The methods of the files that a connection has open are replaced where SQLite keeps them, so what is
tested is the path from a system call's error to the store, and not a stand-in for it.
"""

import _sqlite3
import ctypes
import sqlite3
from collections.abc import Callable
from typing import Final

import pytest

FULL: Final = 13  # SQLITE_FULL
WRITE_FAILED: Final = 778  # SQLITE_IOERR_WRITE
SYNC_FAILED: Final = 1034  # SQLITE_IOERR_FSYNC
_OK: Final = 0
_FILE_POINTER: Final = 7  # SQLITE_FCNTL_FILE_POINTER
_LOG_POINTER: Final = 28  # SQLITE_FCNTL_JOURNAL_POINTER: the log, in WAL mode
_HANDLE_AT: Final = 16  # of the sqlite3 * in a Connection, behind the object's head

_Pointer = ctypes.c_void_p
_Write = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, _Pointer, ctypes.c_int, ctypes.c_int64)
_Sync = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_int)


class _Methods(ctypes.Structure):
    _fields_ = [
        ("iVersion", ctypes.c_int),
        *[(name, _Pointer) for name in ("xClose", "xRead")],
        ("xWrite", _Pointer),
        ("xTruncate", _Pointer),
        ("xSync", _Pointer),
        *[(f"other{number}", _Pointer) for number in range(13)],
    ]


class _File(ctypes.Structure):
    _fields_ = [("pMethods", ctypes.POINTER(_Methods))]


class FailingFiles:
    """`fails` is asked with each call's number, counted from 1, whether it is a sync, and answers
    the error; 0 lets it pass. A write that fails has written half; a sync that passes does nothing,
    since what is tested is a kill and not a power cut."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.calls = 0
        self.fails: Callable[[int, bool], int] = lambda number, is_sync: _OK
        self._kept: list[object] = []  # that C refers to
        try:
            library = ctypes.CDLL(_sqlite3.__file__)
            control = library.sqlite3_file_control
        except (AttributeError, OSError):
            pytest.skip("this Python has SQLite built in, where its files cannot be reached")
        control.argtypes = (_Pointer, ctypes.c_char_p, ctypes.c_int, _Pointer)
        handle = _Pointer.from_address(id(connection) + _HANDLE_AT)
        for which in (_FILE_POINTER, _LOG_POINTER):
            file = ctypes.POINTER(_File)()
            assert control(handle, b"main", which, ctypes.byref(file)) == _OK
            self._replace(file.contents)

    def _replace(self, file: _File) -> None:
        methods = _Methods()
        ctypes.memmove(ctypes.byref(methods), file.pMethods, ctypes.sizeof(_Methods))
        write = _Write(methods.xWrite)

        def failing_write(at: int, data: int, size: int, offset: int) -> int:
            error = self._error(False)
            if error:
                write(at, data, size // 2, offset)
                return error
            return int(write(at, data, size, offset))

        def failing_sync(at: int, flags: int) -> int:
            return self._error(True)

        new_write, new_sync = _Write(failing_write), _Sync(failing_sync)
        methods.xWrite = ctypes.cast(new_write, _Pointer)
        methods.xSync = ctypes.cast(new_sync, _Pointer)
        self._kept += [methods, new_write, new_sync]
        file.pMethods = ctypes.pointer(methods)

    def _error(self, is_sync: bool) -> int:
        self.calls += 1
        return self.fails(self.calls, is_sync)
