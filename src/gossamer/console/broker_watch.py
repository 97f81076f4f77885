"""One broker as its admin API shows it, asked again and again, one question at a time.

A broker that does not answer keeps its last readings, and `trouble` says why they are old.
"""

import asyncio
import time
from collections import deque
from concurrent.futures import Executor
from typing import Any, Final
from urllib.parse import quote

from prometheus_client.parser import text_string_to_metric_families

from gossamer.console.settings import WatchedBroker
from gossamer.net.admin.client import AdminClient, AdminError

PREFIX: Final = "gossamer_"
HISTORY: Final = 240  # points of a chart

Readings = dict[str, float]


def read_metrics(text: str) -> Readings:
    """By name without the prefix; a metric with labels is its sum over them."""
    found: Readings = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith(PREFIX) and not sample.name.endswith("_created"):
                name = sample.name.removeprefix(PREFIX)
                found[name] = found.get(name, 0.0) + sample.value
    return found


class MetricRates:
    """How fast the counters of one broker grew, at each reading, for the last few minutes."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.history: dict[str, deque[float]] = {name: deque(maxlen=HISTORY) for name in names}
        self.times: deque[float] = deque(maxlen=HISTORY)
        self._before: Readings = {}
        self._at = 0.0

    def add(self, readings: Readings, now: float) -> None:
        """A counter that fell (the broker was started again) counts from zero."""
        elapsed = now - self._at
        if self._before and elapsed > 0.0:
            self.times.append(now)
            for name, history in self.history.items():
                value, before = readings.get(name, 0.0), self._before.get(name, 0.0)
                history.append((value - before if value >= before else value) / elapsed)
        self._before = readings
        self._at = now

    def latest(self, name: str) -> float:
        history = self.history[name]
        return history[-1] if history else 0.0


RATES: Final = (
    "messages_received_total",
    "messages_sent_total",
    "bytes_received_total",
    "bytes_sent_total",
)
# What a broker keeps behind: messages that wait for a neighbour or for its acknowledgement.
LAG: Final = ("link_queued", "link_inflight")
LOST: Final = (
    "dropped_queue_full_total",
    "dropped_slow_subscriber_total",
    "dropped_too_large_total",
    "messages_expired_total",
)
PAGE_ENTRIES: Final = 1000


class BrokerWatch:
    """Asks in a worker thread; what it learned is read from the event loop's thread."""

    def __init__(self, number: int, address: WatchedBroker, executor: Executor) -> None:
        self.address = address
        self.name = f"broker {number}"
        self.readings: Readings = {}
        self.rates = MetricRates(RATES)
        self.version = ""
        self.uptime = 0.0
        self.answer_seconds = 0.0
        self.mesh: dict[str, Any] | None = None
        self.trouble = "not contacted yet"
        self._admin = AdminClient(address.admin_host, address.admin_port, address.token)
        self._executor = executor

    @property
    def is_up(self) -> bool:
        return not self.trouble

    @property
    def lag(self) -> float:
        return sum(self.readings.get(name, 0.0) for name in LAG)

    @property
    def lost(self) -> float:
        return sum(self.readings.get(name, 0.0) for name in LOST)

    async def ask(self, method: str, path: str, query: dict[str, Any] | None = None) -> Any:
        """One request; AdminError if it is not answered as it should."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._admin.call, method, path, query)

    async def disconnect(self, client_id: str, discard: bool = False) -> None:
        query = {"discard": "true"} if discard else None
        await self.ask("DELETE", f"/v1/sessions/{quote(client_id, safe='')}", query)

    async def cut(self, neighbour: str) -> None:
        """Takes down the link that this broker dials to the neighbour."""
        await self.ask("POST", f"/v1/mesh/{quote(neighbour, safe='')}/cut")

    async def heal(self, neighbour: str) -> None:
        await self.ask("POST", f"/v1/mesh/{quote(neighbour, safe='')}/heal")

    async def look(self) -> None:
        """Everything that is shown all the time."""
        began = time.monotonic()
        loop = asyncio.get_running_loop()
        try:
            health, text, mesh = await loop.run_in_executor(self._executor, self._read)
        except AdminError as error:
            self.trouble = str(error) or "no response"
            return
        self.answer_seconds = time.monotonic() - began
        self.trouble = ""
        self.version, self.uptime = health["version"], health["uptime"]
        self.readings = read_metrics(text)
        self.rates.add(self.readings, time.monotonic())
        self.mesh = mesh
        if mesh is not None:
            self.name = mesh["name"]

    def _read(self) -> tuple[dict[str, Any], str, dict[str, Any] | None]:
        health = self._admin.call("GET", "/health")
        text = self._admin.text("/metrics")
        return health, text, self._admin.found("/v1/mesh", {"limit": PAGE_ENTRIES})
