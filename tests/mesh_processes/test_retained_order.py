"""Real brokers that retain on one topic at once: one last message for live and new readers."""

import asyncio
from pathlib import Path

import pytest

from gossamer.net.client import Client
from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from tests.support.mesh_clients import client
from tests.support.polling import soon

pytestmark = pytest.mark.processes

TOPICS = 30


class LastOf:
    """Keeps the last payload of each topic."""

    def __init__(self, source: Client) -> None:
        self.last: dict[str, bytes] = {}
        self._source = source
        self._task = asyncio.ensure_future(self._collect())

    async def _collect(self) -> None:
        async for message in self._source.messages():
            self.last[message.topic] = message.payload

    async def close(self) -> None:
        await self._source.disconnect()
        await self._task


async def read(port: int, name: str) -> LastOf:
    source = client(port, name)
    await source.connect()
    reader = LastOf(source)
    await source.subscribe("t/#", qos=1)
    return reader


@pytest.mark.parametrize("mode", ["ssf", "bloom"])
def test_live_readers_end_with_what_new_ones_get(mode: str, tmp_path: Path) -> None:
    async def run() -> None:
        with LocalMesh(tmp_path, LocalMeshPlan(3, "linear", mode=mode)) as mesh:
            await asyncio.to_thread(mesh.start)
            ports = [broker.port for broker in mesh.brokers]
            live = [await read(port, f"live {port}") for port in ports]
            writers = [client(ports[0], "writer 1"), client(ports[2], "writer 3")]
            for writer in writers:
                await writer.connect()
            for number in range(TOPICS):
                await asyncio.gather(
                    *(
                        writer.publish(f"t/{number}", writer.client_id, qos=1, retain=True)
                        for writer in writers
                    )
                )
            for writer in writers:  # behind all of the above, on both ways
                await writer.publish(f"t/{writer.client_id}", "end", qos=1, retain=True)
            ends = {f"t/{writer.client_id}" for writer in writers}
            await soon(lambda: all(ends <= reader.last.keys() for reader in live))
            new = [await read(port, f"new {port}") for port in ports]
            await soon(lambda: all(len(reader.last) == TOPICS + 2 for reader in new))
            await soon(lambda: all(reader.last == new[0].last for reader in (*live, *new)))
            for each in (*live, *new):
                await each.close()
            for writer in writers:
                await writer.disconnect()

    asyncio.run(run())
