"""A link between two brokers: one dials, again and again until it stands; it can be cut.

A cut loses what is on its way. Each side notices in its own time, so for a while one may believe
in a connection that the other has given up.
"""

from __future__ import annotations

from random import Random
from typing import Final

from gossamer.backoff import Backoff
from gossamer.broker.core import CLOSED, OPEN
from gossamer.mesh.dial import Dial
from gossamer.mesh.link import Link
from gossamer.sim.host import ORIGIN, HostEnd, SimulatedHost
from gossamer.sim.network import End, Road, join
from gossamer.sim.timeline import Event

FIRST_RETRY: Final = 0.1  # seconds
LAST_RETRY: Final = 2.0
PING_SECONDS: Final = 4.0  # well within the time after which a silent neighbour is taken for gone


class PeerEnd(HostEnd):
    """The accepting broker's end; it counts the interests that are told on it."""

    def __init__(self, host: SimulatedHost, road: Road, peer: str) -> None:
        super().__init__(host, road)
        self._peer = peer
        self._link: Link | None = host.mesh.by_name.get(peer)
        self._told = 0 if self._link is None else self._link.advertiser.interests

    def interests_written(self) -> int:
        link = self._link
        if link is None:
            link = self.host.mesh.by_name.get(self._peer)
            if link is None:
                return 0
            self._link = link
        told = link.advertiser.interests
        written = told - self._told
        self._told = told
        return written


class DialEnd(PeerEnd):
    """The dialling broker's end."""

    def __init__(self, host: SimulatedHost, road: Road, peer: str) -> None:
        super().__init__(host, road, peer)
        self.dial: Dial | None = None

    def take(self, data: bytes, now: float) -> None:
        dial = self.dial
        if dial is not None:
            dial.receive(data, now)
            if dial.connection is not None:
                self.outbox = dial.connection.outbox
                self.connection = dial.connection

    def lost(self, now: float) -> None:
        if self.dial is not None:
            self.dial.lost(now)


class Cable(Event):
    """`dialler` calls `acceptor`."""

    def __init__(
        self,
        dialler: SimulatedHost,
        acceptor: SimulatedHost,
        there: Road,
        back: Road,
        compresses: bool = False,
    ) -> None:
        self.compresses = compresses
        self.dialler = dialler
        self.acceptor = acceptor
        self.there = there
        self.back = back
        self.is_cut = False
        self.near: DialEnd | None = None
        self.far: PeerEnd | None = None
        # As the network's callers do it: two that call each other at once must not go on so.
        self._tries = Backoff(
            FIRST_RETRY, LAST_RETRY, Random(f"{dialler.name} calls {acceptor.name}")
        )
        self._life = 0  # the dialler's when it dialled

    def begin(self, at: float) -> None:
        self.dialler.timeline.add(at, self)

    def fire(self, now: float) -> None:
        """Dials, or keeps the connection warm."""
        wait = PING_SECONDS
        near = self.near
        if near is not None and not self._is_alive(near):
            self.near = near = None
        if near is None:
            wait = self._tries.pause()
            if self.dialler.is_up and self.acceptor.is_up and not self.is_cut:
                self._call(now)
        elif near.dial is not None and near.dial.connection is not None:
            self._tries.reset()
            near.dial.ping()
            self.dialler.end_turn(now)
        self.dialler.timeline.add(now + wait, self)

    def is_open(self) -> bool:
        """Whether both sides are through with the handshake."""
        return _is_ready(self.near) and _is_ready(self.far)

    def is_quiet(self) -> bool:
        """Whether nothing is on its way in either direction."""
        now = self.dialler.timeline.now
        near, far = self.near, self.far
        return near is not None and far is not None and near.is_quiet(now) and far.is_quiet(now)

    def break_off(self) -> list[End]:
        """What is on its way is lost; the ends whose owners must be told, some time."""
        ends: list[End] = []
        for end in (self.near, self.far):
            if end is not None and end.is_open:
                end.is_open = False
                ends.append(end)
        return ends

    def _is_alive(self, near: DialEnd) -> bool:
        if self._life != self.dialler.life or near.dial is None or near.dial.failure:
            return False
        connection = near.dial.connection
        return connection is None or connection.stage != CLOSED

    def _call(self, now: float) -> None:
        near = DialEnd(self.dialler, self.there, self.acceptor.name)
        far = PeerEnd(self.acceptor, self.back, self.dialler.name)
        join(near, far)
        self.near = near
        self.far = far
        self._life = self.dialler.life
        self.dialler.departure = max(now, self.dialler.departure)
        at = self.dialler.clock.at(now)
        near.dial = Dial(self.dialler.mesh, near, ORIGIN, at, self.compresses)


def _is_ready(end: HostEnd | None) -> bool:
    if end is None or not end.is_open or end.connection is None:
        return False
    return end.connection.is_peer and end.connection.stage == OPEN
