"""Reads back what waits in lanes. A damaged row comes back as a delivery without a message.

The rest of a queue need not wait for a row that the disk has changed: its key is in the tree and
says where it stood, and that is all that is believed of it. A damaged tree is another matter:
nobody knows then what is there, and `sqlite3.DatabaseError` ends the broker as it must.
"""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from gossamer.session.records import DeliveryRecord
from gossamer.storage.files import any_text
from gossamer.storage.rows import Row, damaged_waiting, waiting_from
from gossamer.storage.schema import COUNT_DAMAGED, CREATE_DAMAGED, READ_LANE, SET_ASIDE

logger = logging.getLogger("gossamer.storage")

# Rows that are set aside for people to look at; more are counted and gone.
MOST_SET_ASIDE: Final = 1_000
# Rows that are read at a time behind one that is no text.
_AT_ONCE: Final = 256


def lane_records(
    connection: sqlite3.Connection, after: int, before: int, most: int
) -> Iterator[DeliveryRecord]:
    """Of the keys between, at most so many, in order."""
    for row in lane_rows(connection, after, before, most):
        try:
            yield waiting_from(row)
        except (ValueError, TypeError):
            yield damaged_waiting(row)


def set_aside(connection: sqlite3.Connection, keys: list[int]) -> None:
    """Keeps damaged rows as they are in a table of their own, as far as there is room."""
    logger.error("%d rows of `waiting` are damaged, from %d on: set aside", len(keys), keys[0])
    with suppress(sqlite3.OperationalError):  # a full disk: they are counted all the same
        connection.execute(CREATE_DAMAGED)
        (there,) = connection.execute(COUNT_DAMAGED).fetchone()
        for key in keys[: max(0, MOST_SET_ASIDE - there)]:
            connection.execute(SET_ASIDE, (key,))


def lane_rows(connection: sqlite3.Connection, after: int, before: int, most: int) -> Iterator[Row]:
    """Text that is no UTF-8 any more ends a statement: from there it is read another way."""
    left = most
    try:
        for row in connection.execute(READ_LANE, (after, before, most)):
            after = row[0]
            left -= 1
            yield row
        return
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) is not None:
            raise
    while left > 0:
        connection.text_factory = any_text
        try:
            some = (after, before, min(left, _AT_ONCE))
            rows = connection.execute(READ_LANE, some).fetchall()
        finally:
            connection.text_factory = str
        if not rows:
            return
        after = rows[-1][0]
        left -= len(rows)
        yield from rows
