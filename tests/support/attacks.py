"""A broker with small budgets under attack: what it holds by its ledger, and by the allocator."""

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gossamer.broker.policy import Origin
from gossamer.broker.settings import Settings
from gossamer.wire.packets import V5
from tests.support.memory import MemoryClient, MemorySink, World

KIB = 1 << 10
MIB = 1 << 20


class Target(World):
    """A broker with a bystander, who is served before, during and after."""

    def __init__(
        self, budget: int = 2 * MIB, roomy: tuple[str, ...] = ("sessions",), **settings: Any
    ) -> None:
        """Every account has the same small budget, but for the roomy ones."""
        budgets = dict.fromkeys(Settings().budgets, budget)
        for name in roomy:
            budgets[name] = 64 * MIB
        super().__init__(budgets=budgets, **settings)
        self.budget = budget
        self.reader = self.client("bystander-reader", user="bystander")
        self.reader.subscribe("bystander/news", qos=1)
        self.writer = self.client("bystander-writer", user="bystander")

    @property
    def ledger(self) -> dict[str, int]:
        return {name: one.held for name, one in self.broker.core.ledger.accounts.items()}

    def serves_others(self) -> bool:
        self.writer.publish("bystander/news", "still here", qos=1)
        return self.reader.payloads() == ["still here"]

    def stranger(
        self, name: str, address: str = "192.0.2.1", version: int = V5, **options: Any
    ) -> MemoryClient:
        """A client from an address of its own choice, connected or refused."""
        client = MemoryClient(self, version)
        client.sink = MemorySink()
        client.connection = self.broker.open(client.sink, Origin(address, "test"), self.now)
        client.connect(name, **options)
        return client


class Growth:
    """Bytes that the allocator has given since the measurement began."""

    def __init__(self) -> None:
        self._before = 0

    def begin(self) -> None:
        gc.collect()
        self._before = tracemalloc.get_traced_memory()[0]

    @property
    def size(self) -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - self._before


@contextmanager
def growth() -> Iterator[Growth]:
    tracemalloc.start()
    try:
        measured = Growth()
        measured.begin()
        yield measured
    finally:
        tracemalloc.stop()
