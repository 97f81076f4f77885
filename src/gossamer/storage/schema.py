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
    """One table: its name and its columns as SQL has them, of which the first is the key."""

    def __init__(self, name: str, columns: str) -> None:
        names = [column.split()[0] for column in columns.split(", ")]
        self.name = name
        self.key = names[0]
        self.names = ", ".join(names)
        self.select = f"SELECT {self.names} FROM {name}"
        self.create = f"CREATE TABLE {name} ({columns})"
        self.placeholders = "(" + ", ".join("?" * len(names)) + ")"  # of one row


# Of a message, wherever it is; `properties` is a JSON object or NULL.
_MESSAGE_COLUMNS: Final = (
    "topic TEXT, payload BLOB, qos INTEGER, retain INTEGER, properties TEXT, expires_at REAL, "
    "publisher TEXT, user TEXT"
)

# `will` is a message or NULL; `note` is empty since format 2, which has `kept`.
SESSION: Final = Table(
    "session",
    "id INTEGER PRIMARY KEY, client_id TEXT, user TEXT, expiry INTEGER, disconnected_at REAL, "
    "will INTEGER, will_delay INTEGER, will_due REAL, is_311 INTEGER, note TEXT, checksum INTEGER",
)
# `user` is a JSON list of pairs or NULL.
SUBSCRIPTION: Final = Table(
    "subscription",
    "id INTEGER PRIMARY KEY, session INTEGER, filter TEXT, qos INTEGER, no_local INTEGER, "
    "retain_as_published INTEGER, retain_handling INTEGER, identifier INTEGER, user TEXT, "
    "checksum INTEGER",
)
MESSAGE: Final = Table("message", f"id INTEGER PRIMARY KEY, {_MESSAGE_COLUMNS}, checksum INTEGER")
# `message` is NULL once released; `identifiers` are "1,2", or NULL for none; `share` is the shared
# subscription that it was drawn for, or NULL.
DELIVERY: Final = Table(
    "delivery",
    "id INTEGER PRIMARY KEY, session INTEGER, number INTEGER, message INTEGER, qos INTEGER, "
    "retain INTEGER, identifiers TEXT, share TEXT, packet_id INTEGER, state INTEGER",
)
INCOMING: Final = Table("incoming", "id INTEGER PRIMARY KEY, session INTEGER, packet_id INTEGER")
RETAINED: Final = Table("retained", "message INTEGER PRIMARY KEY")
# `state` is the key of an operator's state, `part` the name of one part of it.
OPERATOR: Final = Table(
    "operator", "id INTEGER PRIMARY KEY, state TEXT, part TEXT, data BLOB, checksum INTEGER"
)
# What rooms of the broker keep for themselves.
KEPT: Final = Table(
    "kept", "id INTEGER PRIMARY KEY, room TEXT, key TEXT, value BLOB, checksum INTEGER"
)

# A queue that is longer than memory should hold has a lane: its end is in `waiting`, each delivery
# with its whole message, and is read back a few at a time. A lane has keys of its own there, so
# that one session's messages lie together and leave from the front. It ends when it is empty; what
# is found without a lane was left by one that ended, and is deleted in time.
#
# `session` is 0 if it has ended and left messages of shared groups; `next` is the place of the
# delivery that comes next; `shared` says whether some are of shared groups.
LANE: Final = Table(
    "lane",
    "id INTEGER PRIMARY KEY, session INTEGER, next INTEGER, last_number INTEGER, "
    "messages INTEGER, bytes INTEGER, shared INTEGER, checksum INTEGER",
)
# The key is the lane and the place in it.
WAITING: Final = Table(
    "waiting",
    "id INTEGER PRIMARY KEY, session INTEGER, number INTEGER, delivery_qos INTEGER, "
    f"delivery_retain INTEGER, identifiers TEXT, share TEXT, {_MESSAGE_COLUMNS}, checksum INTEGER",
)
# What was sent from a lane stays in `waiting` until it is acknowledged. This says what that is, for
# lanes that have any (see `lane_inflight.py`): the lane, the last place that was sent, and
# "1:20,7:30" where from place 1 on packet identifiers are 20, 21, … and from place 7 on 30, 31, …
INFLIGHT: Final = Table(
    "flight", "id INTEGER PRIMARY KEY, taken INTEGER, runs TEXT, checksum INTEGER"
)
PLACES: Final = 1 << 32  # of one lane
READ_LANE: Final = f"{WAITING.select} WHERE id > ? AND id < ? ORDER BY id LIMIT ?"
CUT_LANE: Final = "DELETE FROM waiting WHERE id > ? AND id <= ?"
# Of a lane that has ended, a few at a time: the disk is needed for others too.
CLEAR_LANE: Final = (
    "DELETE FROM waiting WHERE id IN "
    "(SELECT id FROM waiting WHERE id >= ? AND id < ? ORDER BY id LIMIT ?)"
)
# Rows of `waiting` that could not be read back, and of `message` likewise, whose keys are lower;
# made when there is one, and read by nobody but people.
CREATE_DAMAGED: Final = f"CREATE TABLE IF NOT EXISTS damaged ({WAITING.names})"
SET_ASIDE: Final = (
    f"INSERT INTO damaged {WAITING.select} WHERE id = ? "
    "AND NOT EXISTS (SELECT 1 FROM damaged WHERE damaged.id = waiting.id)"
)
_MESSAGE_NAMES: Final = MESSAGE.names
SET_MESSAGE_ASIDE: Final = (
    f"INSERT INTO damaged ({_MESSAGE_NAMES}) {MESSAGE.select} WHERE id = ? "
    "AND NOT EXISTS (SELECT 1 FROM damaged WHERE damaged.id = message.id)"
)
COUNT_DAMAGED: Final = "SELECT count(*) FROM damaged"
FIRST_WAITING: Final = "SELECT MIN(id) FROM waiting WHERE id >= ?"

# What is read when the broker serves already (`unread.py`): above one key and below another.
OLD_RETAINED: Final = (
    f"SELECT retained.message, {', '.join(MESSAGE.names.split(', ')[1:])} FROM retained "
    "LEFT JOIN message ON message.id = retained.message "
    "WHERE retained.message > ? AND retained.message < ? ORDER BY retained.message LIMIT ?"
)
OLD_MESSAGES: Final = (
    "SELECT id, EXISTS (SELECT 1 FROM retained WHERE retained.message = id) FROM message "
    "WHERE id > ? AND id < ? ORDER BY id LIMIT ?"
)
# And what stands for it before: which deliveries a session has, and the wills of all sessions.
DELIVERY_KEYS: Final = "SELECT id, session, number, state FROM delivery"
WILLS: Final = f"{MESSAGE.select} WHERE id IN (SELECT will FROM session WHERE will IS NOT NULL)"

# What took the place of lanes before format 3, for neighbours only. What is left in it since is
# unreadable.
SPILL: Final = Table(
    "spill",
    "id INTEGER PRIMARY KEY, session INTEGER, delivery_qos INTEGER, delivery_retain INTEGER, "
    f"{_MESSAGE_COLUMNS}, checksum INTEGER",
)
# The next offset of whoever shares the store's transactions, as of the last one that it shares.
CREATE_POSITION: Final = (
    "CREATE TABLE IF NOT EXISTS archive (id INTEGER PRIMARY KEY, position INTEGER)"
)
READ_POSITION: Final = "SELECT position FROM archive"
PUT_POSITION: Final = "REPLACE INTO archive VALUES (1, ?)"

# In the order of creation, which `salvage.py` relies on: new ones come last. What is referred to
# comes before what refers to it.
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
    INFLIGHT,
)
# What is read at the start; of what waits, only what is inflight is.
TABLES: Final = tuple([table for table in CREATED if table is not WAITING])


def creation() -> list[str]:
    """The statements that make an empty file a store."""
    return [
        *[table.create for table in CREATED],
        f"PRAGMA application_id = {APPLICATION}",
        f"PRAGMA user_version = {FORMAT}",
    ]


@cache
def put_statement(table: Table, rows: int) -> str:
    """Insert or replace that many rows."""
    return f"REPLACE INTO {table.name} VALUES " + ", ".join([table.placeholders] * rows)


@cache
def select_statement(table: Table, rows: int) -> str:
    """The rows of that many keys, in order."""
    keys = ", ".join("?" * rows)
    return f"{table.select} WHERE {table.key} IN ({keys}) ORDER BY {table.key}"


@cache
def last_key_statement(table: Table) -> str:
    return f"SELECT max({table.key}) FROM {table.name}"


@cache
def delete_statement(table: Table, rows: int) -> str:
    return f"DELETE FROM {table.name} WHERE {table.key} IN ({', '.join('?' * rows)})"


def chunks(total: int) -> list[int]:
    """`total` as sizes of statements: powers of two, so that few different statements exist."""
    sizes = [MOST_ROWS] * (total // MOST_ROWS)
    rest = total % MOST_ROWS
    while rest:
        size = 1 << (rest.bit_length() - 1)
        sizes.append(size)
        rest -= size
    return sizes
