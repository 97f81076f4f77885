"""Two Mosquittos that are joined by MQTT 3.1.1 and both bridged to our mesh: nothing goes round."""

import asyncio
from pathlib import Path

import pytest

from gossamer.net.client import Client
from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from tests.support.mosquitto import Mosquitto
from tests.support.polling import soon

pytestmark = pytest.mark.processes

# A message that goes round comes again between two of these.
LOOKS = 30

BRIDGE = """
[[mesh.stock]]
name = "m{number}"
host = "127.0.0.1"
port = {port}
protocol = "{protocol}"
imports = {imports}
exports = {exports}
"""


class Counted:
    """How many messages one client got."""

    def __init__(self, source: Client) -> None:
        self.count = 0
        self._source = source
        self._task = asyncio.ensure_future(self._collect())

    async def _collect(self) -> None:
        async for _ in self._source.messages():
            self.count += 1

    async def close(self) -> None:
        await self._source.disconnect()
        await self._task


def echoes(mesh: LocalMesh) -> int:
    found = [broker.admin.call("GET", "/v1/mesh")["stocks"] for broker in mesh.brokers]
    return sum(int(each["echoes"]) for told in found for each in told)


@pytest.mark.parametrize("protocol", ["5.0", "3.1.1"])
def test_what_begins_at_a_mosquitto_stops(protocol: str, tmp_path: Path) -> None:
    """With 3.1.1 one of the bridges exports and the other imports: each has no echo by itself."""
    first_folder, second_folder = tmp_path / "m1", tmp_path / "m2"
    for folder in (first_folder, second_folder):
        folder.mkdir()
    second = Mosquitto(second_folder)
    first = Mosquitto(first_folder)
    first.configure(
        "allow_anonymous true",
        "connection other",
        f"address 127.0.0.1:{second.port}",
        "bridge_protocol_version mqttv311",
        "try_private false",
        "topic # both 2",
    )
    is_5 = protocol == "5.0"
    ways = [('["t/#"]' if is_5 else "[]", '["t/#"]'), ('["t/#"]', '["t/#"]' if is_5 else "[]")]
    more = tuple(
        BRIDGE.format(number=number, port=port, protocol=protocol, imports=way[0], exports=way[1])
        for number, port, way in ((1, first.port, ways[0]), (2, second.port, ways[1]))
    )

    async def run() -> None:
        with LocalMesh(tmp_path / "mesh", LocalMeshPlan(2, "linear", more=more)) as mesh:
            await asyncio.to_thread(mesh.start)
            source = Client(f"mqtt://127.0.0.1:{mesh.brokers[0].port}", "reader")
            await source.connect()
            reader = Counted(source)
            await source.subscribe("t/#", qos=2)
            writer = Client(f"mqtt://127.0.0.1:{second.port}", "writer")
            await writer.connect()

            # Until all bridges stand, nothing goes round.
            for number in range(600):
                await writer.publish("t/x", f"{number}", qos=2)
                if await asyncio.to_thread(echoes, mesh):
                    break
                await asyncio.sleep(0.1)
            else:
                pytest.fail(f"no echo among {reader.count}")
            seen: list[int] = []

            def stands_still() -> bool:
                """Many looks at the same number, with requests to the brokers between them."""
                echoes(mesh)
                seen.append(reader.count)
                return len(seen) >= LOOKS and len(set(seen[-LOOKS:])) == 1

            await soon(stands_still, lambda: f"it goes on: {seen}")
            await writer.disconnect()
            await reader.close()

    try:
        asyncio.run(run())
    finally:
        first.stop()
        second.stop()
