"""Bridged brokers on real sockets: dialled again and again with patience, and kept awake."""

from __future__ import annotations

import asyncio
import logging
import time
from asyncio import Transport
from typing import Final

from gossamer.broker.policy import Origin
from gossamer.mesh.bridges.bridge import BRIDGE_KEEP_ALIVE, Bridge
from gossamer.mesh.bridges.bridges import Bridges
from gossamer.mesh.bridges.dial import BridgeDial
from gossamer.mesh.mesh import Mesh
from gossamer.net.config.mesh import Stock as StockSection
from gossamer.net.outbound import Outbound, OutboundSink, backoff
from gossamer.net.resolved_config import bridge_settings
from gossamer.net.transport import Host

logger = logging.getLogger(__name__)

# How long a bridged broker may take to answer our login.
_LOGIN_SECONDS: Final = 10.0


class BridgeSink(OutboundSink[BridgeDial]):
    """The socket of one attempt."""

    def accepted(self) -> None:
        bridge = self.attempt.bridge
        role = "as owner" if bridge.is_owner else "on standby"
        logger.info("bridge %s is up, %s", bridge.name, role)

    def closed(self) -> None:
        self.attempt.bridge.lost()


class BridgeDialler:
    """Keeps one bridged broker connected, in whatever role."""

    def __init__(self, host: Host, bridge: Bridge, section: StockSection) -> None:
        self._bridge = bridge
        place = f"bridge {bridge.name}"
        self._caller = Outbound(host, "stock", place, (section.host, section.port))
        self._caller.use_tls(section.tls)

    async def run(self) -> None:
        """For ever; cancel it to stop."""
        tries = backoff()
        while True:
            if await self._attempt():
                tries.reset()
            await asyncio.sleep(tries.pause())

    async def _attempt(self) -> bool:
        """Whether it accepted us."""
        caller = self._caller
        sink = BridgeSink(caller.host, caller.door, self._begin)
        if not await caller.call(sink):
            self._bridge.lost()
            return False
        dial = sink.attempt
        try:
            await self._keep_awake(sink)
        finally:
            sink.abort()
        caller.say(dial.failure)
        return dial.connection is not None

    def _begin(
        self, sink: OutboundSink[BridgeDial], transport: Transport, address: str
    ) -> BridgeDial:
        origin = Origin(address, sink.door.name)
        return BridgeDial(sink.host.broker.core, self._bridge, sink, origin, sink.host.clock.now())

    async def _keep_awake(self, sink: BridgeSink) -> None:
        started = time.monotonic()
        while not sink.done.done():
            await asyncio.wait((sink.done,), timeout=BRIDGE_KEEP_ALIVE / 3)
            if sink.attempt.connection is not None:
                sink.attempt.ping()
                sink.host.after_chunk(sink.host.clock.now())
            elif time.monotonic() - started > _LOGIN_SECONDS:
                sink.abort()


class BridgeLinks:
    """All bridged brokers that are configured."""

    def __init__(self, host: Host, mesh: Mesh, sections: tuple[StockSection, ...]) -> None:
        settings = [bridge_settings(section) for section in sections]
        self._host = host
        self._bridges = bridges = Bridges(mesh, settings, host.clock.now())
        self._tasks = [
            host.loop.create_task(
                BridgeDialler(host, bridges.by_name[section.name], section).run(),
                name=f"dial bridge {section.name}",
            )
            for section in sections
        ]

    async def stop(self) -> None:
        now = self._host.clock.now()
        self._bridges.leave(now)
        self._host.after_chunk(now)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
