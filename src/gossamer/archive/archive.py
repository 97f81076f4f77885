"""The archive of one broker: the writer's transactions, the readers' view, and its upkeep.

A transaction writes its blocks to the log, synchronises them, has the store commit, and only then
lets readers see them. If the store cannot commit, the log is cut back: both have the transaction or
neither has. Offsets are given here, one after the other, and never again.
"""

import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from gossamer.archive.catalog import Catalog
from gossamer.archive.collector import Block, Collector
from gossamer.archive.errors import ArchiveFull
from gossamer.archive.log import LogFile, create_log
from gossamer.archive.open_catalog import lock, now_micros, open_catalog
from gossamer.archive.reader import Reader
from gossamer.archive.sealed_segment import open_folder
from gossamer.archive.settings import ArchiveSettings

logger = logging.getLogger("gossamer.archive")

MICROSECONDS: Final = 1_000_000
# A disk that was full is tried again after this long, where rows are dropped meanwhile.
RETRY_SECONDS: Final = 5.0


class Archive:
    """Opened for one process alone. `committed` is the store's word, see `recovery`."""

    def __init__(
        self, settings: ArchiveSettings, collector: Collector, committed: int | None = None
    ) -> None:
        self.settings = settings
        self.collector = collector
        collector.is_required = settings.on_full == "refuse"
        self._lock = lock(settings.logs)
        try:
            self.files, self.sealed_folder = open_folder(settings.sealed)
            self.catalog: Catalog = open_catalog(
                settings, self.files, self.sealed_folder, committed
            )
        except BaseException:
            os.close(self._lock)
            raise
        self.reader = Reader(self.catalog, settings.broker)
        self._writing = threading.Lock()
        self._grown = threading.Condition()
        self._dropped_at = 0.0  # when the disk took nothing; 0 while it takes everything

    @property
    def next(self) -> int:
        return self.catalog.next

    @contextmanager
    def transaction(self, blocks: Sequence[Block], *, is_joint: bool) -> Iterator[int]:
        """Appends; the body commits the rest of the transaction, with the next offset to remember.

        ArchiveFull if the disk takes nothing and nothing may be left out.
        """
        with self._writing:
            if blocks:
                self._append(blocks, is_joint=is_joint)
            log = self.catalog.current
            try:
                yield log.next
            except BaseException:
                log.undo()
                raise
            log.commit()
        with self._grown:
            self._grown.notify_all()

    def wait(self, beyond: int, seconds: float) -> bool:
        """Waits until there are rows from offset `beyond` on; whether there are."""
        with self._grown:
            return self._grown.wait_for(lambda: self.next > beyond, seconds)

    def tick(self) -> None:
        """Lets a disk that was full be tried again. On the core's thread."""
        if self._dropped_at and time.monotonic() - self._dropped_at > RETRY_SECONDS:
            self.collector.accepts = True

    def roll(self, *, is_forced: bool = False) -> None:
        """Begins another log if the current one is old enough."""
        with self._writing:
            log = self.catalog.current
            age = (now_micros() - log.created) / MICROSECONDS
            # A log from the future began before the clock was set back: nobody knows how old it is.
            is_old = self.settings.segment_seconds > 0 and not (
                0 <= age < self.settings.segment_seconds
            )
            if log.next > log.first and (is_old or is_forced):
                self._begin_log(log)

    def close(self) -> None:
        with self._writing:
            self.catalog.current.close()
            os.close(self._lock)

    def _append(self, blocks: Sequence[Block], *, is_joint: bool) -> None:
        log = self.catalog.current
        try:
            if log.position >= self.settings.segment_bytes and log.next > log.first:
                log = self._begin_log(log)
            log.append(blocks, is_joint=is_joint)
            if self.settings.syncs:
                log.sync()
        except OSError as error:
            log.undo()
            self._cannot_write(blocks, error)
        else:
            self._can_write()

    def _begin_log(self, before: LogFile) -> LogFile:
        log = create_log(
            self.settings.logs, self.settings.broker, before.next, now_micros(), before.next
        )
        before.close()
        self.catalog.add(log)
        return log

    def _cannot_write(self, blocks: Sequence[Block], error: OSError) -> None:
        collector = self.collector
        collector.accepts = False
        where = self.settings.logs
        if self.settings.on_full == "refuse":
            raise ArchiveFull(f"the archive {where} cannot be written: {error}") from error
        rows = sum(len(block.payloads) for block in blocks)
        collector.unwritten += rows
        logger.error(
            "the archive %s cannot be written (%s): %d messages are not archived, nor are those "
            "that come before it can",
            where,
            error,
            rows,
        )
        self._dropped_at = time.monotonic()

    def _can_write(self) -> None:
        if self._dropped_at or not self.collector.accepts:
            logger.warning(
                "the archive %s can be written again; %d messages are missing from it so far",
                self.settings.logs,
                self.collector.missing(),
            )
        self._dropped_at = 0.0
        self.collector.accepts = True
