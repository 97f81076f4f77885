"""Bridged brokers on real sockets: dialled again and again with patience, and kept awake."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from gossamer.broker.policy import Origin
from gossamer.mesh.bridges.bridge import BRIDGE_KEEP_ALIVE, Bridge
from gossamer.mesh.bridges.bridge_dial import BridgeDial
from gossamer.mesh.bridges.bridges import Bridges
from gossamer.mesh.mesh import Mesh
from gossamer.net.config.mesh import BridgeSection
from gossamer.net.outbound import Outbound, OutboundSink, backoff
from gossamer.net.resolved_config import bridge_settings
from gossamer.net.turns import Host

logger = logging.getLogger(__name__)

# How long a bridged broker may take to answer our login.
_LOGIN_SECONDS: Final = 10.0


class BridgeDialler(Outbound[BridgeDial]):
    """Keeps one bridged broker connected, in whatever role."""

    def __init__(self, host: Host, bridge: Bridge, section: BridgeSection) -> None:
        super().__init__(host, "stock", f"bridge {bridge.name}", section)
        self._bridge = bridge

    def begin(self, sink: OutboundSink[BridgeDial], origin: Origin, now: float) -> BridgeDial:
        return BridgeDial(self.host.broker.core, self._bridge, sink, origin, now)

    def accepted(self, attempt: BridgeDial) -> None:
        role = "as owner" if self._bridge.is_owner else "on standby"
        logger.info("bridge %s is up, %s", self._bridge.name, role)

    def ended(self) -> None:
        self._bridge.lost()

    async def run(self) -> None:
        """For ever; cancel it to stop."""
        tries = backoff()
        while True:
            attempt = await self.attempt(BRIDGE_KEEP_ALIVE, _LOGIN_SECONDS)
            if attempt is not None and attempt.connection is not None:
                tries.reset()
            await asyncio.sleep(tries.pause())


class BridgeLinks:
    """All bridged brokers that are configured."""

    def __init__(self, host: Host, mesh: Mesh, sections: tuple[BridgeSection, ...]) -> None:
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
