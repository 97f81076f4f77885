"""Bytes on their way: ends of connections, and the roads that they travel.

A road is one direction of a link. It outlives connections, delays what it carries by its latency
and by the time its bandwidth needs, and counts. Connections are TCP's: bytes arrive in order or
not at all; what a lossy network loses is sent again and comes late. Two connections are in no
order with each other.
"""

from __future__ import annotations

import math
from random import Random
from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.session.outbox import Outbox
from gossamer.session.sink import Sink
from gossamer.sim.timeline import Event, Timeline

SEGMENT: Final = 1_460  # bytes that get lost together
RETRANSMISSION: Final = 0.2  # seconds until a lost segment is sent again; then twice as long
# Unsent bytes past which a broker is told that the socket takes no more, as the real shell does.
WRITE_BUFFER: Final = 1_048_576

# On a slow road bytes trickle in: whoever listens for signs of life hears some this often.
TRICKLE_SECONDS: Final = 0.25

# So that a time on the grid stays where it is, whatever floating point makes of it.
_SLACK: Final = 1e-6


@mypyc_attr(allow_interpreted_subclasses=True)
class Party(Event):
    """Somebody who has connections."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline

    def leaving(self) -> float:
        """When that what it writes now is on its way."""
        return self.timeline.now

    def sends(self, messages: int) -> None:
        """So many publications and interests are in what it writes now."""

    def arrive(self, at: float, end: End, data: bytes, publications: int, interests: int) -> None:
        """Bytes will reach this end at that time; no bytes at all are the end of the stream."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Road:
    """One direction between two places."""

    def __init__(self, latency: float, bandwidth: float = 0.0, step: float = 0.0) -> None:
        self.latency = latency  # seconds
        self.bandwidth = bandwidth  # bytes a second, 0 for no limit
        self.step = step  # arrivals are moved to the next multiple of this, 0 for exact times
        self.loss = 0.0  # the part of the segments that is sent twice or more often
        self.random = Random(0)
        self.free_at = 0.0  # when everything given to it has left
        self.stalled_until = 0.0  # nothing arrives before
        self.bytes = 0
        self.publications = 0
        self.interests = 0
        self.chunks = 0

    def count_anew(self) -> None:
        self.bytes = 0
        self.publications = 0
        self.interests = 0
        self.chunks = 0

    def carry(
        self, end: End, data: bytes, leaves: float, publications: int, interests: int
    ) -> None:
        self.bytes += len(data)
        self.publications += publications
        self.interests += interests
        self.chunks += 1
        if self.free_at > leaves:
            leaves = self.free_at
        if self.bandwidth:
            piece = max(1, int(self.bandwidth * TRICKLE_SECONDS))
            start = 0
            while len(data) - start > piece:
                leaves += TRICKLE_SECONDS
                self._send(end, data[start : start + piece], leaves, 0, 0)
                start += piece
            data = data[start:]
            leaves += len(data) / self.bandwidth
            self.free_at = leaves
        self._send(end, data, leaves, publications, interests)

    def _send(
        self, end: End, data: bytes, leaves: float, publications: int, interests: int
    ) -> None:
        at = leaves + self.latency
        if self.loss:
            at += self._repeats(len(data))
        if self.stalled_until > at:
            at = self.stalled_until
        self.deliver(end, data, at, publications, interests)

    def deliver(self, end: End, data: bytes, at: float, publications: int, interests: int) -> None:
        if self.step:
            at = math.ceil(at / self.step - _SLACK) * self.step
        if end.last_at > at:
            at = end.last_at
        end.last_at = at
        end.owner.arrive(at, end, data, publications, interests)

    def _repeats(self, size: int) -> float:
        """How much later a chunk is complete because of segments that were lost."""
        latest = 0.0
        for _ in range(0, size, SEGMENT):
            late = 0.0
            wait = RETRANSMISSION
            while self.random.random() < self.loss:
                late += wait
                wait *= 2
            latest = max(latest, late)
        return latest


@mypyc_attr(allow_interpreted_subclasses=True)
class End(Sink):
    """One end of a connection: what its owner writes here arrives at the other end."""

    def __init__(self, owner: Party, road: Road) -> None:
        self.owner = owner
        self.road = road  # away from here
        self.other: End | None = None
        self.is_open = True
        self.last_at = 0.0  # when the last of what is on its way here arrives
        self.outbox: Outbox | None = None  # told when the road takes no more
        self._written = 0  # publications

    def is_quiet(self, now: float) -> bool:
        """Whether everything that was sent here has arrived."""
        return self.last_at < now

    def take(self, data: bytes, now: float) -> None:
        """What arrived; `now` is the owner's own clock."""

    def lost(self, now: float) -> None:
        """The connection is gone."""

    def unblocked(self, now: float) -> None:
        """The road takes more again."""

    def interests_written(self) -> int:
        """How many interests are in the bytes that are being written now."""
        return 0

    def write(self, data: bytes) -> None:
        other = self.other
        if other is None or not self.is_open:
            return
        owner = self.owner
        leaving = owner.leaving()
        road = self.road
        outbox = self.outbox
        publications = 0
        if outbox is not None:
            publications = outbox.messages_sent - self._written
            self._written = outbox.messages_sent
        interests = self.interests_written()
        owner.sends(publications + interests)
        road.carry(other, data, leaving, publications, interests)
        if outbox is not None and road.bandwidth and not outbox.blocked:
            waiting = (road.free_at - leaving) * road.bandwidth
            if waiting > WRITE_BUFFER:
                outbox.blocked = True
                half = WRITE_BUFFER / 2 / road.bandwidth
                owner.timeline.add(road.free_at - half, Unblocking(self))

    def close(self) -> None:
        other = self.other
        if other is not None and self.is_open:
            self.is_open = False
            if other.is_open:
                self.road.carry(other, b"", self.owner.leaving(), 0, 0)

    def abort(self) -> None:
        self.close()


class Unblocking(Event):
    def __init__(self, end: End) -> None:
        self.end = end

    def fire(self, now: float) -> None:
        if self.end.is_open:
            self.end.unblocked(now)


def join(near: End, far: End) -> None:
    """Makes them the two ends of one connection."""
    near.other = far
    far.other = near
