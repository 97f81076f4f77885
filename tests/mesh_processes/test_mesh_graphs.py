"""Rings of real processes: cut, healed, a broker killed; two meshes joined while they run."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from gossamer.net.local.broker import LocalBroker
from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from tests.support.mesh_clients import Reader, client
from tests.support.polling import soon

pytestmark = pytest.mark.processes


def tree_of(broker: LocalBroker) -> dict[str, int]:
    counts: dict[str, int] = broker.admin.call("GET", "/v1/mesh")["tree"]
    return counts


async def settled(brokers: list[LocalBroker], size: int) -> None:
    """Until these brokers agree on a tree of so many."""

    def all_agree() -> bool:
        trees = [tree_of(broker) for broker in brokers]
        return all(tree["settled"] and tree["brokers"] == size for tree in trees)

    await soon(all_agree)


def states(mesh: LocalMesh) -> Counter[str]:
    """Of all links that stand at both ends, at both ends."""
    found: Counter[str] = Counter()
    for link in mesh.links():
        found.update((link.outward["state"], link.inward["state"]))
    return found


async def carries(source: LocalBroker, reader: Reader, payloads: list[str]) -> None:
    writer = client(source.port, f"writer of {payloads[0]}")
    await writer.connect()
    for payload in payloads:
        await writer.publish("t/1", payload, qos=2)
    await writer.disconnect()
    await reader.until(set(payloads))


def test_a_ring_of_five_that_is_cut_and_healed(tmp_path: Path) -> None:
    async def run() -> None:
        with LocalMesh(tmp_path, LocalMeshPlan(5, "ring", memory=False)) as mesh:
            await asyncio.to_thread(mesh.start)
            await settled(mesh.brokers, 5)
            assert states(mesh) == {"tree": 8, "standby": 2}
            source = client(mesh.brokers[3].port, "reader", clean=True)
            await source.connect()
            reader = Reader(source)
            await source.subscribe("t/#", qos=2)
            await carries(mesh.brokers[0], reader, ["before 1", "before 2"])
            used = next(link for link in mesh.links() if link.inward["state"] == "tree")
            dialler = next(broker for broker in mesh.brokers if broker.name == used.far)
            dialler.admin.call("POST", f"/v1/mesh/{used.near}/cut")
            await carries(mesh.brokers[0], reader, ["cut 1", "cut 2"])
            await settled(mesh.brokers, 5)
            dialler.admin.call("POST", f"/v1/mesh/{used.near}/heal")
            await soon(lambda: states(mesh) == {"tree": 8, "standby": 2})
            mesh.brokers[1].kill()
            others = [broker for broker in mesh.brokers if broker is not mesh.brokers[1]]
            await carries(mesh.brokers[0], reader, ["killed 1", "killed 2"])
            await settled(others, 4)
            mesh.brokers[1].start()
            await asyncio.to_thread(mesh.wait)
            await settled(mesh.brokers, 5)
            await carries(mesh.brokers[1], reader, ["back 1", "back 2"])
            assert set(Counter(reader.payloads).values()) == {1}
            await reader.close()

    asyncio.run(run())


def test_a_broker_on_the_way_is_killed_for_good(tmp_path: Path) -> None:
    """In the middle of QoS 1 and 2 traffic, and stays away: nothing lost, QoS 2 exactly once."""

    async def run() -> None:
        with LocalMesh(tmp_path, LocalMeshPlan(4, "ring", memory=False)) as mesh:
            await asyncio.to_thread(mesh.start)
            await settled(mesh.brokers, 4)
            source = client(mesh.brokers[2].port, "reader", clean=True)
            writer = client(mesh.brokers[0].port, "writer")
            await source.connect()
            await writer.connect()
            reader = Reader(source)
            await source.subscribe("t/#", qos=2)
            await carries(mesh.brokers[0], reader, ["before"])
            idle = {
                name
                for link in mesh.links()
                if link.outward["state"] == "standby"
                for name in (link.near, link.far)
            }
            between = [mesh.brokers[1], mesh.brokers[3]]
            on_the_way = next(broker for broker in between if broker.name not in idle)
            sent: list[str] = []

            async def publish() -> None:
                for number in range(150):
                    sent.append(f"{1 + number % 2}: {number}")
                    await writer.publish("t/x", sent[-1], qos=1 + number % 2)

            flow = asyncio.ensure_future(publish())
            await soon(lambda: len(reader.payloads) > 20)
            await asyncio.to_thread(on_the_way.kill)
            await flow
            await reader.until(set(sent))
            assert all(payload.startswith("1") for payload in reader.repeated())
            await writer.disconnect()
            await reader.close()

    asyncio.run(run())


def test_two_meshes_that_are_joined_late_and_part_again(tmp_path: Path) -> None:
    async def run() -> None:
        plan = LocalMeshPlan(4, "linear")
        with LocalMesh(tmp_path, plan) as mesh:
            mesh.edges.remove((1, 2))
            mesh.configure(2)
            await asyncio.to_thread(mesh.start)
            await settled(mesh.brokers, 2)
            source = client(mesh.brokers[3].port, "reader", clean=True)
            await source.connect()
            reader = Reader(source)
            await source.subscribe("t/#", qos=2)
            joining = {"host": "127.0.0.1", "port": mesh.brokers[1].port}
            mesh.brokers[2].admin.call("POST", "/v1/mesh/peers", joining)
            await settled(mesh.brokers, 4)
            await carries(mesh.brokers[0], reader, ["joined"])
            mesh.brokers[2].admin.call("DELETE", "/v1/mesh/peers", joining)
            await settled(mesh.brokers, 2)
            await reader.close()

    asyncio.run(run())
