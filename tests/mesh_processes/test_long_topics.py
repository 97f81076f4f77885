"""Topics as long as MQTT allows, through real brokers that are killed on the way."""

import asyncio
from pathlib import Path

import pytest

from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from tests.support.mesh_clients import Reader, client

pytestmark = pytest.mark.processes

TOPICS = ("s/" + "x" * 65_498, "s/" + "é" * 22_000, "s/" + "\x01" * 30_000)


async def publish(mesh: LocalMesh, name: str, payload: str) -> list[str]:
    """At the near end, the long ones among short ones, each acknowledged."""
    writer = client(mesh.brokers[0].port, name)
    await writer.connect()
    sent: list[str] = []
    for qos in (1, 2):
        for number, topic in enumerate(("s/1", *TOPICS, "s/2")):
            sent.append(f"{payload} {qos} {number}")
            await writer.publish(topic, sent[-1], qos=qos)
    await writer.disconnect()
    return sent


async def kill(mesh: LocalMesh, number: int) -> None:
    await asyncio.to_thread(mesh.brokers[number].kill)
    mesh.brokers[number].start()
    await asyncio.to_thread(mesh.wait)


def test_a_shared_subscriber_and_a_session_that_roams(tmp_path: Path) -> None:
    async def run() -> None:
        with LocalMesh(tmp_path, LocalMeshPlan(3, "linear", memory=False)) as mesh:
            await asyncio.to_thread(mesh.start)
            member = client(mesh.brokers[2].port, "member")
            await member.connect()
            await member.subscribe("$share/g/s/#", qos=2)
            roamer = client(mesh.brokers[0].port, "roamer")
            await roamer.connect()
            await roamer.subscribe("s/#", qos=2)
            await roamer.disconnect()
            reader = Reader(member)
            probe = client(mesh.brokers[0].port, "probe")
            await probe.connect()
            await probe.publish("s/1", "probe", qos=1)
            await reader.until({"probe"})
            await probe.disconnect()
            first = await publish(mesh, "writer", "first")
            await reader.until(set(first))
            await kill(mesh, 1)
            second = await publish(mesh, "writer", "second")
            await reader.until(set(second))
            await kill(mesh, 0)
            arrived = client(mesh.brokers[2].port, "roamer", clean=False)
            await arrived.connect()
            follower = Reader(arrived)
            await follower.until({"probe", *first, *second})
            for each in (reader, follower):
                assert [payload for payload in each.repeated() if " 2 " in payload] == []
                await each.close()

    asyncio.run(run())
