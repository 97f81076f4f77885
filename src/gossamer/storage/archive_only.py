"""The archive of a broker that keeps nothing else: acknowledgements wait for it alone."""

import logging
from collections.abc import Callable

from gossamer.archive.archive import Archive
from gossamer.archive.collector import Collector
from gossamer.archive.settings import ArchiveSettings
from gossamer.session.journal import Journal
from gossamer.storage.batch import Batch
from gossamer.storage.errors import StoreError
from gossamer.storage.index import Index
from gossamer.storage.journal import first_batch
from gossamer.storage.writer import Writer

logger = logging.getLogger("gossamer.archive")


class ArchiveJournal(Journal):
    """Collects rows for the archive and nothing else."""

    def __init__(self, is_durable: bool) -> None:
        super().__init__()
        self.durable = is_durable
        self.collector = Collector()
        self._batch = first_batch(Index(), self.batch)

    def take(self) -> Batch:
        taken = self._batch
        taken.blocks = self.collector.take()
        self._batch = taken.successor()
        self.batch = self._batch.number
        self.dirty = False
        return taken


class ArchiveTarget:
    """Batches that hold nothing but blocks."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def write(self, batch: Batch) -> None:
        with self._archive.transaction(batch.blocks, is_joint=False):
            pass

    def tidy(self) -> bool:
        return False


class ArchiveOnlyStore:
    """In the place of a store; see `SqliteStore` for what its methods promise."""

    def __init__(self, settings: ArchiveSettings, is_durable: bool = True) -> None:
        self.journal = ArchiveJournal(is_durable)
        self.archive = Archive(settings, self.journal.collector)
        self._committed: Callable[[int], None] = lambda batch: None
        self._failed: Callable[[StoreError], None] = lambda error: None
        self._writer = Writer(
            ArchiveTarget(self.archive),
            lambda batch: self._committed(batch),
            self._room,
            lambda error: self._failed(StoreError(f"the archive cannot be written: {error}")),
            self.journal.written,
        )

    def start(
        self,
        committed: Callable[[int], None],
        failed: Callable[[StoreError], None],
        was_read: Callable[[], None] = lambda: None,
    ) -> None:
        self._committed = committed
        self._failed = failed

    def end_turn(self) -> None:
        if self.journal.dirty and self._writer.takes:
            self._writer.hand_over(self.journal.take())

    def close(self) -> None:
        if self.journal.dirty:
            self._writer.hand_over(self.journal.take())
        if not self._writer.stop():
            logger.error("the last rows could not be written to %s", self.archive.settings.logs)
        self.archive.close()

    def _room(self, there_is: bool) -> None:
        self.journal.accepts = there_is
