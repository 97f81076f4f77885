"""A store in memory: the same journal over plain dictionaries instead of a file.

It is what a simulated broker keeps over a simulated crash: what was committed is found again, what
was only collected is lost.
"""

from collections import Counter

from gossamer.session.records import Snapshot
from gossamer.storage.batch import Batch
from gossamer.storage.collecting import CollectingJournal
from gossamer.storage.index import Index
from gossamer.storage.loading import Loaded, load, note_spills
from gossamer.storage.rows import Row
from gossamer.storage.schema import SPILL, TABLES, Table


class MemoryTables:
    """The committed rows of every table, by key."""

    def __init__(self) -> None:
        self.rows: dict[Table, dict[int, Row]] = {table: {} for table in (*TABLES, SPILL)}

    def apply(self, batch: Batch) -> None:
        for table, keys in batch.deletes():
            for key in keys:
                self.rows[table].pop(key, None)
        spilled = self.rows[SPILL]
        for key in [key for key, row in spilled.items() if row[1] in batch.dropped_spills]:
            del spilled[key]
        for table, rows in batch.puts():
            for row in rows:
                self.rows[table][row[0]] = row

    def load(self) -> Loaded:
        loaded = load({table: list(self.rows[table].values()) for table in TABLES})
        counts = Counter(row[1] for row in self.rows[SPILL].values())
        note_spills(loaded, counts.items(), max(self.rows[SPILL], default=0))
        return loaded


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

    def read_spill(self, session: int, after: int, limit: int) -> list[Row]:
        rows = [row for row in self.tables.rows[SPILL].values() if row[1] == session]
        return sorted(row for row in rows if row[0] > after)[:limit]

    def restarted(self) -> "MemoryJournal":
        """After a crash: a journal that starts from what was committed (its `snapshot`)."""
        return MemoryJournal(self.tables)
