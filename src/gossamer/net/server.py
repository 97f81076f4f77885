"""A broker on real sockets: starts listeners, keeps time, and stops cleanly."""

from __future__ import annotations

import asyncio
import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from gossamer.broker.broker import Broker
from gossamer.broker.loop_turns import ARCHIVE, JOURNAL, TIMER, MeasuredTurn
from gossamer.broker.mesh_port import PEER_PREFIX
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.sys_topics import start_reporting
from gossamer.net.bridges import BridgeLinks
from gossamer.net.clock import Clock
from gossamer.net.config import Config
from gossamer.net.config.listeners import Listener
from gossamer.net.epoll_sockets import epoll_sockets
from gossamer.net.listeners import Listeners
from gossamer.net.mesh_links import MeshLinks
from gossamer.net.resolved_config import ResolvedConfig, read_resolved
from gossamer.net.tracing import BrokerTracer, Spans
from gossamer.net.turns import Host
from gossamer.storage.files import StoreError
from gossamer.storage.writer import Store

if TYPE_CHECKING:
    from gossamer.archive.archive import Archive
    from gossamer.net.catch_up import CatchUps
    from gossamer.net.replay_service import ArchiveService

logger = logging.getLogger(__name__)

T = TypeVar("T")

# How often timed matters are looked at; keep-alives and expiries are in whole seconds.
_TICK_SECONDS = 0.25
_GOODBYE_SECONDS = 1.0  # a round trip of a client that is far away, and a commit
# How often somebody who waits for the store to be read looks.
_LOOK_SECONDS = 0.01
# Seconds by which a wall clock is set that somebody may wonder about.
_WORTH_A_WORD = 1.0


class Server:
    """One broker and its listeners, on the running event loop."""

    def __init__(
        self,
        broker: Broker,
        store: Store | None = None,
        archive: Archive | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.broker = broker
        self.store = store
        self.failure: asyncio.Future[StoreError] = asyncio.get_running_loop().create_future()
        self.loop: AbstractEventLoop = asyncio.get_running_loop()
        self.clock = clock if clock is not None else Clock()
        self.host = Host(broker, self.loop, self._end_turn, self.clock)
        self.listeners: Listeners | None = None
        self.mesh: Mesh | None = None
        self.archive = archive
        self.archive_service: ArchiveService | None = None
        self.mesh_links: MeshLinks | None = None
        self._bridges: BridgeLinks | None = None
        self._catch_ups: CatchUps | None = None
        self._spans: Spans | None = None
        self._ticker: asyncio.TimerHandle | None = None
        if store is not None:
            store.start(
                lambda batch: self._from_store(self._take_turn, partial(broker.committed, batch)),
                lambda error: self._from_store(self._store_failed, error),
                lambda: self._from_store(self._take_turn, broker.was_read),
            )

    async def open(self, resolved: ResolvedConfig) -> Listeners:
        """Listens wherever the configuration says and dials neighbours; OSError if it cannot."""
        if resolved.mesh is not None:
            await self._all_restored()
            self.mesh = Mesh(self.broker.core, resolved.mesh)
            start_reporting(self.mesh, self.clock.now())
        else:
            self._warn_of_neighbours()
        trace = resolved.config.trace
        if trace.endpoint is not None:
            self._spans = Spans(trace.endpoint, trace.service)
            self.broker.core.tracer = BrokerTracer(self._spans, self.clock)
        self.host.sockets = epoll_sockets(self.host)
        listeners = Listeners(self.host, resolved)
        await listeners.open(resolved)
        self.listeners = listeners
        section = resolved.config.mesh
        if self.mesh is not None and section is not None:
            self.mesh_links = MeshLinks(
                self.host, self.mesh, section.peer, section.seeds, section.compression
            )
            if section.stock:
                self._bridges = BridgeLinks(self.host, self.mesh, section.stock)
        if self.archive is not None:
            # Not at the top: only a broker with an archive needs pyarrow.
            from gossamer.net.replay_service import ArchiveService

            self.archive_service = ArchiveService(
                self.archive, self.broker, listeners.logins, resolved
            )
            plus = resolved.config.plus
            if plus.catch_up:
                from gossamer.net.catch_up import CatchUps

                self._catch_ups = CatchUps(self, self.archive, plus.catch_up_rows)
                self.broker.core.operators.begin_catching_up(self._catch_ups, self.clock.now())
        self._tick()
        return listeners

    async def _all_restored(self) -> None:
        """Neighbours compare what they hold with what is here, and take sessions over: a broker of
        a mesh has all of it before it meets anybody."""
        while self.broker.core.restoring is not None and not self.failure.done():
            await asyncio.sleep(_LOOK_SECONDS)

    def _warn_of_neighbours(self) -> None:
        """A broker that left its mesh goes on queueing for those it knew."""
        left = [name for name in self.broker.core.sessions if name.startswith(PEER_PREFIX)]
        if left:
            logger.warning(
                "the store keeps messages for %d neighbours (%s), but there is no [mesh]: put it "
                "back, or have them dropped with `gossamer ctl disconnect --discard`",
                len(left),
                ", ".join(sorted(left)),
            )

    async def start(self, address: str, port: int) -> int:
        """Listens on plain TCP for clients of this machine; answers the port in use."""
        listener = Listener(host=address, port=port)
        listeners = await self.open(read_resolved(Config(listener=(listener,))))
        return listeners.listeners[0].port

    async def stop(self) -> None:
        """Tells every client, writes what is left to the store, and closes."""
        if self._ticker is not None:
            self._ticker.cancel()
        if self.listeners is not None:
            self.listeners.close()
        await self._say_goodbye()
        if self._bridges is not None:
            await self._bridges.stop()
        if self.mesh_links is not None:
            await self.mesh_links.stop()
        if self._catch_ups is not None:
            self._catch_ups.stop()
        if self.archive_service is not None:
            self.archive_service.stop()
        self.broker.stop(self.clock.now())
        if self.store is not None:
            self.store.close()
        if self._spans is not None:
            self._spans.close()
        await asyncio.sleep(0)  # transports that were closed end in the loop's next turn
        if self.host.sockets is not None:
            self.host.sockets.close()

    async def _say_goodbye(self) -> None:
        """Clients bring to its end what they have begun, if they do so soon."""
        self.broker.begin_stop(self.clock.now())
        self._end_turn()
        end = self.loop.time() + _GOODBYE_SECONDS
        while self.broker.is_stopping() and self.loop.time() < end:
            await asyncio.sleep(_GOODBYE_SECONDS / 100)

    def _tick(self) -> None:
        # First the next one: whatever goes wrong in this tick, the clock goes on.
        self._ticker = self.loop.call_later(_TICK_SECONDS, self._tick)
        with MeasuredTurn(self.host.turns, TIMER):
            now = self.clock.now()
            self._guarded("the clock", self._look_at_clock, now)
            self._guarded("the tick", self.broker.tick, now)
            if self.archive is not None:
                self._guarded("the archive's tick", self._tick_archive, now)
            self._guarded("the end of the tick", self.host.after_chunk, now)

    def _look_at_clock(self, now: float) -> None:
        step = self.clock.look()
        if not step:
            return
        if abs(step) >= _WORTH_A_WORD:
            logger.warning(
                "the wall clock was set %.1f s %s: windows go by it from now on, and what has a "
                "duration takes as long as it would have",
                abs(step),
                "forward" if step > 0.0 else "back",
            )
        self.broker.clock_set(self.clock.offset, now)

    def _tick_archive(self, now: float) -> None:
        if self.archive is not None:
            turns, began = self.host.turns, self.clock.read()
            self.archive.tick()
            seconds = self.clock.read() - began
            if turns.part(seconds):
                turns.name_part(seconds, ARCHIVE, "")

    def _guarded(self, place: str, step: Callable[[float], None], now: float) -> None:
        """One step of a tick: if it fails, the others are taken all the same."""
        try:
            step(now)
        except Exception as error:
            self.broker.core.faults.note(place, error, "", now)

    def _end_turn(self) -> None:
        if self.store is not None:
            self.store.end_turn()

    def _from_store(self, call: Callable[[T], None], argument: T) -> None:
        """From the store's thread to ours."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(call, argument)

    def _take_turn(self, step: Callable[[float], None]) -> None:
        """Something that the store has done goes on in the core, and its outcome back to it."""
        with MeasuredTurn(self.host.turns, JOURNAL, "what waited for the store goes on"):
            now = self.clock.now()
            step(now)
            self.host.after_chunk(now)
            if self.broker.core.journal.is_awaited:
                self._end_turn()

    def _store_failed(self, error: StoreError) -> None:
        if not self.failure.done():
            self.failure.set_result(error)
