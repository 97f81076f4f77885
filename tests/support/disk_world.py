"""A broker in memory on a real store: each packet is followed by the turns that the store needs."""

from pathlib import Path

from gossamer.broker.broker import Broker
from gossamer.storage.sqlite_store import Sync
from gossamer.wire.packets import V5
from tests.support.memory import MemoryClient, World
from tests.support.stores import TurnedStore


class DiskWorld(World):
    """`kill` goes on from what a killed process would have left."""

    def __init__(self, folder: Path, sync: Sync = "off", **settings: object) -> None:
        self._folder = folder
        self._lives = 0
        self.store = TurnedStore(folder / "0", sync)
        self._stores = [self.store]
        self.turns = True  # whether packets are followed by turns
        super().__init__(self.store.journal, **settings)
        self.broker.restore(self.store.store.snapshot, self.now)

    def kill(self) -> None:
        self.kill_again()
        self.settle()

    def kill_again(self) -> None:
        """As `kill`; what it goes on from has not been read yet."""
        self._lives += 1
        self.store = self.store.killed(self._folder / str(self._lives))
        self._stores.append(self.store)
        self.broker = Broker(self.settings, self.store.journal, self.now)
        self.broker.restore(self.store.store.snapshot, self.now)

    def settle(self) -> None:
        self.broker.flush(self.now)
        while self.store.turn(self.broker, self.now):
            pass

    def wait(self, seconds: float) -> None:
        super().wait(seconds)
        self.settle()

    def visitor(self, version: int = V5, address: str = "127.0.0.1") -> "DiskClient":
        return DiskClient(self, version, address)

    def close(self) -> None:
        for store in self._stores:
            store.close()


class DiskClient(MemoryClient):
    def __init__(self, world: DiskWorld, version: int, address: str) -> None:
        self.disk_world = world
        super().__init__(world, version, address)

    def send_bytes(self, data: bytes) -> None:
        super().send_bytes(data)
        if self.disk_world.turns:
            self.disk_world.settle()

    def lose(self) -> None:
        super().lose()
        self.disk_world.settle()
