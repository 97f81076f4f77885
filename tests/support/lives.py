"""A broker in memory that can crash, and come back with what was committed."""

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.storage.memory_journal import MemoryJournal
from tests.support.memory import World


class Life:
    def __init__(self, journal: MemoryJournal, now: float) -> None:
        settings = Settings()
        settings.sys_interval = 0.0
        self.journal = journal
        journal.durable = False  # answers need not wait; what is lost is what was not committed
        self.world = World(journal)
        self.world.now = now
        self.world.broker = Broker(settings, journal, now)
        self.world.broker.restore(journal.snapshot, now)

    def commit(self) -> None:
        self.world.broker.committed(self.journal.commit(), self.world.now)

    def next(self, seconds: float) -> "Life":
        return Life(self.journal.restarted(), self.world.now + seconds)
