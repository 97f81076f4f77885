"""Seven brokers that run, clients on them, and the traffic on all links together."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from gossamer.net.client import Client
from gossamer.net.local.mesh import LinkState, LocalMesh, LocalMeshPlan
from gossamer_lab.experiments.testbed.workload import BROKERS

SETTLE_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.1
# Publications that a client keeps under way.
WINDOW: Final = 50


class TestbedError(Exception):
    """The brokers did not do what was asked of them."""

    __test__ = False  # despite its name, for pytest


@dataclass(frozen=True)
class BedTraffic:
    """Totals over all links and both directions."""

    messages: int
    bytes: int
    control_messages: int
    control_bytes: int

    def is_like(self, other: "BedTraffic") -> bool:
        """But for bytes: a link that is silent says so now and then."""
        return (self.messages, self.control_messages) == (other.messages, other.control_messages)

    def __sub__(self, earlier: "BedTraffic") -> "BedTraffic":
        return BedTraffic(
            self.messages - earlier.messages,
            self.bytes - earlier.bytes,
            self.control_messages - earlier.control_messages,
            self.control_bytes - earlier.control_bytes,
        )


def total(links: Sequence[LinkState]) -> BedTraffic:
    fields = ("messages_sent", "bytes_sent", "control_messages_sent", "control_bytes_sent")
    return BedTraffic(*(sum(link.sum(field) for link in links) for field in fields))


class Bed:
    """One mesh of seven, and a client at each broker that is asked for."""

    def __init__(self, mesh: LocalMesh) -> None:
        self.mesh = mesh
        self._clients: dict[tuple[int, str], Client] = {}

    async def client(self, broker: int, name: str) -> Client:
        """The client of that name at that broker (from 0), connected."""
        client = self._clients.get((broker, name))
        if client is None:
            port = self.mesh.brokers[broker].port
            client = Client(f"mqtt://127.0.0.1:{port}", f"{name}-{broker}")
            await client.connect()
            self._clients[broker, name] = client
        return client

    async def subscribe(self, broker: int, filters: Sequence[str]) -> None:
        """One after the other, as many clients would."""
        client = await self.client(broker, "subscriber")
        for filter in filters:
            await client.subscribe(filter, qos=1)

    async def unsubscribe(self, broker: int, filters: Sequence[str]) -> None:
        await (await self.client(broker, "subscriber")).unsubscribe(*filters)

    async def publish(self, broker: int, names: Sequence[str], payload: bytes) -> None:
        client = await self.client(broker, "publisher")
        for start in range(0, len(names), WINDOW):
            portion = names[start : start + WINDOW]
            await asyncio.gather(*(client.publish(name, payload, qos=1) for name in portion))

    async def traffic(self) -> BedTraffic:
        return total(await asyncio.to_thread(self.mesh.links))

    async def settled(self, *, messages: int | None = None, told: int | None = None) -> BedTraffic:
        """Waits until the links have carried so many publications in all, each link has been told
        so many interests, nothing is under way, and the totals stand still."""
        deadline = time.monotonic() + SETTLE_SECONDS
        before: BedTraffic | None = None
        while time.monotonic() < deadline:
            links = await asyncio.to_thread(self.mesh.links)
            now = total(links)
            is_done = (
                (messages is None or now.messages == messages)
                and all(told is None or link.sum("interests_told") == told for link in links)
                and not any(link.sum("inflight") + link.sum("queued") for link in links)
            )
            if is_done and before is not None and now.is_like(before):
                return now
            before = now
            await asyncio.sleep(POLL_SECONDS)
        raise TestbedError("the brokers did not come to rest in time")

    async def close(self) -> None:
        for client in self._clients.values():
            await client.disconnect()


@asynccontextmanager
async def running_bed(topology: str, mode: str) -> AsyncIterator[Bed]:
    with TemporaryDirectory(prefix="gossamer-testbed-") as folder:
        # As the paper's brokers: what clients and the tree would need on top is not counted.
        plan = LocalMeshPlan(
            BROKERS, topology, mode, 0, True, 0, keeps_tree=False, roaming_seconds=0
        )
        with LocalMesh(Path(folder), plan) as mesh:
            await asyncio.to_thread(mesh.start)
            bed = Bed(mesh)
            try:
                yield bed
            finally:
                await bed.close()
