"""Stock brokers on real sockets: dialled again and again with patience, and kept awake."""

from __future__ import annotations

import asyncio
import logging
import time
from asyncio import Transport
from typing import Final

from gossamer.broker.policy import Origin
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.stock.dialing import StockDial
from gossamer.mesh.stock.settings import STOCK_KEEP_ALIVE
from gossamer.mesh.stock.stock import Stock
from gossamer.mesh.stock.stocks import Stocks
from gossamer.net.calling import FIRST_PAUSE, LONGEST_PAUSE, Caller, CallSink, rest
from gossamer.net.config.stock import Stock as StockSection
from gossamer.net.material import stock_settings
from gossamer.net.transport import Host

logger = logging.getLogger(__name__)

# How long a stock broker may take to answer our login.
_LOGIN_SECONDS: Final = 10.0


class StockSink(CallSink[StockDial]):
    """The socket of one attempt."""

    def accepted(self) -> None:
        stock = self.attempt.stock
        role = "its owner" if stock.is_owner else "standing by"
        logger.info("stock broker %s is reached, %s", stock.name, role)

    def closed(self) -> None:
        self.attempt.stock.lost()


class StockDialler:
    """Keeps one stock broker connected, in whatever role."""

    def __init__(self, host: Host, stock: Stock, section: StockSection) -> None:
        self._stock = stock
        place = f"stock broker {stock.name}"
        self._caller = Caller(host, "stock", place, (section.host, section.port))
        self._caller.use_tls(section.tls)

    async def run(self) -> None:
        """For ever; cancel it to stop."""
        pause = FIRST_PAUSE
        while True:
            has_stood = await self._attempt()
            pause = FIRST_PAUSE if has_stood else min(2 * pause, LONGEST_PAUSE)
            await rest(pause)

    async def _attempt(self) -> bool:
        """Whether it accepted us."""
        caller = self._caller
        sink = StockSink(caller.host, caller.door, self._begin)
        if not await caller.call(sink):
            self._stock.lost()
            return False
        dial = sink.attempt
        try:
            await self._keep_awake(sink)
        finally:
            sink.abort()
        caller.say(dial.failure)
        return dial.connection is not None

    def _begin(self, sink: CallSink[StockDial], transport: Transport, address: str) -> StockDial:
        origin = Origin(address, sink.door.name)
        return StockDial(sink.host.broker.core, self._stock, sink, origin, sink.host.clock.now())

    async def _keep_awake(self, sink: StockSink) -> None:
        started = time.monotonic()
        while not sink.done.done():
            await asyncio.wait((sink.done,), timeout=STOCK_KEEP_ALIVE / 3)
            if sink.attempt.connection is not None:
                sink.attempt.ping()
                sink.host.after_chunk(sink.host.clock.now())
            elif time.monotonic() - started > _LOGIN_SECONDS:
                sink.abort()


class StockPeering:
    """All stock brokers that are configured."""

    def __init__(self, host: Host, mesh: Mesh, sections: tuple[StockSection, ...]) -> None:
        settings = [stock_settings(section) for section in sections]
        self._host = host
        self._stocks = stocks = Stocks(mesh, settings, host.clock.now())
        self._tasks = [
            host.loop.create_task(
                StockDialler(host, stocks.by_name[section.name], section).run(),
                name=f"dial stock broker {section.name}",
            )
            for section in sections
        ]

    async def stop(self) -> None:
        now = self._host.clock.now()
        self._stocks.leave(now)
        self._host.after_chunk(now)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
