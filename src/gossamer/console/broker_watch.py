"""One broker as its admin API shows it, asked again and again, one question at a time.

A broker that does not answer keeps its last readings, and `trouble` says why they are old.
"""

import asyncio
import time
from concurrent.futures import Executor
from typing import Any, Final
from urllib.parse import quote

from gossamer.console.readings import MetricRates, Readings, read_metrics
from gossamer.console.settings import BrokerAddress
from gossamer.net.admin.client import AdminClient, AdminError

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

    def __init__(self, number: int, address: BrokerAddress, executor: Executor) -> None:
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
