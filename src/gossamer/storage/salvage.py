"""Reads whatever can be read of a damaged table, in bounded time.

Rows are read upwards by key. Where reading fails, the next readable key is looked for in growing
steps and then by halving, so one damaged place costs some hundred reads however many keys it
covers. Keys that do not ascend are damage too: a page tree that leads back into itself ends there.
"""

import sqlite3
from typing import Final

from gossamer.storage.files import DAMAGE
from gossamer.storage.rows import Row
from gossamer.storage.schema import TABLES, WAITING, Table
from gossamer.storage.upgrade import absent_before, upgraded

EVERYTHING: Final = (*TABLES, WAITING)
_HIGHEST_KEY: Final = (1 << 63) - 1

# Damaged places in one table after which the rest of it is given up.
MOST_GAPS: Final = 100_000


class Salvage:
    """The rows that were read, and where others could not be."""

    def __init__(self) -> None:
        self.rows: dict[Table, list[Row]] = {table: [] for table in EVERYTHING}
        self.gaps: list[str] = []


def salvage(connection: sqlite3.Connection) -> Salvage:
    """As rows of the present format, whatever the file's is."""
    connection.text_factory = _text
    found = Salvage()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    absent = absent_before(version)
    for table in EVERYTHING:
        if table not in absent:
            _salvage_table(connection, table, found)
    found.rows = upgraded(found.rows)
    return found


def _text(raw: bytes) -> str:
    """Damaged text must not stop the reading: its row's checksum tells."""
    return raw.decode("utf-8", "surrogateescape")


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
