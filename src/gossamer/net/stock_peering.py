"""Stock brokers on real sockets: dialled again and again with patience, and kept awake."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from asyncio import Transport
from typing import Any, Final

from gossamer.broker.policy import Origin
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.stock import Stock
from gossamer.mesh.stock_dialing import StockDial
from gossamer.mesh.stock_settings import STOCK_KEEP_ALIVE
from gossamer.mesh.stocks import Stocks
from gossamer.net.config.stock import Stock as StockSection
from gossamer.net.material import stock_settings
from gossamer.net.peering import CONNECT_SECONDS, FIRST_PAUSE, LINK_BUFFER, LONGEST_PAUSE
from gossamer.net.tls import client_context
from gossamer.net.transport import Door, Host, SocketSink

logger = logging.getLogger(__name__)

# How long a stock broker may take to answer our login.
_LOGIN_SECONDS: Final = 10.0


class StockSink(SocketSink):
    """The socket of one attempt."""

    def __init__(self, host: Host, door: Door, stock: Stock) -> None:
        super().__init__(host, door)
        self._stock = stock
        self.dial: StockDial | None = None
        self.done: asyncio.Future[None] = host.loop.create_future()

    def connection_made(self, transport: Transport) -> None:
        self.transport = transport
        transport.set_write_buffer_limits(high=self.door.write_buffer)
        peer = transport.get_extra_info("peername")
        origin = Origin(str(peer[0]) if isinstance(peer, tuple) else "", self.door.name)
        core = self.host.broker.core
        self.dial = StockDial(core, self._stock, self, origin, time.time())

    def data_received(self, data: bytes) -> None:
        dial = self.dial
        assert dial is not None
        now = time.time()
        dial.receive(data, now)
        if self.connection is None and dial.connection is not None:
            self.connection = dial.connection
            role = "its owner" if self._stock.is_owner else "standing by"
            logger.info("stock broker %s is reached, %s", self._stock.name, role)
        self.host.after_chunk(now)

    def connection_lost(self, error: Exception | None) -> None:
        dial = self.dial
        assert dial is not None
        self.transport = None
        self.connection = None
        now = time.time()
        dial.lost(now)
        self._stock.lost()
        self.host.after_chunk(now)
        if not self.done.done():
            self.done.set_result(None)


class StockDialler:
    """Keeps one stock broker connected, in whatever role."""

    def __init__(self, host: Host, stock: Stock, section: StockSection) -> None:
        self._host = host
        self._stock = stock
        self._section = section
        self._door = Door("stock")
        self._door.write_buffer = LINK_BUFFER
        self._context = None if section.tls is None else client_context(section.tls)
        self._last_failure = ""

    async def run(self) -> None:
        """For ever; cancel it to stop."""
        pause = FIRST_PAUSE
        while True:
            has_stood = await self._attempt()
            pause = FIRST_PAUSE if has_stood else min(2 * pause, LONGEST_PAUSE)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))

    async def _attempt(self) -> bool:
        """Whether it accepted us."""
        section = self._section
        tls: dict[str, Any] = {}
        if self._context is not None and section.tls is not None:
            name = section.tls.server_name or section.host
            tls = {"ssl": self._context, "server_hostname": name}
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, sink = await self._host.loop.create_connection(  # type: ignore[type-var]
                    lambda: StockSink(self._host, self._door, self._stock),
                    section.host,
                    section.port,
                    **tls,
                )
        except (OSError, TimeoutError) as error:
            self._stock.lost()
            self._say(str(error) or "no answer")
            return False
        assert isinstance(sink, StockSink)
        dial = sink.dial
        assert dial is not None
        try:
            await self._keep_awake(sink, dial)
        finally:
            sink.abort()
        self._say(dial.failure)
        return dial.connection is not None

    async def _keep_awake(self, sink: StockSink, dial: StockDial) -> None:
        started = time.monotonic()
        while not sink.done.done():
            await asyncio.wait((sink.done,), timeout=STOCK_KEEP_ALIVE / 3)
            if dial.connection is not None:
                dial.ping()
                self._host.after_chunk(time.time())
            elif time.monotonic() - started > _LOGIN_SECONDS:
                sink.abort()

    def _say(self, failure: str) -> None:
        """Once for each new reason: it may be away for days."""
        if failure != self._last_failure:
            self._last_failure = failure
            logger.warning("no link to stock broker %s: %s", self._stock.name, failure)


class StockPeering:
    """All stock brokers that are configured."""

    def __init__(self, host: Host, mesh: Mesh, sections: tuple[StockSection, ...]) -> None:
        settings = [stock_settings(section) for section in sections]
        self._host = host
        self._stocks = stocks = Stocks(mesh, settings, time.time())
        self._tasks = [
            host.loop.create_task(
                StockDialler(host, stocks.by_name[section.name], section).run(),
                name=f"dial stock broker {section.name}",
            )
            for section in sections
        ]

    async def stop(self) -> None:
        now = time.time()
        self._stocks.leave(now)
        self._host.after_chunk(now)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
