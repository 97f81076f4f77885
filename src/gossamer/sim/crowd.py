"""Thousands of clients that cost next to nothing: bytes straight into a broker and out of it.

A publisher is the bytes it sends, a subscriber counts what it gets. Of some subscribers every
message is looked at: when it was published, and which it is.
"""

from __future__ import annotations

import math
import struct
from random import Random
from typing import Final

from gossamer.sim.host import HostEnd, SimulatedHost
from gossamer.sim.network import Road
from gossamer.sim.timeline import Event, Timeline
from gossamer.wire.frames import header_length, packet_length

STAMP: Final = struct.Struct(">dQ")  # at the start of a payload: when, and which
_PUBLISH_HEAD: Final = 0x30


class Tally:
    """What all subscribers got."""

    def __init__(self) -> None:
        self.deliveries = 0
        self.bytes = 0


class CrowdEnd(HostEnd):
    """A client, seen from its broker. Nothing that is written to it takes time."""

    def __init__(self, host: SimulatedHost, road: Road, tally: Tally) -> None:
        super().__init__(host, road)
        self.tally = tally
        self.got = 0

    def write(self, data: bytes) -> None:
        outbox = self.outbox
        if outbox is not None:
            count = outbox.messages_sent - self._written
            self._written = outbox.messages_sent
            self.got += count
            self.tally.deliveries += count
            self.tally.bytes += len(data)

    def close(self) -> None:
        self.is_open = False


class ObservedEnd(CrowdEnd):
    """A subscriber that looks at each message; `seen` adds up which they were."""

    def __init__(self, host: SimulatedHost, road: Road, tally: Tally) -> None:
        super().__init__(host, road, tally)
        self.latencies: list[float] = []
        self.seen = 0

    def write(self, data: bytes) -> None:
        super().write(data)
        position = 0
        end = len(data)
        while position < end:
            size = packet_length(data, position)
            if data[position] == _PUBLISH_HEAD:
                topic = position + header_length(data, position)
                payload = topic + 3 + (data[topic] << 8 | data[topic + 1])
                sent, number = STAMP.unpack_from(data, payload)
                self.latencies.append(self.host.departure - sent)
                self.seen ^= (number * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
            position += size


class Speech:
    """What a client says at its time of a second: a packet, or (if empty) any publication."""

    __slots__ = ("at", "end", "packet")

    def __init__(self, at: float, end: CrowdEnd, packet: bytes = b"") -> None:
        self.at = at
        self.end = end
        self.packet = packet


class Chorus(Event):
    """The same speeches in each of its rounds of a second; publications on topics at random."""

    def __init__(self, timeline: Timeline, step: float, rounds: int, seed: int) -> None:
        self.timeline = timeline
        self.step = step
        self.rounds = rounds
        self.said = 0
        self.speeches: list[Speech] = []
        self.heads: list[bytes] = []  # of a PUBLISH on each topic, up to its payload
        self.filling = b""  # the rest of a payload
        self._random = Random(seed)
        self._start = 0.0
        self._ticks = 0
        self._next = 0
        self._round = 0

    def begin(self) -> None:
        self.speeches.sort(key=_time_of)
        self._ticks = math.ceil(self.timeline.now / self.step)
        self._start = self._ticks * self.step
        self.timeline.add(self._start, self)

    def is_over(self) -> bool:
        return self._round >= self.rounds

    def fire(self, now: float) -> None:
        while self._round < self.rounds:
            base = self._start + self._round
            while self._next < len(self.speeches):
                speech = self.speeches[self._next]
                if base + speech.at > now:
                    self._ticks += 1
                    self.timeline.add(self._ticks * self.step, self)
                    return
                self._next += 1
                self._say(speech, now)
            self._next = 0
            self._round += 1

    def _say(self, speech: Speech, now: float) -> None:
        end = speech.end
        self.said += 1
        if speech.packet:
            end.host.arrive(now, end, speech.packet, 0, 1)
        else:
            head = self.heads[int(self._random.random() * len(self.heads))]
            end.host.arrive(now, end, head + STAMP.pack(now, self.said) + self.filling, 1, 0)


def _time_of(speech: Speech) -> float:
    return speech.at
