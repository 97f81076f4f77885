"""Neighbours on real sockets: dials them, again and again with patience, and keeps links awake."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from typing import Final

from gossamer.broker.policy import Origin
from gossamer.mesh.dial import Dial
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.settings import KEEP_ALIVE_SECONDS, ZSTD
from gossamer.net.config.mesh import Peer
from gossamer.net.outbound import Outbound, OutboundSink, backoff
from gossamer.net.turns import Host

logger = logging.getLogger(__name__)

SEEK_SECONDS: Final = 30.0  # between two looks at what addresses the seeds have
# A link that stood for so long was no failure: its neighbour is dialled again soon.
STOOD_SECONDS: Final = 1.0


class Dialler(Outbound[Dial]):
    """Keeps one configured neighbour connected."""

    def __init__(self, host: Host, mesh: Mesh, peer: Peer, compression: str) -> None:
        self._compresses = (peer.compression or compression) == ZSTD
        self.where = f"{peer.host}:{peer.port}"
        super().__init__(host, "mesh", self.where, peer)
        self._mesh = mesh
        self._may_dial = asyncio.Event()
        self._may_dial.set()
        self._neighbour = ""  # who it was last

    def begin(self, sink: OutboundSink[Dial], origin: Origin, now: float) -> Dial:
        return Dial(self._mesh, sink, origin, now, self._compresses)

    def accepted(self, attempt: Dial) -> None:
        connection = attempt.connection
        is_compressed = connection is not None and connection.outbox.compressor is not None
        shown = ", compressed" if is_compressed else ""
        logger.info("link to %s is up%s", attempt.name, shown)
        if self._compresses and not is_compressed:
            logger.warning(
                "the link to %s is not compressed: install gossamer[zstd] there", attempt.name
            )

    def cut(self) -> None:
        """Takes the link down and keeps it so until `heal`."""
        self._may_dial.clear()
        if self.sink is not None:
            self.sink.abort()

    def heal(self) -> None:
        self._may_dial.set()

    def reaches(self, neighbour: str) -> bool:
        """Whether the other end is, or was last, this neighbour."""
        name = "" if self.sink is None else self.sink.attempt.name
        return neighbour == (name or self._neighbour)

    async def run(self) -> None:
        """For ever; cancel it to stop."""
        tries = backoff()
        while True:
            if not self._may_dial.is_set():
                await self._may_dial.wait()
                tries.reset()
            started = time.monotonic()
            attempt = await self.attempt(KEEP_ALIVE_SECONDS)
            if attempt is not None and attempt.name:
                self._neighbour = attempt.name
                if time.monotonic() - started > STOOD_SECONDS:
                    tries.reset()
                    continue  # at once, and then with growing pauses
            await asyncio.sleep(tries.pause())


class MeshLinks:
    """All neighbours that this broker dials, those that are added while it runs among them."""

    def __init__(
        self,
        host: Host,
        mesh: Mesh,
        peers: tuple[Peer, ...],
        seeds: tuple[str, ...] = (),
        compression: str = "none",
    ) -> None:
        """`compression` is of the links that have none of their own."""
        self.mesh = mesh
        self._host = host
        self._compression = compression
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
        dialler = Dialler(self._host, self.mesh, peer, self._compression)
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
