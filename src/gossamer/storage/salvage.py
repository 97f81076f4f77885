"""Reads whatever can be read of a damaged store, in bounded time.

Rows are read upwards by key. Where reading fails, the next readable key is looked for in growing
steps and then by halving, so one damaged place costs some hundred reads however many keys it
covers. Keys that do not ascend are damage too: a page tree that leads back into itself ends there.

A file whose first page is lost is opened by giving a copy of it the first page of an empty store.
That page says where each table's tree begins. Every store makes the same tables in the same order,
so the trees begin at the same pages in all of them.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from gossamer.storage.files import (
    DAMAGE,
    FILE_NAME,
    PAGE_BYTES,
    StoreDamaged,
    any_text,
    companions,
    open_existing,
    open_store,
)
from gossamer.storage.rows import Row
from gossamer.storage.schema import TABLES, WAITING, Table
from gossamer.storage.upgrade import absent_before, upgraded

EVERYTHING: Final = (*TABLES, WAITING)
_HIGHEST_KEY: Final = (1 << 63) - 1

# Damaged places in one table after which the rest of it is given up.
MOST_GAPS: Final = 100_000

# Fields of SQLite's file header, each a big-endian number of four bytes.
_CHANGE_COUNTER: Final = 24
_PAGE_COUNT: Final = 28
_FIRST_FREE_PAGE: Final = 32
_FREE_PAGES: Final = 36
_COUNTER_OF_PAGE_COUNT: Final = 92


class Salvage:
    """The rows that were read, and where others could not be."""

    def __init__(self) -> None:
        self.rows: dict[Table, list[Row]] = {table: [] for table in EVERYTHING}
        self.gaps: list[str] = []


def salvage(connection: sqlite3.Connection) -> Salvage:
    """As rows of the present format, whatever the file's is."""
    connection.text_factory = any_text
    found = Salvage()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    absent = absent_before(version)
    for table in EVERYTHING:
        if table not in absent:
            _salvage_table(connection, table, found)
    found.rows = upgraded(found.rows)
    return found


def _salvage_table(connection: sqlite3.Connection, table: Table, found: Salvage) -> None:
    key = 0
    for _ in range(MOST_GAPS):
        rows, complete = _read_upwards(connection, table, key)
        found.rows[table].extend(rows)
        if complete:
            return
        damaged_from = rows[-1][0] + 1 if rows else key
        readable = _next_readable(connection, table, damaged_from)
        if readable is None:
            found.gaps.append(f"{table.name}: nothing can be read from key {damaged_from} on")
            return
        found.gaps.append(f"{table.name}: keys {damaged_from} to {readable - 1} cannot be read")
        key = readable
    found.gaps.append(f"{table.name}: given up at key {key}, after {MOST_GAPS} damaged places")


def _read_upwards(
    connection: sqlite3.Connection, table: Table, start: int
) -> tuple[list[Row], bool]:
    """The rows from `start` to the first damage, and whether that was the end of the table."""
    rows: list[Row] = []
    last = start - 1
    try:
        query = f"{table.select} WHERE {table.key} >= ? ORDER BY {table.key}"
        for row in connection.execute(query, (start,)):
            if row[0] <= last:
                return rows, False
            last = row[0]
            rows.append(row)
    except DAMAGE:
        return rows, False
    return rows, True


def _next_readable(connection: sqlite3.Connection, table: Table, damaged: int) -> int | None:
    """The lowest key found after `damaged` from which reading works again."""
    step = 1
    while not _readable(connection, table, damaged + step):
        step *= 2
        if damaged + step > _HIGHEST_KEY:
            return None
    low, high = damaged + step // 2, damaged + step
    while high - low > 1:
        middle = (low + high) // 2
        if _readable(connection, table, middle):
            high = middle
        else:
            low = middle
    return high


def _readable(connection: sqlite3.Connection, table: Table, key: int) -> bool:
    query = f"{table.select} WHERE {table.key} >= ? ORDER BY {table.key} LIMIT 1"
    try:
        row = connection.execute(query, (key,)).fetchone()
    except DAMAGE:
        return False
    return row is None or row[0] >= key


@contextmanager
def opened_for_salvage(path: Path) -> Iterator[sqlite3.Connection]:
    """The file itself where SQLite takes it, else a copy with a new head."""
    try:
        connection = open_existing(path)
    except StoreDamaged:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="salvage-") as folder:
            copy = _with_new_head(path, Path(folder))
            with closing(open_existing(copy)) as connection:
                yield connection
    else:
        with closing(connection):
            yield connection


def _with_new_head(path: Path, folder: Path) -> Path:
    empty = folder / "empty" / FILE_NAME
    open_store(empty).close()
    head = bytearray(empty.read_bytes()[:PAGE_BYTES])
    copy = folder / FILE_NAME
    for file in (path, *companions(path)):
        if file.exists():
            shutil.copy(file, folder / file.name)
    numbers = {
        _CHANGE_COUNTER: 1,
        _COUNTER_OF_PAGE_COUNT: 1,
        _PAGE_COUNT: copy.stat().st_size // PAGE_BYTES,
        _FIRST_FREE_PAGE: 0,
        _FREE_PAGES: 0,
    }
    for offset, number in numbers.items():
        head[offset : offset + 4] = number.to_bytes(4, "big")
    with copy.open("r+b") as target:
        target.write(head)
    return copy
