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
from gossamer.session.link_properties import NAMED_BLOCK
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
    """What the paper's brokers would have sent too, over all links and both directions: no other
    control messages than interests, and no identities of messages (`message.py`)."""

    messages: int
    bytes: int  # of publications and their acknowledgements
    interest_messages: int
    interest_bytes: int

    @property
    def all_bytes(self) -> int:
        return self.bytes + self.interest_bytes

    def is_like(self, other: "BedTraffic") -> bool:
        """But for bytes: a link that is silent says so now and then."""
        return (self.messages, self.interest_messages) == (other.messages, other.interest_messages)

    def __sub__(self, earlier: "BedTraffic") -> "BedTraffic":
        return BedTraffic(
            self.messages - earlier.messages,
            self.bytes - earlier.bytes,
            self.interest_messages - earlier.interest_messages,
            self.interest_bytes - earlier.interest_bytes,
        )


def total(links: Sequence[LinkState]) -> BedTraffic:
    def of(field: str) -> int:
        return sum(link.sum(field) for link in links)

    messages = of("messages_sent")
    size = of("bytes_sent") - of("control_bytes_sent") - NAMED_BLOCK * messages
    return BedTraffic(messages, size, of("interest_messages_sent"), of("interest_bytes_sent"))


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
        # As the paper's brokers, which knew no roaming.
        plan = LocalMeshPlan(BROKERS, topology, mode, 0, True, 0, roaming_seconds=0)
        with LocalMesh(Path(folder), plan) as mesh:
            await asyncio.to_thread(mesh.start)
            bed = Bed(mesh)
            try:
                yield bed
            finally:
                await bed.close()
