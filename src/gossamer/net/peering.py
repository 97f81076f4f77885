"""Neighbours on real sockets: dials them, again and again with patience, and keeps links awake."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import time
from asyncio import Transport
from typing import Any, Final

from gossamer.broker.policy import Origin
from gossamer.mesh.dialing import Dial
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.settings import KEEP_ALIVE_SECONDS
from gossamer.net.config.mesh import Peer
from gossamer.net.tls import certificate_user, client_context
from gossamer.net.transport import Door, Host, SocketSink

logger = logging.getLogger(__name__)

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
SEEK_SECONDS: Final = 30.0  # between two looks at what addresses the seeds have
# A link that stood for so long was no failure: its neighbour is dialled again soon.
STOOD_SECONDS: Final = 1.0
CONNECT_SECONDS: Final = 5.0
# Bytes that may wait in the socket of a link, before QoS 0 to the neighbour is dropped.
LINK_BUFFER: Final = 8 * 1_048_576


class DialSink(SocketSink):
    """The socket of a link that this broker dialled."""

    def __init__(self, host: Host, door: Door, mesh: Mesh, uses_tls: bool) -> None:
        super().__init__(host, door)
        self._mesh = mesh
        self._uses_tls = uses_tls
        self.dial: Dial | None = None
        self.done: asyncio.Future[None] = host.loop.create_future()

    def connection_made(self, transport: Transport) -> None:
        self.transport = transport
        transport.set_write_buffer_limits(high=self.door.write_buffer)
        peer = transport.get_extra_info("peername")
        name = ""
        if self._uses_tls:
            name = certificate_user(transport.get_extra_info("peercert"))
        origin = Origin(str(peer[0]) if isinstance(peer, tuple) else "", self.door.name, name)
        self.dial = Dial(self._mesh, self, origin, time.time())

    def data_received(self, data: bytes) -> None:
        dial = self.dial
        assert dial is not None
        now = time.time()
        dial.receive(data, now)
        if self.connection is None and dial.connection is not None:
            self.connection = dial.connection
            logger.info("link to %s stands", dial.name)
        self.host.after_chunk(now)

    def connection_lost(self, error: Exception | None) -> None:
        dial = self.dial
        assert dial is not None
        self.transport = None
        self.connection = None
        now = time.time()
        dial.lost(now)
        self.host.after_chunk(now)
        if not self.done.done():
            self.done.set_result(None)


class Dialler:
    """Keeps one configured neighbour connected."""

    def __init__(self, host: Host, mesh: Mesh, peer: Peer) -> None:
        self.peer = peer
        self.where = f"{peer.host}:{peer.port}"
        self._host = host
        self._mesh = mesh
        self._door = Door("mesh")
        self._door.write_buffer = LINK_BUFFER
        self._context = None if peer.tls is None else client_context(peer.tls)
        self._last_failure = ""
        self._sink: DialSink | None = None
        self._may_dial = asyncio.Event()
        self._may_dial.set()
        self._neighbour = ""  # who it was last

    def cut(self) -> None:
        """Takes the link down and keeps it so until `heal`."""
        self._may_dial.clear()
        if self._sink is not None:
            self._sink.abort()

    def heal(self) -> None:
        self._may_dial.set()

    async def run(self) -> None:
        """For ever; cancel it to stop."""
        pause = FIRST_PAUSE
        while True:
            if not self._may_dial.is_set():
                await self._may_dial.wait()
                pause = FIRST_PAUSE
            stood_for = await self._attempt()
            if stood_for > STOOD_SECONDS:
                pause = FIRST_PAUSE / 2
                continue  # at once, and then with growing pauses
            pause = min(2 * pause, LONGEST_PAUSE)
            # Not all at once: after an outage everybody dials.
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))

    async def _attempt(self) -> float:
        """Seconds for which the link stood, 0.0 if it never did."""
        tls: dict[str, Any] = {}
        if self._context is not None and self.peer.tls is not None:
            name = self.peer.tls.server_name or self.peer.host
            tls = {"ssl": self._context, "server_hostname": name}
        loop = self._host.loop
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, sink = await loop.create_connection(  # type: ignore[type-var]
                    lambda: DialSink(self._host, self._door, self._mesh, bool(tls)),
                    self.peer.host,
                    self.peer.port,
                    **tls,
                )
        except (OSError, TimeoutError) as error:
            self._say(str(error) or "no answer")
            return 0.0
        assert isinstance(sink, DialSink)
        started = time.monotonic()
        self._sink = sink
        try:
            await self._keep_awake(sink)
        finally:
            self._sink = None
            sink.abort()
        assert sink.dial is not None
        self._neighbour = sink.dial.name or self._neighbour
        self._say(sink.dial.failure)
        return time.monotonic() - started if sink.dial.name else 0.0

    def reaches(self, neighbour: str) -> bool:
        """Whether the other end is, or was last, this neighbour."""
        dial = None if self._sink is None else self._sink.dial
        return neighbour == (self._neighbour if dial is None or not dial.name else dial.name)

    async def _keep_awake(self, sink: DialSink) -> None:
        while not sink.done.done():
            await asyncio.wait((sink.done,), timeout=KEEP_ALIVE_SECONDS / 3)
            if sink.dial is not None and sink.connection is not None:
                sink.dial.ping()
                self._host.after_chunk(time.time())

    def _say(self, failure: str) -> None:
        """Once for each new reason: a neighbour may be away for days."""
        if failure != self._last_failure:
            self._last_failure = failure
            logger.warning("no link to %s: %s", self.where, failure)


class Peering:
    """All neighbours that this broker dials, those that are added while it runs among them."""

    def __init__(
        self, host: Host, mesh: Mesh, peers: tuple[Peer, ...], seeds: tuple[str, ...] = ()
    ) -> None:
        self.mesh = mesh
        self._host = host
        self._tls = next((peer.tls for peer in peers if peer.tls is not None), None)
        self._dialled: dict[str, tuple[Dialler, asyncio.Task[None]]] = {}
        for peer in peers:
            self._dial(peer)
        self._seeker = host.loop.create_task(self._seek(seeds)) if seeds else None

    def dialler(self, neighbour: str) -> Dialler | None:
        """Who dials that neighbour; None if nobody here does, or it never answered."""
        diallers = [dialler for dialler, _ in self._dialled.values()]
        return next((one for one in diallers if one.reaches(neighbour)), None)

    def add(self, address: str, port: int) -> bool:
        """Dials one more, with TLS if the configured ones are; False if it is dialled already."""
        return self._dial(Peer(host=address, port=port, tls=self._tls))

    def remove(self, address: str, port: int) -> bool:
        """Takes its link down and dials it no more; False if nobody dials there."""
        dialled = self._dialled.pop(f"{address}:{port}", None)
        if dialled is None:
            return False
        dialled[0].cut()
        dialled[1].cancel()
        return True

    def _dial(self, peer: Peer) -> bool:
        dialler = Dialler(self._host, self.mesh, peer)
        if dialler.where in self._dialled:
            return False
        task = self._host.loop.create_task(dialler.run(), name=f"dial {peer.host}")
        self._dialled[dialler.where] = (dialler, task)
        return True

    async def _seek(self, seeds: tuple[str, ...]) -> None:
        """Whoever is behind these names is a neighbour: every address of each, asked for again
        and again. An address that a name has lost is dialled on; it may be away for a while."""
        while True:
            for seed in seeds:
                name, _, port = seed.rpartition(":")
                try:
                    found = await self._host.loop.getaddrinfo(
                        name.strip("[]"), int(port), type=socket.SOCK_STREAM
                    )
                except OSError as error:
                    logger.warning("the seed %s cannot be looked up: %s", seed, error)
                    continue
                for address in found:
                    self._dial(Peer(host=str(address[4][0]), port=int(port), tls=self._tls))
            await asyncio.sleep(SEEK_SECONDS)

    async def stop(self) -> None:
        tasks = [task for _, task in self._dialled.values()]
        if self._seeker is not None:
            tasks.append(self._seeker)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
