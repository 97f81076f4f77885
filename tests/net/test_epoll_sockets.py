"""Plain sockets under a poll of our own: what asyncio's transports promise holds, and no event of
one connection ever hits another."""

import asyncio
import errno
import os
import random
import select
import socket
import struct
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.net.clock import Clock
from gossamer.net.epoll_sockets import (
    LARGE_READ,
    MOST_EVENTS,
    PASS_SECONDS,
    SMALL_READ,
    EpollSockets,
    EpollTransport,
    epoll_sockets,
)
from gossamer.net.event_loop import run
from gossamer.net.socket_transport import SocketTransport
from gossamer.net.transport import ConnectionPolicy, SocketSink
from gossamer.net.turns import Host
from gossamer.session.journal import Journal
from gossamer.wire.packets import Publish
from tests.support.live import LiveBroker, RawClient, live
from tests.support.polling import eventually, soon

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="a system without epoll")

IN, OUT, ERR, HUP = 1, 4, 8, 16
MUCH = os.urandom(1 << 20) * 4


class Heard(SocketSink):
    """Notes what its socket tells it."""

    def __init__(self, host: Host) -> None:
        super().__init__(host, ConnectionPolicy("test"))
        self.said = b""
        self.events: list[str] = []
        self.keeps_open = False
        self.on_data: Callable[[], None] = lambda: None

    def begin(self, transport: SocketTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.said += data
        self.on_data()
        self.host.turn_over(None)

    def eof_received(self) -> bool:
        self.events.append("eof")
        return self.keeps_open

    def connection_lost(self, error: Exception | None) -> None:
        self.events.append("lost")

    def pause_writing(self) -> None:
        self.events.append("behind")

    def resume_writing(self) -> None:
        self.events.append("read")

    @property
    def poll(self) -> EpollTransport:
        assert isinstance(self.transport, EpollTransport)
        return self.transport


class World:
    """Sockets under a poll, in a running event loop."""

    def __init__(self, clock: Clock | None = None) -> None:
        loop = asyncio.get_running_loop()
        broker = Broker(Settings(), Journal(), time.time())
        self.host = Host(broker, loop, lambda: None, clock)
        self.sockets = EpollSockets(self.host)
        self.theirs: list[socket.socket] = []

    def connected(self, is_tcp: bool = False) -> tuple[Heard, socket.socket]:
        """A sink, and its client's socket."""
        ours, theirs = _tcp_pair() if is_tcp else socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        sink = Heard(self.host)
        self.theirs.append(theirs)
        self.sockets.connect(ours.detach(), sink)
        return sink, theirs

    def turns(self) -> int:
        return self.host.turns.buckets()[-1][1]

    def close(self) -> None:
        self.sockets.close()
        for one in self.theirs:
            one.close()


def _tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        theirs = socket.create_connection(listening.getsockname())
        ours, _ = listening.accept()
    return ours, theirs


def _open_sockets() -> int:
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the folder's own descriptor is closed by now
            count += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    return count


def in_a_world(test: Callable[[World], Coroutine[Any, Any, None]], clock: Any = None) -> None:
    run(asyncio.sleep(0))  # a first loop may open what stays open
    before = _open_sockets()

    async def main() -> None:
        world = World(clock)
        try:
            await test(world)
        finally:
            world.close()

    run(main())
    assert _open_sockets() == before


async def read_all(theirs: socket.socket, count: int) -> bytes:
    """So many bytes, or all until the end."""
    loop = asyncio.get_running_loop()
    found = b""
    while len(found) < count and (data := await loop.sock_recv(theirs, 300_000)):
        found += data
    return found


@pytest.mark.parametrize("is_tcp", [False, True])
@pytest.mark.parametrize("closes", [False, True])
def test_what_a_socket_does_not_take_waits_and_arrives_whole(is_tcp: bool, closes: bool) -> None:
    async def test(world: World) -> None:
        sink, theirs = world.connected(is_tcp)
        for start in range(0, len(MUCH), 100_000):
            sink.poll.write(MUCH[start : start + 100_000])
        assert sink.poll.get_write_buffer_size() > 0
        assert sink.events == ["behind"]
        if closes:
            sink.poll.close()
            assert sink.poll.is_closing()
        assert await read_all(theirs, len(MUCH) + closes) == MUCH
        await soon(lambda: sink.poll.get_write_buffer_size() == 0)
        await soon(lambda: sink.events == ["behind", "read"] + ["lost"] * closes)
        sink.poll.write(b"more")
        assert await read_all(theirs, 4) == (b"" if closes else b"more")

    in_a_world(test)


@pytest.mark.parametrize("size", [1, SMALL_READ - 1, SMALL_READ, SMALL_READ + 1, 3 * LARGE_READ])
def test_all_that_is_said_is_heard_whatever_its_size(size: int) -> None:
    async def test(world: World) -> None:
        sink, theirs = world.connected()
        loop = asyncio.get_running_loop()
        for _ in range(3):
            sink.said = b""
            await loop.sock_sendall(theirs, MUCH[:size])
            await soon(lambda: len(sink.said) == size)
            assert sink.said == MUCH[:size]

    in_a_world(test)


@pytest.mark.parametrize("keeps_open", [False, True])
def test_a_half_closed_socket_can_be_written_to_until_it_is_closed(keeps_open: bool) -> None:
    async def test(world: World) -> None:
        sink, theirs = world.connected()
        sink.keeps_open = keeps_open
        sink.on_data = lambda: sink.poll.write(b"answer")
        theirs.send(b"question")
        theirs.shutdown(socket.SHUT_WR)
        await soon(lambda: "eof" in sink.events)
        if keeps_open:
            before = world.turns()
            for _ in range(20):
                await asyncio.sleep(0)
            assert world.turns() - before <= 2  # nobody asks again and again
            sink.poll.write(b" and more")
            sink.poll.close()
        assert await read_all(theirs, 100) == b"answer" + b" and more" * keeps_open
        await soon(lambda: sink.events == ["eof", "lost"])

    in_a_world(test)


@pytest.mark.parametrize("is_writing", [False, True])
def test_a_reset_ends_it_once(is_writing: bool) -> None:
    async def test(world: World) -> None:
        sink, theirs = world.connected(is_tcp=True)
        if is_writing:
            sink.poll.write(MUCH)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
        await soon(lambda: "lost" in sink.events)
        sink.poll.write(b"x")
        sink.poll.abort()
        sink.poll.close()
        for _ in range(5):
            await asyncio.sleep(0)
        assert sink.events.count("lost") == 1
        assert sink.poll.get_write_buffer_size() == 0

    in_a_world(test)


def test_a_paused_socket_that_is_lost_costs_nothing_until_it_is_read_again() -> None:
    async def test(world: World) -> None:
        sink, theirs = world.connected(is_tcp=True)
        sink.poll.pause_reading()
        theirs.send(b"last words")
        theirs.close()
        await soon(lambda: world.turns() >= 1)  # the event that nobody wants
        await asyncio.sleep(0)
        before = world.turns()
        for _ in range(50):
            await asyncio.sleep(0)
        assert world.turns() - before <= 2
        assert (sink.said, sink.events) == (b"", [])
        sink.poll.resume_reading()
        await soon(lambda: sink.events == ["eof", "lost"])
        assert sink.said == b"last words"

    in_a_world(test)


@pytest.mark.parametrize("event", [IN, OUT, ERR, HUP, IN | HUP | ERR, OUT | HUP, 0x3FFF])
def test_an_event_of_who_had_the_descriptor_before_does_no_harm(event: int) -> None:
    async def test(world: World) -> None:
        first, _ = world.connected()
        descriptor = first.poll._descriptor
        first.poll.abort()
        await soon(lambda: "lost" in first.events)
        second, theirs = world.connected()
        while second.poll._descriptor != descriptor:  # the system gives the lowest one that is free
            second, theirs = world.connected()
        world.sockets._events = [(descriptor, event), (9_999, event), (0, event)]
        world.sockets._next = 0
        world.sockets._pass()
        assert (second.said, second.events) == (b"", [])
        theirs.send(b"here")
        await soon(lambda: second.said == b"here")

    in_a_world(test)


def test_a_descriptor_is_not_free_before_the_pass_has_ended() -> None:
    """One that is read first closes all others: none of their descriptors is given out meanwhile,
    and none of their events is heard."""

    async def test(world: World) -> None:
        crowd = [world.connected() for _ in range(MOST_EVENTS)]
        used = {sink.poll._descriptor for sink, _ in crowd}
        opened: list[int] = []

        def close_others() -> None:
            for sink, _ in crowd:
                if not sink.said:
                    sink.poll.abort()
            opened.append(os.dup(0))

        for sink, theirs in crowd:
            sink.on_data = close_others
            theirs.send(b"x")
        await soon(lambda: sum("lost" in sink.events for sink, _ in crowd) == MOST_EVENTS - 1)
        assert not used & set(opened)
        assert sum(len(sink.said) for sink, _ in crowd) == 1
        for descriptor in opened:
            os.close(descriptor)

    in_a_world(test)


@pytest.mark.faults
def test_what_fails_ends_its_own_connection_and_nobody_elses() -> None:
    async def test(world: World) -> None:
        def fail() -> None:
            raise RuntimeError("ours")

        crowd = [world.connected() for _ in range(5)]
        crowd[2][0].on_data = fail
        for _, theirs in crowd:
            theirs.send(b"x")
        await soon(lambda: "lost" in crowd[2][0].events)
        await soon(lambda: all(sink.said == b"x" for sink, _ in crowd))
        assert [sink.events for sink, _ in crowd] == [[], [], ["lost"], [], []]
        assert world.host.broker.core.faults.total == 1

    in_a_world(test)


def test_a_pass_that_has_taken_its_time_lets_the_loop_go_on() -> None:
    skew = [0.0]
    clock = Clock(None, time.time, lambda: skew[0])

    async def test(world: World) -> None:
        loop = asyncio.get_running_loop()
        crowd = [world.connected() for _ in range(10)]
        heard: list[str] = []

        def work() -> None:
            skew[0] += PASS_SECONDS / 2
            heard.append("socket")
            loop.call_soon(heard.append, "loop")

        for sink, theirs in crowd:
            sink.on_data = work
            theirs.send(b"x")
        await soon(lambda: heard.count("loop") == 10)
        text = "".join(word[0] for word in heard)
        assert "sss" not in text, text
        assert max(turn for turn, count in world.host.turns.buckets() if count) > PASS_SECONDS

    in_a_world(test, clock)


@pytest.mark.parametrize("seed", range(4))
def test_random_ends_in_the_middle_of_everything(seed: int) -> None:
    """Every connection is lost once, whoever ends it and how; what was said in order is heard."""
    print("seed", seed)
    dice = random.Random(seed)

    async def test(world: World) -> None:
        loop = asyncio.get_running_loop()
        alive: list[tuple[Heard, socket.socket, list[bytes]]] = []
        every: list[Heard] = []
        orderly: list[tuple[Heard, list[bytes]]] = []
        for _ in range(400):
            if len(alive) < 40:
                sink, theirs = world.connected(dice.random() < 0.5)
                every.append(sink)
                alive.append((sink, theirs, []))
            sink, theirs, said = dice.choice(alive)
            step = dice.randrange(8)
            if step <= 2:
                data = MUCH[: dice.choice((1, 100, SMALL_READ, 9_000))]
                with suppress(BlockingIOError, ConnectionError):
                    said.append(data[: theirs.send(data)])
            elif step == 3:
                sink.poll.write(MUCH[: dice.choice((1, 1_000, 500_000))])
            elif step == 4:
                sink.poll.pause_reading()
                loop.call_soon(sink.poll.resume_reading)
            else:
                alive.remove((sink, theirs, said))
                if step == 5:
                    sink.poll.abort()
                elif step == 6:
                    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    theirs.close()
                elif not sink.poll.get_write_buffer_size():
                    theirs.shutdown(socket.SHUT_WR)
                    orderly.append((sink, said))
                else:
                    theirs.close()
            if dice.random() < 0.2:
                await asyncio.sleep(0)
        for _, theirs, _ in alive:
            theirs.close()
        await soon(lambda: all("lost" in sink.events for sink in every))
        assert all(sink.events.count("lost") == 1 for sink in every)
        for sink, said in orderly:
            assert sink.said == b"".join(said)

    in_a_world(test)


# A whole broker ---------------------------------------------------------------------------------


def sinks(broker: LiveBroker) -> list[SocketSink]:
    found = [one.outbox.sink for one in broker.broker.core.connections.values()]
    return [sink for sink in found if isinstance(sink, SocketSink)]


def test_accepted_sockets_are_no_childs_and_send_at_once() -> None:
    with live() as broker:
        client = RawClient.to(broker.port())
        client.login(client_id="c")
        [sink] = sinks(broker)
        assert isinstance(sink.transport, EpollTransport)
        descriptor = sink.transport._descriptor
        assert not os.get_inheritable(descriptor)
        assert not os.get_blocking(descriptor)
        with socket.socket(fileno=os.dup(descriptor)) as same:
            assert same.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        client.close()


def test_without_epoll_the_loop_has_the_sockets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(select, "epoll")
    unix = f'[[listener]]\nkind = "unix"\nsocket = "{tmp_path}/s"\n[[listener]]\nport = 0'
    with live(unix) as broker:
        assert broker.server.host.sockets is None
        clients = [RawClient.to(broker.port(1))]
        local = socket.socket(socket.AF_UNIX)
        local.connect(f"{tmp_path}/s")
        clients.append(RawClient(local))
        for client in clients:
            client.login()
            client.subscribe("t")
            client.publish("t", b"x" * 100_000)
            assert client.expect(Publish).payload == b"x" * 100_000
            client.close()


def test_who_connects_while_there_are_no_descriptors_is_accepted_later() -> None:
    with live() as broker:
        sockets = broker.server.host.sockets
        assert sockets is not None
        [acceptor] = sockets._acceptors.values()
        accept = acceptor._accept
        tried: list[int] = []

        def none_left() -> Any:
            tried.append(1)
            raise OSError(errno.EMFILE, "none left")

        broker.ask(lambda: setattr(acceptor, "_accept", none_left))
        client = RawClient.to(broker.port())
        eventually(lambda: tried)
        broker.ask(lambda: setattr(acceptor, "_accept", accept))
        assert client.login(client_id="c").reason == 0
        assert len(tried) == 1
        client.close()


def test_a_crowd_that_comes_and_goes_leaves_nothing_behind() -> None:
    with live() as broker:
        counters = broker.broker.core.counters
        RawClient.to(broker.port()).close()
        eventually(lambda: counters.connections_open == 0)
        before = _open_sockets()
        for _ in range(5):
            crowd = [RawClient.to(broker.port()) for _ in range(100)]
            for number, client in enumerate(crowd):
                client.login(client_id=f"c{number}")
            for number, client in enumerate(crowd):
                if number % 2:
                    linger = struct.pack("ii", 1, 0)
                    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                client.close()
            eventually(lambda: counters.connections_open == 0)
        eventually(lambda: _open_sockets() == before)
        sockets = broker.server.host.sockets
        assert isinstance(sockets, EpollSockets)
        assert not any(sockets._by_descriptor)


def test_there_is_one_place_that_chooses() -> None:
    async def test(world: World) -> None:
        found = epoll_sockets(world.host)
        assert isinstance(found, EpollSockets)
        found.close()
        found.close()

    in_a_world(test)
