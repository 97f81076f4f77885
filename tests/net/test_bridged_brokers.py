"""Mosquitto as a neighbour, on real sockets: in the middle, behind two links, restarted."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from gossamer.mesh.bridges.bridge import Bridge
from gossamer.net.client import Client, Disconnected
from gossamer.net.event_loop import run
from gossamer.wire.packets import V5, V311, Publish
from tests.support.live import LiveBroker, live
from tests.support.mesh_clients import lasting
from tests.support.mosquitto import Mosquitto
from tests.support.polling import eventually, soon

VERSIONS = {"5.0": V5, "3.1.1": V311}


class Scene:
    """A Mosquitto and Gossamer brokers that link to it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.mosquitto = Mosquitto(folder)
        stack.callback(self.mosquitto.stop)
        self.folder = folder
        self._stack = stack
        self._key = folder / "key"
        self._key.write_text("a key for these tests\n")

    def broker(
        self, name: str, mesh: str = "m", more: str = "", dials: LiveBroker | None = None
    ) -> LiveBroker:
        text = f"""
            [[listener]]
            port = 0
            [mesh]
            name = "{name}"
            mesh = "{mesh}"
            key_file = "{self._key}"
            [[mesh.stock]]
            name = "plant"
            host = "127.0.0.1"
            port = {self.mosquitto.port}
            {more}
            """
        if dials is not None:
            text += f"[[mesh.peer]]\nhost = '127.0.0.1'\nport = {dials.port()}\n"
        return self._stack.enter_context(live(text))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        yield Scene(tmp_path, stack)


def bridge_of(broker: LiveBroker) -> Bridge:
    mesh = broker.server.mesh
    assert mesh is not None
    assert mesh.bridges is not None
    return mesh.bridges.by_name["plant"]


def owns(broker: LiveBroker) -> bool:
    bridge = bridge_of(broker)
    return broker.ask(lambda: bridge.is_owner and bridge.connection is not None)


def has_asked(broker: LiveBroker, *filters: str) -> Callable[[], bool]:
    """Whether exactly these are subscribed on the bridged broker, and it has answered."""
    bridge = bridge_of(broker)

    def question() -> bool:
        return sorted(bridge.asked) == sorted(filters) and not bridge.session.inflight

    return lambda: broker.ask(question)


class Reader:
    """Collects what arrives, whole messages."""

    def __init__(self, port: int, name: str) -> None:
        self.client = Client(f"mqtt://127.0.0.1:{port}", name, properties=lasting())
        self.got: list[Publish] = []

    async def subscribe(self, *filters: str) -> "Reader":
        await self.client.connect()
        self._task = asyncio.ensure_future(self._collect())
        for filter in filters:
            await self.client.subscribe(filter, qos=2)
        return self

    async def _collect(self) -> None:
        with suppress(Disconnected):
            async for message in self.client.messages():
                self.got.append(message)

    def payloads(self) -> list[str]:
        return [message.payload.decode() for message in self.got]

    async def until(self, *payloads: str) -> None:
        await soon(lambda: set(payloads) <= set(self.payloads()))

    async def close(self) -> None:
        await self.client.disconnect()
        await self._task


def test_in_the_middle_between_two_meshes(scene: Scene) -> None:
    everything = 'exports = ["#"]'
    west = scene.broker("w", "west", everything)
    east = scene.broker("e", "east", everything)

    async def scenario() -> None:
        reader = await Reader(east.port(), "reader").subscribe("t/#")
        own = await Reader(west.port(), "own").subscribe("t/#")
        await soon(lambda: owns(west) and owns(east))
        await soon(has_asked(east, "t/#"))
        await soon(has_asked(west, "t/#"))
        async with Client(f"mqtt://127.0.0.1:{west.port()}", "writer") as writer:
            for qos in (0, 1, 2):
                await writer.publish(f"t/{qos}", f"at {qos}", qos=qos)
            await writer.publish("t/kept", "kept", qos=1, retain=True)
            await writer.publish("u", "for nobody", qos=1)
            await writer.publish("t/end", "end", qos=2)
        await reader.until("at 0", "at 1", "at 2", "kept", "end")
        await own.until("end")
        late = await Reader(east.port(), "late").subscribe("t/kept")
        await late.until("kept")
        assert late.got[0].retain
        async with Client(f"mqtt://127.0.0.1:{east.port()}", "back") as back:
            await back.publish("t/back", "back", qos=2)
        await own.until("back")
        for each in (reader, own):
            payloads = each.payloads()
            assert sorted(payloads) == sorted({*payloads})
        assert {m.payload.decode(): m.qos for m in reader.got if m.topic[2:].isdigit()} == {
            "at 0": 0,
            "at 1": 1,
            "at 2": 2,
        }
        for each in (reader, own, late):
            await each.close()

    run(scenario())
    assert east.ask(lambda: bridge_of(east).session.queued()) == 0


@pytest.mark.parametrize("protocol", VERSIONS)
def test_two_brokers_of_a_mesh_link_to_the_same(scene: Scene, protocol: str) -> None:
    more = f'protocol = "{protocol}"\nexports = ["out/#"]\nimports = ["in/#"]'
    if protocol == "5.0":
        more = 'exports = ["#"]'
    b = scene.broker("b", more=more)
    eventually(lambda: owns(b))
    a = scene.broker("a", more=more, dials=b)
    # The first by name takes over from the one that had it.
    eventually(lambda: owns(a) and not owns(b))

    async def scenario() -> None:
        names = {"a": a.port(), "b": b.port(), "m": scene.mosquitto.port}
        readers = {
            name: await Reader(port, f"reader-{name}").subscribe("in/#", "out/#")
            for name, port in names.items()
        }
        await soon(has_asked(a, "in/#", "out/#") if protocol == "5.0" else has_asked(a, "in/#"))
        await soon(lambda: not b.ask(lambda: list(bridge_of(b).session.subscriptions)))
        expected = []
        for name, port in names.items():
            topic = "in/x" if name == "m" else "out/x"
            async with Client(f"mqtt://127.0.0.1:{port}", f"writer-{name}") as writer:
                for qos in (0, 1, 2):
                    payload = f"{name} {qos}"
                    await writer.publish(topic, payload, qos=qos)
                    expected.append(payload)
        for reader in readers.values():
            await reader.until(*expected)
        await asyncio.to_thread(a.stop)
        async with Client(f"mqtt://127.0.0.1:{scene.mosquitto.port}", "writer") as writer:
            await writer.publish("in/x", "while nobody owned it", qos=2)
        await readers["b"].until("while nobody owned it")
        assert owns(b)
        async with Client(f"mqtt://127.0.0.1:{b.port()}", "last-writer") as writer:
            await writer.publish("out/x", "by the new owner", qos=2)
        await readers["m"].until("by the new owner")
        last = ["while nobody owned it", "by the new owner"]
        for name in "bm":
            assert sorted(readers[name].payloads()) == sorted(expected + last)
            await readers[name].close()

    run(scenario())


def test_only_what_is_subscribed_crosses(scene: Scene) -> None:
    broker = scene.broker("a", more='imports = ["site/#", "+/alarm"]')
    eventually(lambda: owns(broker))

    async def scenario() -> None:
        reader = Reader(broker.port(), "reader")
        await reader.subscribe("site/1/temp", "site/1/#", "hall/alarm", "elsewhere/#", "$SYS/x")
        await soon(has_asked(broker, "site/1/#", "hall/alarm", "elsewhere/alarm"))
        async with Client(f"mqtt://127.0.0.1:{scene.mosquitto.port}", "writer") as writer:
            for topic in ("site/1/temp", "site/2/temp", "hall/temp", "elsewhere/x", "hall/alarm"):
                await writer.publish(topic, topic, qos=1)
        await reader.until("site/1/temp", "hall/alarm")
        connection = bridge_of(broker).connection
        assert connection is not None
        assert broker.ask(lambda: connection.messages_received) == 2
        await reader.client.unsubscribe("site/1/#")
        await soon(has_asked(broker, "site/1/temp", "hall/alarm", "elsewhere/alarm"))
        await reader.close()

    run(scenario())


def test_nothing_is_lost_while_it_restarts(scene: Scene) -> None:
    broker = scene.broker("a", more='exports = ["out/#"]')
    eventually(lambda: owns(broker))
    count = 50

    async def scenario() -> None:
        inside = await Reader(broker.port(), "inside").subscribe("in")
        await soon(has_asked(broker, "in"))
        # Mosquitto 2.0.11 forgets sessions of 5.0 that never end when it restarts.
        url = f"mqtt://127.0.0.1:{scene.mosquitto.port}"
        outside = Client(url, "outside", clean_start=False, version=V311)
        await outside.connect()
        await outside.subscribe("out/#", qos=2)
        await outside.disconnect()
        await asyncio.to_thread(scene.mosquitto.stop)
        await soon(lambda: bridge_of(broker).connection is None)
        async with Client(f"mqtt://127.0.0.1:{broker.port()}", "writer") as writer:
            for number in range(count):
                await writer.publish("out/x", str(number), qos=1 + number % 2)
        await asyncio.to_thread(scene.mosquitto.start)
        async with Client(f"mqtt://127.0.0.1:{scene.mosquitto.port}", "back") as back:
            await back.publish("in", "kept by the session there", qos=2)
        await inside.until("kept by the session there")
        again = Reader(scene.mosquitto.port, "outside")
        again.client = Client(url, "outside", clean_start=False, version=V311)
        await again.subscribe()
        await again.until(*(str(number) for number in range(count)))
        assert len(again.got) == count
        assert inside.payloads() == ["kept by the session there"]
        await inside.close()
        await again.close()

    run(scenario())


def test_retained_messages_are_told_once(scene: Scene) -> None:
    async def scenario() -> None:
        async with Client(f"mqtt://127.0.0.1:{scene.mosquitto.port}", "writer") as writer:
            await writer.publish("r/old", "of old", qos=1, retain=True)
            broker = await asyncio.to_thread(scene.broker, "a")
            await soon(lambda: owns(broker))
            reader = await Reader(broker.port(), "reader").subscribe("r/old")
            await reader.until("of old")
            # A wider subscription makes Mosquitto send it again.
            wider = await Reader(broker.port(), "wider").subscribe("r/#")
            await soon(has_asked(broker, "r/#"))
            await writer.publish("r/new", "news", qos=1, retain=True)
            await wider.until("of old", "news")
            await writer.publish("r/old", "of old", qos=1, retain=True)
            await writer.publish("r/old", "", qos=1, retain=True)
            await reader.until("of old", "")
            late = await Reader(broker.port(), "late").subscribe("r/#")
            await late.until("news")
            assert [m.retain for m in late.got] == [True]
            assert reader.payloads() == ["of old", "of old", ""]
            for each in (reader, wider, late):
                await each.close()

    run(scenario())


def test_it_may_ask_for_a_login(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    password = scene.folder / "password"
    password.write_text("not this one\n")
    scene.mosquitto.configure("allow_anonymous false")
    scene.broker("a", more=f'username = "gossamer"\npassword_file = "{password}"')
    eventually(lambda: "bridge plant: it refused us with reason 0x8" in caplog.text)
