"""Rows that a broker meets while it serves already, and cannot use: set aside, as those of lanes.

A message of which nobody knows what it said cannot be delivered; that need not keep the others from
it. The row is named in the log, what can still be read of it is kept in the table `damaged`, and
only then it leaves its own. Past so many of them the disk has lost more than single rows: the
broker ends and says how to repair the file, and what is left stays where it is.
"""

import logging
import sqlite3
from contextlib import suppress
from typing import Final

from gossamer.storage.files import any_text
from gossamer.storage.lane_reader import MOST_SET_ASIDE
from gossamer.storage.rows import Row
from gossamer.storage.schema import (
    CREATE_DAMAGED,
    DELIVERY,
    MESSAGE,
    RETAINED,
    SET_ASIDE,
    SET_MESSAGE_ASIDE,
    WAITING,
    Table,
    delete_statement,
)

logger = logging.getLogger("gossamer.storage")

# Rows that one start sets aside.
MOST_AT_START: Final = MOST_SET_ASIDE
# Lines about them in the log; the rest is a number.
_MOST_LINES: Final = 20


class DamagedRow:
    """Where it is, and the message that it is about, 0 if that is not known."""

    __slots__ = ("key", "message", "table")

    def __init__(self, table: Table, row: Row) -> None:
        self.table = table
        self.key: int = row[0]
        self.message = 0
        if table is MESSAGE or table is RETAINED:
            self.message = self.key
        elif table is DELIVERY and type(row[3]) is int:
            self.message = row[3]


def tell(problems: list[str]) -> None:
    for problem in problems[:_MOST_LINES]:
        logger.error("%s: set aside", problem)
    if len(problems) > _MOST_LINES:
        logger.error("%d more rows are unreadable: set aside", len(problems) - _MOST_LINES)
    logger.error("`gossamer store check` looks at all of the file when the broker is stopped")


def set_rows_aside(connection: sqlite3.Connection, rows: list[DamagedRow]) -> None:
    """On the writer's thread. A full disk leaves them where they are, for the next start."""
    with suppress(sqlite3.OperationalError):
        connection.execute(CREATE_DAMAGED)
        connection.execute("BEGIN IMMEDIATE")
        try:
            for row in rows:
                if row.message:
                    connection.execute(SET_MESSAGE_ASIDE, (row.message,))
                if row.table is WAITING:
                    connection.execute(SET_ASIDE, (row.key,))
                connection.execute(delete_statement(row.table, 1), (row.key,))
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def all_rows(connection: sqlite3.Connection, statement: str, values: tuple[int, ...]) -> list[Row]:
    """Of a statement that may meet text that is no UTF-8 any more: that is damage of its row."""
    try:
        return connection.execute(statement, values).fetchall()
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) is not None:
            raise
    connection.text_factory = any_text
    try:
        return connection.execute(statement, values).fetchall()
    finally:
        connection.text_factory = str
