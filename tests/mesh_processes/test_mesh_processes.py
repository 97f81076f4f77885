"""Meshes of real processes: restarts in other modes, stopped and cut links, brokers killed."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from tests.support.mesh_clients import Reader, client
from tests.support.polling import soon
from tests.support.proxy import Proxy

pytestmark = pytest.mark.processes


def has_more_than(reader: Reader, count: int) -> bool:
    return len(reader.payloads) > count


async def knows(mesh: LocalMesh, near: int, count: int = 1) -> None:
    """Until the dialled end of the link holds so many interests of the dialler's."""
    await soon(lambda: mesh.links()[near].outward["interests_held"] >= count)


def test_a_line_that_changes_its_mode(tmp_path: Path) -> None:
    """A reader at one end keeps its session over restarts of the whole mesh in other modes."""

    async def one_run(mode: str, is_first: bool) -> None:
        with LocalMesh(
            tmp_path, replace(LocalMeshPlan(3, "linear", memory=False), mode=mode)
        ) as mesh:
            await asyncio.to_thread(mesh.start)
            source = client(mesh.brokers[2].port, "reader", clean=is_first)
            await source.connect()
            reader = Reader(source)
            if is_first:
                await source.subscribe("t/#", "t/1", qos=2)
            if mode != "pf":
                await knows(mesh, 0)
            writer = client(mesh.brokers[0].port, "writer")
            await writer.connect()
            sent = [f"{mode} {qos}" for qos in (1, 2, 0)]
            for payload in sent:
                await writer.publish("t/1", payload, qos=int(payload[-1]))
            await reader.until(set(sent))
            assert sorted(reader.payloads) == sorted(sent)  # MQTT orders within one QoS only
            links = await asyncio.to_thread(mesh.links)
            # Each once; and claims of the sessions, as they begin and end.
            assert all(3 <= link.outward["messages_sent"] <= 7 for link in links)
            await writer.disconnect()
            await reader.close()

    async def runs() -> None:
        for number, mode in enumerate(("ssf", "bloom", "sf", "pf")):
            await one_run(mode, is_first=number == 0)

    asyncio.run(runs())


def test_a_link_that_stops_and_one_that_breaks(tmp_path: Path) -> None:
    async def run() -> None:
        with LocalMesh(tmp_path, LocalMeshPlan(2, memory=False)) as mesh:
            async with Proxy(mesh.brokers[0].port) as proxy:
                mesh.configure(1, {0: proxy.port})
                await asyncio.to_thread(mesh.start)
                far = client(mesh.brokers[1].port, "far")
                near = client(mesh.brokers[0].port, "near")
                writer = client(mesh.brokers[0].port, "writer")
                for one in (far, near, writer):
                    await one.connect()
                await far.subscribe("t/+", qos=2)
                await near.subscribe("t/+", qos=2)
                await knows(mesh, 0)
                readers = [Reader(near), Reader(far)]
                expected: list[str] = []

                async def publish(count: int, padding: str) -> None:
                    payloads = [f"{len(expected) + number}{padding}" for number in range(count)]
                    expected.extend(payloads)
                    for number, payload in enumerate(payloads):
                        await writer.publish(f"t/{number % 2}", payload, qos=1 + number % 2)
                    await readers[0].until(set(payloads))  # the other link does not matter here

                proxy.stop()
                await publish(60, "." * 100_000)
                assert len(readers[1].payloads) < len(expected)
                proxy.resume()
                await readers[1].until(set(expected))
                proxy.cut()
                await soon(lambda: not mesh.links()[0].stands)
                await publish(20, "")
                proxy.mend()
                await readers[1].until(set(expected))
                for reader in readers:
                    # In order on each topic, whatever happened to the link.
                    assert [p for p in reader.payloads if p in expected[::2]] == expected[::2]
                    assert [p for p in reader.payloads if p in expected[1::2]] == expected[1::2]
                for reader in readers:
                    await reader.close()
                await writer.disconnect()

    asyncio.run(run())


def test_the_broker_in_the_middle_is_killed(tmp_path: Path) -> None:
    """Two kills in the middle of QoS 1 and 2 traffic: nothing lost, QoS 2 exactly once."""

    async def run() -> None:
        with LocalMesh(tmp_path, LocalMeshPlan(3, "linear", memory=False)) as mesh:
            await asyncio.to_thread(mesh.start)
            source = client(mesh.brokers[2].port, "reader")
            writer = client(mesh.brokers[0].port, "writer")
            await source.connect()
            await writer.connect()
            await source.subscribe("one", "two", qos=2)
            await knows(mesh, 0, 2)
            reader = Reader(source)
            sent: dict[int, list[str]] = {1: [], 2: []}

            async def publish(count: int) -> None:
                for number in range(count):
                    for qos, topic in ((1, "one"), (2, "two")):
                        sent[qos].append(f"{topic} {len(sent[qos])}")
                        await writer.publish(topic, sent[qos][-1], qos=qos)
                    if number % 10 == 0:
                        await asyncio.sleep(0)

            for _ in range(2):
                flow = asyncio.ensure_future(publish(60))
                wanted = len(reader.payloads) + 5
                await soon(partial(has_more_than, reader, wanted))
                await asyncio.to_thread(mesh.brokers[1].kill)
                await flow
                mesh.brokers[1].start()
                await asyncio.to_thread(mesh.wait)
            await publish(1)
            await reader.until({*sent[1], *sent[2]})
            assert [payload for payload in reader.payloads if payload.startswith("two")] == sent[2]
            first_time = dict.fromkeys(p for p in reader.payloads if p.startswith("one"))
            assert list(first_time) == sent[1]
            assert all(payload.startswith("one") for payload in reader.repeated())
            await writer.disconnect()
            await reader.close()

    asyncio.run(run())
