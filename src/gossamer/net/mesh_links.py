"""Neighbours on real sockets: dials them, again and again with patience, and keeps links awake."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from asyncio import Transport
from typing import Final

from gossamer.broker.policy import Origin
from gossamer.mesh.dial import Dial
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.settings import KEEP_ALIVE_SECONDS
from gossamer.net.config.mesh import Peer
from gossamer.net.outbound import Outbound, OutboundSink, backoff
from gossamer.net.tls import certificate_user
from gossamer.net.transport import Host

logger = logging.getLogger(__name__)

SEEK_SECONDS: Final = 30.0  # between two looks at what addresses the seeds have
# A link that stood for so long was no failure: its neighbour is dialled again soon.
STOOD_SECONDS: Final = 1.0


class LinkSink(OutboundSink[Dial]):
    """The socket of a link that this broker dialled."""

    def accepted(self) -> None:
        logger.info("link to %s is up", self.attempt.name)


class Dialler:
    """Keeps one configured neighbour connected."""

    def __init__(self, host: Host, mesh: Mesh, peer: Peer) -> None:
        self.where = f"{peer.host}:{peer.port}"
        self._mesh = mesh
        self._caller = Outbound(host, "mesh", self.where, (peer.host, peer.port))
        self._caller.use_tls(peer.tls)
        self._sink: LinkSink | None = None
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
        tries = backoff()
        while True:
            if not self._may_dial.is_set():
                await self._may_dial.wait()
                tries.reset()
            stood_for = await self._attempt()
            if stood_for > STOOD_SECONDS:
                tries.reset()
                continue  # at once, and then with growing pauses
            await asyncio.sleep(tries.pause())

    async def _attempt(self) -> float:
        """Seconds for which the link stood, 0.0 if it never did."""
        caller = self._caller
        sink = LinkSink(caller.host, caller.door, self._begin)
        if not await caller.call(sink):
            return 0.0
        started = time.monotonic()
        self._sink = sink
        try:
            await self._keep_awake(sink)
        finally:
            self._sink = None
            sink.abort()
        dial = sink.attempt
        self._neighbour = dial.name or self._neighbour
        caller.say(dial.failure)
        return time.monotonic() - started if dial.name else 0.0

    def _begin(self, sink: OutboundSink[Dial], transport: Transport, address: str) -> Dial:
        name = ""
        if self._caller.uses_tls:
            name = certificate_user(transport.get_extra_info("peercert"))
        return Dial(self._mesh, sink, Origin(address, sink.door.name, name), sink.host.clock.now())

    def reaches(self, neighbour: str) -> bool:
        """Whether the other end is, or was last, this neighbour."""
        name = "" if self._sink is None else self._sink.attempt.name
        return neighbour == (name or self._neighbour)

    async def _keep_awake(self, sink: LinkSink) -> None:
        while not sink.done.done():
            await asyncio.wait((sink.done,), timeout=KEEP_ALIVE_SECONDS / 3)
            if sink.connection is not None:
                sink.attempt.ping()
                sink.host.after_chunk(sink.host.clock.now())


class MeshLinks:
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
        """Dials one more, with TLS if the configured ones are; False if it is already dialled."""
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
