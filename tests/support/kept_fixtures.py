"""The fixtures of earlier versions, and a broker of this one that is started on them.

`tests/support/fixtures` makes them. A test that takes `fixture` runs for those of every version.
"""

import json
from pathlib import Path
from typing import Any

from gossamer.broker.broker import Broker
from gossamer.storage.sqlite_store import SqliteStore
from tests.support.fixtures.packing import unpack
from tests.support.memory import MemoryClient, World
from tests.support.stores import CommitWaiter

FOLDER = Path(__file__).parent.parent / "fixtures"


class Fixture:
    """What one version wrote."""

    def __init__(self, folder: Path) -> None:
        self.version = folder.name
        self._folder = folder

    @property
    def commit(self) -> str:
        return str(self.table("manifest")["commit"])

    def table(self, part: str) -> dict[str, Any]:
        """What clients were promised."""
        loaded: dict[str, Any] = json.loads((self._folder / f"{part}.json").read_text())
        return loaded

    def unpack(self, part: str, folder: Path) -> Path:
        """A copy that the test may change."""
        return unpack(self._folder / f"{part}.tar.xz", folder)


FIXTURES = [Fixture(folder) for folder in sorted(FOLDER.iterdir()) if folder.is_dir()]


class StoredWorld(World):
    """A broker of this version in memory, on a store on disk, at the time that the test says."""

    def __init__(self, folder: Path, now: float) -> None:
        self._folder = folder
        self._open(now)

    def _open(self, now: float) -> None:
        # `off` lets answers out at once; what matters here is what is read, and that it stays.
        self.store = SqliteStore(self._folder, "off")
        super().__init__(self.store.journal)
        self.now = now
        self._commits = CommitWaiter()
        self.store.start(self._commits.committed, self._commits.failed)
        self.broker = Broker(self.settings, self.store.journal, now)
        self.broker.restore(self.store.snapshot, now)
        self.settle()

    def settle(self) -> None:
        """Timers that are due fire, and everything is written."""
        self.wait(0.0)
        self.broker.flush(self.now)
        if self.store.journal.dirty:
            batch = self.store.journal.batch
            self.store.end_turn()
            self._commits.wait(batch)
            self.broker.committed(batch, self.now)

    def restart(self) -> None:
        """Stopped and started again, on what this version has written itself."""
        self.close()
        self._open(self.now)

    def close(self) -> None:
        self.settle()
        self.store.close()

    def back(self, client_id: str, version: int, **more: object) -> MemoryClient:
        """A client that finds its session."""
        expiry = None if version == 4 else 0xFFFFFFFF
        client = self.client(client_id, version, clean=False, expiry=expiry, **more)
        assert client.connack.session_present, client_id
        return client
