"""What a store holds beside its first snapshot, read while clients are served.

Rows are read on the writer's thread, between batches, some hundreds at a time; the event loop makes
state of them in parts of a millisecond or two. Sessions that somebody waits for come first, then
retained messages, then the other sessions; at last messages that nothing refers to are deleted.

Until then the rows of old messages stay, whoever lets go of them (`Index.unread_before`): something
that has not been read may refer to them too. What is saved meanwhile has higher keys, so a row that
is met later and tells of the same is out of date. A process that is killed leaves nothing half
done: whatever it had not come to is there for the next one.
"""

import sqlite3
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final

from gossamer.session.journal import Unread
from gossamer.session.message import Message
from gossamer.session.records import QUEUED, StoredPiece
from gossamer.storage.damaged_rows import MOST_AT_START, all_rows, set_rows_aside, tell
from gossamer.storage.files import StoreDamaged, StoreError
from gossamer.storage.index import LaneIndex
from gossamer.storage.journal import CollectingJournal
from gossamer.storage.lane_reader import lane_rows, set_aside
from gossamer.storage.load import Loaded
from gossamer.storage.rows import Row, UnreadableRow, waiting_from
from gossamer.storage.schema import (
    DELIVERY,
    MESSAGE,
    OLD_MESSAGES,
    OLD_RETAINED,
    PLACES,
    RETAINED,
    Table,
    chunks,
    select_statement,
)
from gossamer.storage.writer import Writer

# Rows that are read at a time, and of which state is made at a time.
READ_ROWS: Final = 500
TAKE_ROWS: Final = 150
# Keys of messages likewise; one costs little.
READ_KEYS: Final = 4_000

# Columns of `delivery`.
_NUMBER: Final = 2
_MESSAGE: Final = 3
_STATE: Final = 9


class DeliveryKeys:
    """Where the deliveries of each session are. Of a delivery this is all that is held before
    somebody asks for it."""

    __slots__ = ("by_session", "last_numbers", "waiting")

    def __init__(self) -> None:
        self.by_session: dict[int, array[int]] = {}
        self.last_numbers: dict[int, int] = {}  # by session, too
        self.waiting: dict[int, int] = {}  # likewise: how many were not sent

    def add(self, row: Row) -> None:
        """A row with its key, its session, its number and its state; UnreadableRow if nobody can
        say whose it is."""
        if type(row[1]) is not int or type(row[2]) is not int:
            raise UnreadableRow(f"its session is {row[1]!r} and its number {row[2]!r}")
        key: int = row[0]
        session: int = row[1]
        number: int = row[2]
        keys = self.by_session.get(session)
        if keys is None:
            keys = self.by_session[session] = array("q")
            self.last_numbers[session] = 0
            self.waiting[session] = 0
        keys.append(key)
        if number > self.last_numbers[session]:
            self.last_numbers[session] = number
        if row[3] == QUEUED:
            self.waiting[session] += 1


class _Reading:
    """Rows that are read at one go, and made use of in parts."""

    def read(self, connection: sqlite3.Connection) -> None:
        """On the writer's thread."""

    def follow(self, unread: "UnreadRows") -> None:
        """On the event loop's thread, when it has been read: where the next begins."""

    def take(self, unread: "UnreadRows", piece: StoredPiece) -> bool:
        """There too: makes use of some; True if they were the last."""
        raise NotImplementedError

    def size(self) -> int:
        """How much of a turn `take` needs."""
        return TAKE_ROWS


class _QueueReading(_Reading):
    """The deliveries of one session."""

    def __init__(self, session: int, keys: Iterable[int], lane: LaneIndex | None) -> None:
        self._session = session
        self._keys = list(keys)
        # As the lane was when the store was opened: what is read of it does not change until then.
        self._lane = 0 if lane is None else lane.key
        self._taken = 0 if lane is None or not lane.is_inflight_kept else lane.inflight.taken
        self._lane_read = 0 if lane is None else lane.read
        self._deliveries: list[Row] = []
        self._messages: dict[int, Row] = {}
        self._retained: set[int] = set()  # of them, those that the store says are retained
        self._sent: list[Row] = []
        self._head: list[Row] = []
        self._at = 0

    def size(self) -> int:
        return 1 + len(self._keys)

    def read(self, connection: sqlite3.Connection) -> None:
        self._deliveries = _by_key(connection, DELIVERY, self._keys)
        needed = {row[_MESSAGE] for row in self._deliveries if row[_MESSAGE] is not None}
        for row in _by_key(connection, MESSAGE, sorted(needed)):
            self._messages[row[0]] = row
        self._retained = {row[0] for row in _by_key(connection, RETAINED, sorted(needed))}
        if not self._lane:
            return
        first = self._lane * PLACES
        if self._taken:
            self._sent = list(lane_rows(connection, first - 1, first + self._taken + 1, PLACES))
        queued = [row[_NUMBER] for row in self._deliveries if row[_STATE] == QUEUED]
        if queued:
            self._read_head(connection, first, max(queued))

    def _read_head(self, connection: sqlite3.Connection, first: int, last: int) -> None:
        """What comes before the delivery of that number, and the first that does not."""
        for row in lane_rows(connection, first + self._lane_read, first + PLACES, PLACES):
            self._head.append(row)
            try:
                if waiting_from(row).number > last:
                    return
            except (ValueError, TypeError):
                continue  # whether it is wanted, the next that can be read tells

    def take(self, unread: "UnreadRows", piece: StoredPiece) -> bool:
        loaded = unread.loaded
        at = self._at
        self._at += TAKE_ROWS
        deliveries = self._deliveries[at : at + TAKE_ROWS]
        if deliveries:
            keys = {row[_MESSAGE] for row in deliveries}
            messages = self._messages
            rows = [messages[key] for key in sorted(keys & messages.keys())]
            loaded.read_messages(rows, self._retained)
            loaded.read_deliveries(deliveries)
            return False
        at -= len(self._deliveries) + -len(self._deliveries) % TAKE_ROWS
        sent = self._sent[at : at + TAKE_ROWS]
        if sent:
            loaded.read_sent(sent)
            return False
        piece.sessions.append(loaded.finish_queue(self._session, self._waiting))
        return True

    def _waiting(self, first: int, last: int) -> list[Row]:
        return self._head


class _RetainedReading(_Reading):
    """Retained messages, in the order in which they were saved."""

    def __init__(self, after: int, before: int) -> None:
        self._bounds = (after, before, READ_ROWS)
        self._rows: list[Row] = []
        self._at = 0

    def read(self, connection: sqlite3.Connection) -> None:
        self._rows = all_rows(connection, OLD_RETAINED, self._bounds)

    def follow(self, unread: "UnreadRows") -> None:
        unread.after_retained = -1 if len(self._rows) < READ_ROWS else self._rows[-1][0]

    def take(self, unread: "UnreadRows", piece: StoredPiece) -> bool:
        rows = self._rows[self._at : self._at + TAKE_ROWS]
        self._at += TAKE_ROWS
        loaded = unread.loaded
        piece.retained = loaded.read_retained(rows)
        piece.damaged = loaded.lost_retained
        loaded.lost_retained = 0
        if self._at < len(self._rows):
            return False
        if len(self._rows) < READ_ROWS:
            unread.has_retained = False
        return True


class _KeyReading(_Reading):
    """Keys of messages: everything that can refer to one has been read."""

    def __init__(self, after: int, before: int) -> None:
        self._bounds = (after, before, READ_KEYS)
        self._rows: list[Row] = []

    def read(self, connection: sqlite3.Connection) -> None:
        self._rows = connection.execute(OLD_MESSAGES, self._bounds).fetchall()

    def follow(self, unread: "UnreadRows") -> None:
        unread.after_message = -1 if len(self._rows) < READ_KEYS else self._rows[-1][0]

    def take(self, unread: "UnreadRows", piece: StoredPiece) -> bool:
        index = unread.loaded.index
        index.unread_before = 0  # what loses its last reference from now on goes at once
        messages = index.messages
        gone = index.retained_gone
        unread.journal.messages_unreferred(
            [
                key
                for key, is_retained in self._rows
                if key not in messages
                and (not is_retained or key in gone)
                and key not in unread.kept_aside
            ]
        )
        return True


class UnreadRows(Unread):
    """Of one store, from when it was opened."""

    def __init__(
        self, loaded: Loaded, keys: DeliveryKeys, journal: CollectingJournal, path: Path
    ) -> None:
        super().__init__()
        self.loaded = loaded
        self.journal = journal
        self._path = path
        self._keys = keys
        self._before = loaded.index.unread_before
        for session, last_number in keys.last_numbers.items():
            loaded.expect(session, last_number, keys.waiting[session])
        loaded.expect_sent()
        self._sessions = loaded.expected()  # keys of those that have not been asked for, by name
        self._wanted: deque[str] = deque()
        # Up to which keys everything has been read; -1 if there is no more of it.
        self.after_retained = 0
        self.after_message = 0
        self._reading: list[_Reading] = []  # what the writer's thread reads now, together
        self._answers: deque[list[_Reading]] = deque()  # it puts here what it has read
        self._taking: deque[_Reading] = deque()
        self._has_failed = False
        self.kept_aside: set[int] = set()  # messages that must not go before they are set aside
        self._unusable = 0  # rows that were set aside, without those of lanes
        self._ask: Callable[[Callable[[], None]], None] | None = None
        self._connection: sqlite3.Connection | None = None
        self._was_read: Callable[[], None] | None = None
        self._failed: Callable[[StoreError], None] | None = None
        self.has_more = self._before > 1 or len(self._sessions) > 0
        self.has_retained = self.has_more

    def begin(
        self,
        connection: sqlite3.Connection,
        writer: Writer,
        was_read: Callable[[], None],
        failed: Callable[[StoreError], None],
    ) -> None:
        """As `SqliteStore.start`."""
        self._connection = connection
        self._ask = writer.ask
        self._was_read = was_read
        self._failed = failed
        self._read_next()

    def read_all(self, connection: sqlite3.Connection) -> list[str]:
        """All of it now, into the snapshot, and before anything else happens to the store; what is
        wrong with it."""
        loaded = self.loaded
        found: list[Message] = []
        self._read_next()
        while self._reading and not loaded.problems:
            for one in self._reading:
                one.read(connection)
            self._answers.append(self._reading)
            while self._answers or self._taking:
                piece = self.take()
                if piece is not None:
                    found += piece.retained
        loaded.snapshot.retained = found
        if loaded.damaged:
            set_aside(connection, loaded.damaged)
        return loaded.problems

    def want(self, client_id: str) -> None:
        self._wanted.append(client_id)

    def take(self) -> StoredPiece | None:
        if not self._taking:
            if not self._answers:
                return None
            self._taking.extend(self._answers.popleft())
            for reading in self._taking:
                reading.follow(self)
            self._read_next()  # meanwhile
        piece = StoredPiece()
        left = TAKE_ROWS
        while self._taking and left > 0:
            first = self._taking[0]
            left -= first.size()
            if first.take(self, piece):
                self._taking.popleft()
        self._see_to_findings()
        self.is_at_hand = not self._has_failed and (len(self._taking) + len(self._answers) > 0)
        if not self._taking and not self._reading and not self._has_failed:
            self.has_more = False
            self.loaded.index.unread_before = 0
            self.loaded.index.retained_gone = set()
        return piece

    def _see_to_findings(self) -> None:
        loaded = self.loaded
        self.journal.spilled_bytes -= loaded.damaged_bytes
        loaded.damaged_bytes = 0
        if loaded.damaged and self._ask is not None and self._connection is not None:
            self._ask(partial(set_aside, self._connection, loaded.damaged))
            loaded.damaged = []
        if loaded.problems and self._ask is not None:
            self._set_aside()

    def _set_aside(self) -> None:
        """Rows that cannot be used do not keep the broker from going on: what they held is lost
        already."""
        loaded = self.loaded
        self._unusable += len(loaded.unusable)
        if self._unusable > MOST_AT_START:
            if self._failed is not None and not self._has_failed:
                self._has_failed = True
                self._failed(StoreDamaged(self._path, loaded.problems))
            return
        assert self._ask is not None
        assert self._connection is not None
        tell(loaded.problems)
        self.kept_aside.update([row.message for row in loaded.unusable])
        self._ask(partial(set_rows_aside, self._connection, loaded.unusable))
        loaded.problems = []
        loaded.unusable = []

    def _read_next(self) -> None:
        self._reading = self._next()
        if self._reading and self._ask is not None and not self._has_failed:
            self._ask(self._read)

    def _read(self) -> None:
        """On the writer's thread."""
        assert self._connection is not None
        assert self._was_read is not None
        reading = self._reading
        for one in reading:
            one.read(self._connection)
        self._answers.append(reading)
        self._was_read()

    def _next(self) -> list[_Reading]:
        found: list[_Reading] = []
        left = READ_ROWS
        while self._wanted and left > 0:
            queue = self._queue(self._wanted.popleft())
            if queue is not None:
                left -= queue.size()
                found.append(queue)
        if found:
            return found
        if self.after_retained >= 0:
            return [_RetainedReading(self.after_retained, self._before)]
        while self._sessions and left > 0:
            queue = self._queue(next(iter(self._sessions)))
            if queue is not None:
                left -= queue.size()
                found.append(queue)
        if found or self.after_message < 0:
            return found
        return [_KeyReading(self.after_message, self._before)]

    def _queue(self, client_id: str) -> _QueueReading | None:
        """None if it has been asked for."""
        session = self._sessions.pop(client_id, None)
        if session is None:
            return None
        keys = self._keys.by_session.pop(session, None)
        lane = self.loaded.lane_of(session)
        return _QueueReading(session, [] if keys is None else keys, lane)


def _by_key(connection: sqlite3.Connection, table: Table, keys: list[int]) -> list[Row]:
    """The rows that have these keys, in order."""
    rows: list[Row] = []
    start = 0
    for size in chunks(len(keys)):
        statement = select_statement(table, size)
        rows += all_rows(connection, statement, tuple(keys[start : start + size]))
        start += size
    return rows
