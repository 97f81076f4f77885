"""The tables of a store, as data, and the SQL that follows from it.

Every table is keyed by one integer that only grows, and has no other index: new rows go to the end
of the tree, old ones leave from its front, and a damaged file can be read by key ranges. What has
to be found by name is found in memory (`index`). Statements carry many rows each, because every
statement hands the interpreter's lock to the event loop and has to win it back.
"""

from functools import cache
from typing import Final

# PRAGMA user_version; raised when an older gossamer could not read the file. `upgrade.py` has
# the step from each format to the next.
FORMAT: Final = 4
APPLICATION: Final = 0x474F5353  # PRAGMA application_id: "GOSS"

# Rows per statement: large enough that locking and parsing vanish, small enough for SQLite's
# default limit of 32,766 variables at ten columns.
MOST_ROWS: Final = 256


class Table:
    """One table: its name and its columns, of which the first is the key."""

    def __init__(self, name: str, columns: tuple[tuple[str, str], ...]) -> None:
        self.name = name
        self.columns = columns
        self.key = columns[0][0]
        self.names = ", ".join(column for column, _ in columns)
        self.select = f"SELECT {self.names} FROM {name}"

    def create(self) -> str:
        rest = "".join(f", {column} {kind}" for column, kind in self.columns[1:])
        return f"CREATE TABLE {self.name} ({self.key} INTEGER PRIMARY KEY{rest})"

    def put(self, rows: int) -> str:
        """Insert or replace that many rows."""
        row = "(" + ", ".join("?" * len(self.columns)) + ")"
        return f"REPLACE INTO {self.name} VALUES " + ", ".join([row] * rows)

    def delete(self, rows: int) -> str:
        return f"DELETE FROM {self.name} WHERE {self.key} IN ({', '.join('?' * rows)})"


SESSION: Final = Table(
    "session",
    (
        ("id", "INTEGER"),
        ("client_id", "TEXT"),
        ("user", "TEXT"),
        ("expiry", "INTEGER"),
        ("disconnected_at", "REAL"),
        ("will", "INTEGER"),  # a message, or NULL
        ("will_delay", "INTEGER"),
        ("will_due", "REAL"),
        ("is_311", "INTEGER"),
        ("note", "TEXT"),  # empty since format 2, which has `kept`
        ("checksum", "INTEGER"),
    ),
)
SUBSCRIPTION: Final = Table(
    "subscription",
    (
        ("id", "INTEGER"),
        ("session", "INTEGER"),
        ("filter", "TEXT"),
        ("qos", "INTEGER"),
        ("no_local", "INTEGER"),
        ("retain_as_published", "INTEGER"),
        ("retain_handling", "INTEGER"),
        ("identifier", "INTEGER"),
        ("user", "TEXT"),  # JSON list of pairs, or NULL
        ("checksum", "INTEGER"),
    ),
)
MESSAGE: Final = Table(
    "message",
    (
        ("id", "INTEGER"),
        ("topic", "TEXT"),
        ("payload", "BLOB"),
        ("qos", "INTEGER"),
        ("retain", "INTEGER"),
        ("properties", "TEXT"),  # JSON object, or NULL
        ("expires_at", "REAL"),
        ("publisher", "TEXT"),
        ("user", "TEXT"),
        ("checksum", "INTEGER"),
    ),
)
DELIVERY: Final = Table(
    "delivery",
    (
        ("id", "INTEGER"),
        ("session", "INTEGER"),
        ("number", "INTEGER"),
        ("message", "INTEGER"),  # NULL once released
        ("qos", "INTEGER"),
        ("retain", "INTEGER"),
        ("identifiers", "TEXT"),  # "1,2", or NULL for none
        ("share", "TEXT"),  # the shared subscription it was drawn for, or NULL
        ("packet_id", "INTEGER"),
        ("state", "INTEGER"),
    ),
)
INCOMING: Final = Table(
    "incoming",
    (("id", "INTEGER"), ("session", "INTEGER"), ("packet_id", "INTEGER")),
)
RETAINED: Final = Table("retained", (("message", "INTEGER"),))
OPERATOR: Final = Table(
    "operator",
    (
        ("id", "INTEGER"),
        ("state", "TEXT"),  # the key of an operator's state
        ("part", "TEXT"),  # the name of one part of it
        ("data", "BLOB"),
        ("checksum", "INTEGER"),
    ),
)
# What rooms of the broker keep for themselves.
KEPT: Final = Table(
    "kept",
    (
        ("id", "INTEGER"),
        ("room", "TEXT"),
        ("key", "TEXT"),
        ("value", "BLOB"),
        ("checksum", "INTEGER"),
    ),
)

# A queue that is longer than memory should hold has a lane: its end is in `waiting`, each delivery
# with its whole message, and is read back a few at a time. A lane has keys of its own there, so
# that one session's messages lie together and leave from the front. It ends when it is empty; what
# is found without a lane was left by one that ended, and is deleted in time.
LANE: Final = Table(
    "lane",
    (
        ("id", "INTEGER"),
        ("session", "INTEGER"),  # 0 if it has ended and left messages of shared groups
        ("next", "INTEGER"),  # the place of the delivery that comes next
        ("last_number", "INTEGER"),  # of its deliveries
        ("messages", "INTEGER"),
        ("bytes", "INTEGER"),
        ("shared", "INTEGER"),  # whether some are of shared groups
        ("checksum", "INTEGER"),
    ),
)
WAITING: Final = Table(
    "waiting",
    (
        ("id", "INTEGER"),  # the lane, and the place in it
        ("session", "INTEGER"),
        ("number", "INTEGER"),
        ("delivery_qos", "INTEGER"),
        ("delivery_retain", "INTEGER"),
        ("identifiers", "TEXT"),
        ("share", "TEXT"),
        ("topic", "TEXT"),
        ("payload", "BLOB"),
        ("qos", "INTEGER"),
        ("retain", "INTEGER"),
        ("properties", "TEXT"),
        ("expires_at", "REAL"),
        ("publisher", "TEXT"),
        ("user", "TEXT"),
        ("checksum", "INTEGER"),
    ),
)
# What was sent from a lane stays in `waiting` until it is acknowledged. This says what that is, for
# lanes that have any: see `lane_flight.py`.
FLIGHT: Final = Table(
    "flight",
    (
        ("id", "INTEGER"),  # the lane
        ("taken", "INTEGER"),  # the last place that was sent
        ("runs", "TEXT"),  # "1:20,7:30": from place 1 packet identifiers 20, 21, …
        ("checksum", "INTEGER"),
    ),
)
PLACES: Final = 1 << 32  # of one lane
READ_LANE: Final = f"{WAITING.select} WHERE id > ? AND id < ? ORDER BY id LIMIT ?"
CUT_LANE: Final = "DELETE FROM waiting WHERE id > ? AND id <= ?"
# Of a lane that has ended, a few at a time: the disk is needed for others too.
CLEAR_LANE: Final = (
    "DELETE FROM waiting WHERE id IN "
    "(SELECT id FROM waiting WHERE id >= ? AND id < ? ORDER BY id LIMIT ?)"
)
# Rows of `waiting` that could not be read back; made when there is one, and read by nobody but
# people.
CREATE_DAMAGED: Final = f"CREATE TABLE IF NOT EXISTS damaged ({WAITING.names})"
SET_ASIDE: Final = (
    f"INSERT INTO damaged {WAITING.select} WHERE id = ? "
    "AND NOT EXISTS (SELECT 1 FROM damaged WHERE damaged.id = waiting.id)"
)
COUNT_DAMAGED: Final = "SELECT count(*) FROM damaged"
FIRST_WAITING: Final = "SELECT MIN(id) FROM waiting WHERE id >= ?"

# What took the place of lanes before format 3, for neighbours only. What is left in it since is
# unreadable.
SPILL: Final = Table(
    "spill",
    (
        ("id", "INTEGER"),
        ("session", "INTEGER"),
        ("delivery_qos", "INTEGER"),
        ("delivery_retain", "INTEGER"),
        ("topic", "TEXT"),
        ("payload", "BLOB"),
        ("qos", "INTEGER"),
        ("retain", "INTEGER"),
        ("properties", "TEXT"),
        ("expires_at", "REAL"),
        ("publisher", "TEXT"),
        ("user", "TEXT"),
        ("checksum", "INTEGER"),
    ),
)
# The archive's next offset as of the last transaction that it shares with the store.
CREATE_POSITION: Final = (
    "CREATE TABLE IF NOT EXISTS archive (id INTEGER PRIMARY KEY, position INTEGER)"
)
READ_POSITION: Final = "SELECT position FROM archive"
PUT_POSITION: Final = "REPLACE INTO archive VALUES (1, ?)"

# What is read at the start, in this order: what is referred to comes before what refers to it.
TABLES: Final = (
    MESSAGE,
    SESSION,
    SUBSCRIPTION,
    DELIVERY,
    INCOMING,
    RETAINED,
    OPERATOR,
    KEPT,
    LANE,
    FLIGHT,
    SPILL,
)
# In the order of creation, which `first_page.py` relies on: new ones come last.
CREATED: Final = (
    MESSAGE,
    SESSION,
    SUBSCRIPTION,
    DELIVERY,
    INCOMING,
    RETAINED,
    OPERATOR,
    SPILL,
    KEPT,
    LANE,
    WAITING,
    FLIGHT,
)


def creation() -> list[str]:
    """The statements that make an empty file a store."""
    return [
        *[table.create() for table in CREATED],
        f"PRAGMA application_id = {APPLICATION}",
        f"PRAGMA user_version = {FORMAT}",
    ]


@cache
def put_statement(table: Table, rows: int) -> str:
    return table.put(rows)


@cache
def delete_statement(table: Table, rows: int) -> str:
    return table.delete(rows)


def chunks(total: int) -> list[int]:
    """`total` as sizes of statements: powers of two, so that few different statements exist."""
    sizes = [MOST_ROWS] * (total // MOST_ROWS)
    rest = total % MOST_ROWS
    while rest:
        size = 1 << (rest.bit_length() - 1)
        sizes.append(size)
        rest -= size
    return sizes
