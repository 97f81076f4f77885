"""A real broker on real sockets in a thread of its own, and a raw client that sends any bytes."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from gossamer.broker.broker import Broker
from gossamer.net.assembly import engine_of, open_archive
from gossamer.net.clock import Clock
from gossamer.net.config import load, parse
from gossamer.net.event_loop import run
from gossamer.net.listeners import Listeners, Reloader
from gossamer.net.resolved_config import ResolvedConfig, read_resolved, settings_of
from gossamer.net.server import Server
from gossamer.session.journal import Journal
from gossamer.wire.codec import decode, encode
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import V5, Connack, Connect, Packet, Publish, Request, Suback, Subscribe
from tests.support.polling import PATIENCE

T = TypeVar("T")
P = TypeVar("P", bound=Packet)


class LiveBroker:
    """Everything the broker does happens in its thread; ask it to do things with `call`."""

    def __init__(
        self, resolved: ResolvedConfig, file: Path | None = None, clock: Clock | None = None
    ) -> None:
        self.file = file
        self.clock = clock if clock is not None else Clock()
        self.server: Server
        self.listeners: Listeners
        self._loop: asyncio.AbstractEventLoop
        self._stopped: asyncio.Event
        self._started = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(resolved,), daemon=True)
        self._thread.start()
        assert self._started.wait(PATIENCE)
        if self._error is not None:
            raise self._error

    @property
    def broker(self) -> Broker:
        return self.server.broker

    def port(self, index: int = 0) -> int:
        return self.listeners.listeners[index].port

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.start(coroutine).result(PATIENCE)

    def ask(self, question: Callable[[], T]) -> T:
        async def answer() -> T:
            return question()

        return self.call(answer())

    def reload(self) -> list[str]:
        """The way of SIGHUP: the file is read again."""
        assert self.file is not None
        return self.call(self._reloader.reload())

    def stop(self) -> None:
        """May be called twice: a test stops early what its fixture stops at the end."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join(PATIENCE)

    def _run(self, resolved: ResolvedConfig) -> None:
        try:
            run(self._main(resolved))
        except BaseException as error:
            self._error = error
            self._started.set()

    async def _main(self, resolved: ResolvedConfig) -> None:
        config = resolved.config
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        settings = settings_of(config, config.limits)
        archive, keeper = open_archive(config, None)
        journal = Journal() if keeper is None else keeper.journal
        self.server = Server(
            Broker(settings, journal, self.clock.now(), engine_of(config), self.clock.offset),
            keeper,
            archive,
            self.clock,
        )
        self.listeners = await self.server.open(resolved)
        self._reloader = Reloader(self.listeners, self.file)
        self._started.set()
        await self._stopped.wait()
        await self.server.stop()


@contextmanager
def live(text: str = "[[listener]]\nport = 0", clock: Clock | None = None) -> Iterator[LiveBroker]:
    """A broker with the configuration that `text` spells."""
    broker = LiveBroker(read_resolved(parse(text)), clock=clock)
    try:
        yield broker
    finally:
        broker.stop()


@contextmanager
def live_file(file: Path) -> Iterator[LiveBroker]:
    """A broker with a configuration file, which may be changed and reloaded."""
    broker = LiveBroker(read_resolved(load(file)), file)
    try:
        yield broker
    finally:
        broker.stop()


class RawClient:
    """Blocking; speaks MQTT only as far as it is told to."""

    def __init__(self, connected: socket.socket, version: int = V5) -> None:
        connected.settimeout(PATIENCE)
        self.socket = connected
        self.version = version
        self._buffer = b""

    @classmethod
    def to(
        cls,
        port: int,
        version: int = V5,
        context: ssl.SSLContext | None = None,
        source: str = "127.0.0.1",
    ) -> "RawClient":
        """`source`, in 127.0.0.0/8, is the address that the client seems to have."""
        connected = socket.create_connection(("127.0.0.1", port), PATIENCE, (source, 0))
        if context is not None:
            connected = context.wrap_socket(connected, server_hostname="localhost")
        return cls(connected, version)

    def send(self, packet: Packet | bytes) -> None:
        data = packet if isinstance(packet, bytes) else encode(packet, self.version)
        self.socket.sendall(data)

    def read(self) -> Packet | None:
        """The next packet; None once the broker has closed the connection."""
        while True:
            length = packet_length(self._buffer, 0) if len(self._buffer) > 1 else 0
            if length and len(self._buffer) >= length:
                packet, self._buffer = self._buffer[:length], self._buffer[length:]
                return decode(packet[0], packet[header_length(packet, 0) :], self.version)
            try:
                chunk = self.socket.recv(65536)
            except (ConnectionError, ssl.SSLError):
                return None
            if not chunk:
                return None
            self._buffer += chunk

    def expect(self, kind: type[P]) -> P:
        packet = self.read()
        assert isinstance(packet, kind), packet
        return packet

    def login(self, connect: Connect | None = None, **fields: Any) -> Connack:
        if connect is None:
            connect = Connect(fields.pop("client_id", ""), version=self.version, **fields)
        self.send(connect)
        return self.expect(Connack)

    def subscribe(self, *filters: str, qos: int = 0) -> list[int]:
        self.send(Subscribe(1, [Request(filter, qos) for filter in filters]))
        return self.expect(Suback).reasons

    def publish(self, topic: str, payload: bytes = b"x", **fields: Any) -> None:
        self.send(Publish(topic, payload, **fields))

    def close(self) -> None:
        self.socket.close()

    def is_closed(self) -> bool:
        """Reads to the end; True if the broker ends the connection."""
        while self.read() is not None:
            pass
        return True
