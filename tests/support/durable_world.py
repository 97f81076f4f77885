"""A broker in memory with a store in memory: commits and crashes happen when the test says so."""

from gossamer.broker.broker import Broker
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.wire.packets import V5
from tests.support.memory import MemoryClient, World


class DurableWorld(World):
    """Commits after every packet unless `commits` is False; `crash` loses what is not committed."""

    def __init__(self, **settings: object) -> None:
        self.journal = MemoryJournal()
        self.commits = True
        super().__init__(self.journal, **settings)

    def commit(self) -> None:
        if self.journal.dirty:
            self.broker.committed(self.journal.commit(), self.now)

    def crash(self, seconds_down: float = 0.0) -> None:
        """Every connection is gone; a new broker starts from what was committed."""
        self.now += seconds_down
        self.journal = self.journal.restarted()
        self.broker = Broker(self.settings, self.journal, self.now)
        self.broker.restore(self.journal.snapshot, self.now)
        self.after_turn()

    def after_turn(self) -> None:
        self.broker.flush(self.now)
        if self.commits:
            self.commit()

    def wait(self, seconds: float) -> None:
        super().wait(seconds)
        self.after_turn()

    def visitor(self, version: int = V5, address: str = "127.0.0.1") -> "DurableClient":
        return DurableClient(self, version, address)


class DurableClient(MemoryClient):
    def __init__(self, world: DurableWorld, version: int, address: str = "127.0.0.1") -> None:
        self.durable_world = world
        super().__init__(world, version, address)

    def send_bytes(self, data: bytes) -> None:
        super().send_bytes(data)
        self.durable_world.after_turn()

    def lose(self) -> None:
        super().lose()
        self.durable_world.after_turn()
