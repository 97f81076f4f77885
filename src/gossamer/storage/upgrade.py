"""From each format of a store to the next, at the first start of a version that knows it.

All steps that a file needs are one transaction: a kill leaves the old format, whole. A step gets
the rows that there are and answers which rows are put in place of which, so it serves a start, and
also `check`, `export` and `repair`, which leave an old file as it is.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Final, NamedTuple

from gossamer.storage.index import LaneIndex
from gossamer.storage.rows import Row, lane_row, waiting_from_spill
from gossamer.storage.schema import (
    CREATE_POSITION,
    CREATED,
    DELIVERY,
    FORMAT,
    INFLIGHT,
    KEPT,
    LANE,
    PLACES,
    PUT_POSITION,
    READ_POSITION,
    SPILL,
    WAITING,
    Table,
    delete_statement,
    put_statement,
)
from gossamer.storage.upgrade_from_1 import RowMoves, to_rooms

logger = logging.getLogger("gossamer.storage")

# Up to this size a file is rewritten after an upgrade, so that its tables begin where `salvage`
# looks for them if the first page is lost. A larger one would make the start wait.
_REWRITTEN_BYTES: Final = 256 * 1024 * 1024


Rows = Mapping[Table, Iterable[Row]]


class Step(NamedTuple):
    """To a format from the one before it: the tables that are new in it, and what moves."""

    creates: tuple[Table, ...]
    moves: Callable[[Rows], RowMoves]


def _spill_to_lanes(rows: Rows) -> RowMoves:
    """What neighbours' sessions had spilled: it lay in one table, in the order of coming."""
    moves = RowMoves()
    spilled = list(rows[SPILL])
    if not spilled:
        return moves
    numbers: dict[int, int] = {}  # the last of each session's deliveries
    for delivery in rows[DELIVERY]:
        numbers[delivery[1]] = max(numbers.get(delivery[1], 0), delivery[2])
    lanes: dict[int, LaneIndex] = {}
    waiting: list[Row] = []
    for row in spilled:
        lane = lanes.get(row[1])
        if lane is None:
            lane = lanes[row[1]] = LaneIndex(len(lanes) + 1, row[1])
            lane.last_number = numbers.get(row[1], 0)
        try:
            key = lane.key * PLACES + lane.next
            moved, size = waiting_from_spill(row, key, lane.last_number + 1)
        except ValueError:
            continue  # it stays where it is, and is found there by `load`
        waiting.append(moved)
        moves.deletes.setdefault(SPILL, []).append(row[0])
        lane.next += 1
        lane.last_number += 1
        lane.messages += 1
        lane.size += size
    moves.puts[WAITING] = waiting
    moves.puts[LANE] = [lane_row(lane.key, lane.values()) for lane in lanes.values()]
    return moves


# By the format that a step leads to.
STEPS: Final = {
    2: Step((KEPT,), to_rooms),
    3: Step((LANE, WAITING), _spill_to_lanes),
    4: Step((INFLIGHT,), lambda rows: RowMoves()),
}


def upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Bring an opened file to the present format; raises what SQLite raises."""
    if version >= FORMAT:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version + 1, FORMAT + 1):
            _take(connection, STEPS[number])
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    logger.info("upgraded the store from format %d to %d", version, FORMAT)
    _rewrite(connection)


def upgraded(rows: dict[Table, list[Row]]) -> dict[Table, list[Row]]:
    """Rows of a file of any format as those of the present one. A step that was taken before finds
    nothing to move."""
    for number in sorted(STEPS):
        moves = STEPS[number].moves(rows)
        for table, keys in moves.deletes.items():
            gone = set(keys)
            rows[table] = [row for row in rows[table] if row[0] not in gone]
        for table, put in moves.puts.items():
            replaced = {row[0] for row in put}
            rest = [row for row in rows[table] if row[0] not in replaced]
            rows[table] = sorted([*rest, *put], key=itemgetter(0))
    return rows


def absent_before(version: int) -> set[Table]:
    """The tables that a file of this format does not have yet."""
    later = [step.creates for number, step in STEPS.items() if number > version]
    return {table for creates in later for table in creates}


def _take(connection: sqlite3.Connection, step: Step) -> None:
    position = _without_archive_table(connection)
    for table in step.creates:
        connection.execute(table.create)
    if position is not None:
        connection.execute(CREATE_POSITION)
        connection.execute(PUT_POSITION, position)
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
    known = [table for table in CREATED if table.name in there]
    moves = step.moves({table: connection.execute(table.select) for table in known})
    for table, keys in moves.deletes.items():
        connection.executemany(delete_statement(table, 1), [(key,) for key in keys])
    for table, rows in moves.puts.items():
        connection.executemany(put_statement(table, 1), rows)


def _without_archive_table(connection: sqlite3.Connection) -> tuple[int] | None:
    """The one table that is made later than the others stays behind them."""
    query = "SELECT count(*) FROM sqlite_master WHERE name = 'archive'"
    if connection.execute(query).fetchone() == (0,):
        return None
    found: tuple[int] | None = connection.execute(READ_POSITION).fetchone()
    connection.execute("DROP TABLE archive")
    return found


def _rewrite(connection: sqlite3.Connection) -> None:
    """The upgrade is done: what goes wrong now costs nothing but this."""
    try:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        if pages * size <= _REWRITTEN_BYTES:
            connection.execute("VACUUM")
    except sqlite3.Error as error:
        logger.warning("the store could not be rewritten after its upgrade (%s)", error)
