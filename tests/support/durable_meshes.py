"""Brokers joined in memory, each with a real store on disk: what is promised is committed."""

import threading
from pathlib import Path

from gossamer.storage.sqlite_store import SqliteStore
from tests.support.meshes import Net, Node

PATIENCE = 30.0  # seconds for a commit that takes milliseconds on an idle machine


class DurableNet(Net):
    """`run` lets everything settle, with all that is promised on disk."""

    def __init__(self, folder: Path, mode: str = "ssf") -> None:
        super().__init__(mode)
        self._folder = folder
        self.stores: dict[str, SqliteStore] = {}

    def node(self, name: str, **options: object) -> Node:
        store = SqliteStore(self._folder / name, "normal")
        self.stores[name] = store
        return super().node(name, journal=store.journal, snapshot=store.snapshot, **options)

    def run(self) -> None:
        while True:
            super().run()
            dirty = [name for name, store in self.stores.items() if store.journal.dirty]
            if not dirty:
                return
            for name in dirty:
                self._commit(name)

    def crash(self, name: str, **options: object) -> Node:
        """It is gone with what was not committed, comes back, and finds its neighbours again."""
        links = [link for link in self.links if name in link]
        for near, far in links:
            self._break(near, far)
        del self.nodes[name]
        store = self.stores.pop(name)
        store.journal.take()
        store.close()
        node = self.node(name, **options)
        for near, far in links:
            self.join(near, far)
        return node

    def close(self) -> None:
        for store in self.stores.values():
            store.close()

    def _break(self, a: str, b: str) -> None:
        near, far = self.links.pop((a, b))
        kept = [item for item in self.queue if item[0] not in (near, far)]
        self.queue.clear()
        self.queue.extend(kept)
        near.other = far.other = None
        near.end.lost(self.nodes[a].now)  # type: ignore[attr-defined]
        far.end.lost(self.nodes[b].now)  # type: ignore[attr-defined]

    def _commit(self, name: str) -> None:
        store = self.stores[name]
        batch = store.journal.batch
        done = threading.Event()
        failures: list[Exception] = []

        def committed(number: int) -> None:
            if number >= batch:
                done.set()

        def failed(error: Exception) -> None:
            failures.append(error)
            done.set()

        store.start(committed, failed)
        store.end_turn()
        assert done.wait(PATIENCE)
        assert not failures
        node = self.nodes[name]
        node.broker.committed(batch, node.now)
