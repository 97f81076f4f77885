"""A store in memory: the same journal over plain dictionaries instead of a file.

It is what a simulated broker keeps over a simulated crash: what was committed is found again, what
was only collected is lost.
"""

from gossamer.session.records import DeliveryRecord, Snapshot
from gossamer.storage.batch import Batch
from gossamer.storage.index import Index, LaneIndex
from gossamer.storage.journal import CollectingJournal
from gossamer.storage.load import Loaded, whole
from gossamer.storage.rows import Row, waiting_from
from gossamer.storage.schema import CREATED, PLACES, TABLES, WAITING, Table

# As many as a store on disk reads at once.
READ_MESSAGES = 1_000


class MemoryTables:
    """The committed rows of every table, by key."""

    def __init__(self) -> None:
        self.rows: dict[Table, dict[int, Row]] = {table: {} for table in CREATED}

    def apply(self, batch: Batch) -> None:
        for table, keys in batch.deletes():
            for key in keys:
                self.rows[table].pop(key, None)
        waiting = self.rows[WAITING]
        for first, last in batch.cuts():
            self._delete(waiting, first + 1, last)
        for lane in batch.waiting.ended:
            self._delete(waiting, lane * PLACES, (lane + 1) * PLACES - 1)
        for table, rows in batch.puts():
            for row in rows:
                self.rows[table][row[0]] = row

    def load(self) -> Loaded:
        waiting = self.rows[WAITING]

        def between(first: int, last: int) -> list[Row]:
            return [waiting[key] for key in sorted(waiting) if first <= key <= last]

        return whole({table: list(self.rows[table].values()) for table in TABLES}, between)

    def _delete(self, rows: dict[int, Row], first: int, last: int) -> None:
        for key in [key for key in rows if first <= key <= last]:
            del rows[key]


class MemoryJournal(CollectingJournal):
    """Collects, and commits when told to. `restarted` gives the journal of the next life."""

    def __init__(self, tables: MemoryTables | None = None) -> None:
        self.tables = tables if tables is not None else MemoryTables()
        loaded = self.tables.load() if tables is not None else None
        super().__init__(loaded.index if loaded is not None else Index())
        self.snapshot = loaded.snapshot if loaded is not None else Snapshot()

    def commit(self) -> int:
        """Make what was collected last; the number of the batch that is now safe."""
        batch = self.take()
        self.tables.apply(batch)
        return batch.number

    def read_lane(self, lane: LaneIndex) -> list[DeliveryRecord]:
        rows = self.tables.rows[WAITING]
        first = lane.key * PLACES + lane.read
        last = lane.key * PLACES + lane.next
        keys = sorted(key for key in rows if first < key < last)
        return [waiting_from(rows[key]) for key in keys[:READ_MESSAGES]]

    def read_names(self, lane: LaneIndex) -> list[bytes]:
        rows = self.tables.rows[WAITING]
        first = lane.key * PLACES + lane.read
        found = [waiting_from(rows[key]) for key in rows if first < key < (lane.key + 1) * PLACES]
        messages = [record.message for record in found if record.message is not None]
        return [message.name for message in messages if not message.retain]

    def restarted(self) -> "MemoryJournal":
        """After a crash: a journal that starts from what was committed (its `snapshot`)."""
        return MemoryJournal(self.tables)
