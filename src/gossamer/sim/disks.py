"""A store that takes its time and survives its broker."""

from random import Random

from gossamer.session.records import Snapshot
from gossamer.sim.host import Disk
from gossamer.storage.batch import Batch
from gossamer.storage.memory_journal import MemoryJournal


class SlowDisk(Disk):
    """Writes one batch at a time; a power cut finds the one being written done or not at all."""

    def __init__(self, random: Random, most_seconds: float) -> None:
        self.memory = MemoryJournal()
        self.journal = self.memory
        self._random = random
        self._most_seconds = most_seconds
        self._writing: Batch | None = None

    def snapshot(self) -> Snapshot:
        return self.memory.snapshot

    def is_writing(self) -> bool:
        return self._writing is not None

    def begin(self) -> float:
        self._writing = self.memory.take()
        return self._random.uniform(0.0, self._most_seconds)

    def finish(self) -> int:
        batch = self._writing
        assert batch is not None
        self._writing = None
        self.memory.tables.apply(batch)
        return batch.number

    def lose_power(self) -> None:
        """What is on the platter stays; the next broker starts from there."""
        if self._writing is not None and self._random.random() < 0.5:
            self.memory.tables.apply(self._writing)
        self._writing = None
        self.memory = self.memory.restarted()
        self.journal = self.memory
