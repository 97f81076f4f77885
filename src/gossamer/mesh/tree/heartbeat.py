"""Whether neighbours still answer, and how far away they are: they are pinged again and again.

A link's cost is the power of two of its round-trip time, in milliseconds. It changes only if every
answer of a while says so, and by more than a step: a busy moment must not change the tree. Nor is a
change announced while this broker carries messages: QoS 0 is lost while the tree changes, and a
better way is no reason for that. Where it is never quiet, it is announced after a while.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from gossamer.broker.connection import Connection
from gossamer.broker.timers import Timer
from gossamer.mesh.control_messages import PING, PONG, control_packet
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.link import Link
    from gossamer.mesh.tree.tree_links import TreeLinks

logger = logging.getLogger(__name__)

_TIME_BYTES: Final = 8
# Below this everything is a local network, where load decides round trips more than distance does.
_NEAR_SECONDS: Final = 0.004
_MOST_COST: Final = 16
_SAMPLES: Final = 8
# How far a round trip may stray from its step before the step changes.
_SLACK: Final = 2.5
# How long another cost waits for a moment in which no message comes.
PATIENCE_SECONDS: Final = 600.0


class Heartbeat(Timer):
    """Every third of the silence after which a neighbour is taken for gone."""

    def __init__(self, tree_links: TreeLinks) -> None:
        self._tree_links = tree_links
        self._due = tree_links.core.started_at
        self._changed_at = 0.0  # when a cost became another that is not announced; 0.0 if none is
        self._messages = 0  # that had come by the last beat

    def fire(self, now: float) -> float:
        pause = self._tree_links.mesh.settings.silence / 3
        is_late = not 0.0 <= now - self._due < pause
        self._beat(now, is_late)
        self._announce_if_quiet(now)
        self._due = now + pause
        return self._due

    def ask(self, link: Link, now: float) -> None:
        sent = int(now * 1e6).to_bytes(_TIME_BYTES, "big")
        link.send([control_packet(PING, sent)])

    def ping(self, link: Link, payload: bytes) -> None:
        """The neighbour asks."""
        if len(payload) != 1 + _TIME_BYTES:
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} sent a malformed ping")
        link.send([control_packet(PONG, payload[1:])])

    def pong(self, link: Link, payload: bytes, now: float) -> None:
        """The neighbour answers."""
        round_trip = link.round_trip
        if len(payload) != 1 + _TIME_BYTES or round_trip is None:
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} answered no ping")
        sent = int.from_bytes(payload[1:], "big") / 1e6
        is_first = not round_trip.is_measured
        if round_trip.answered(now - sent):
            if is_first:
                self._tree_links.has_news = True
            else:
                self._changed_at = self._changed_at or now

    def _announce_if_quiet(self, now: float) -> None:
        """What has changed of the costs, if no message came since the last beat."""
        messages = self._tree_links.core.counters.messages_received
        is_quiet = messages == self._messages
        self._messages = messages
        if self._changed_at and (is_quiet or not 0.0 <= now - self._changed_at < PATIENCE_SECONDS):
            self._changed_at = 0.0
            self._tree_links.has_news = True

    def _beat(self, now: float, is_late: bool) -> None:
        """Asks every neighbour for an answer; one that has been silent is gone. If this broker
        itself was held up, nobody is judged by it."""
        mesh = self._tree_links.mesh
        silence = mesh.settings.silence
        for link in list(mesh.by_name.values()):
            connection = link.connection
            if connection is None:
                continue
            try:
                if is_late:
                    connection.last_seen = now
                elif now - connection.last_seen > silence:
                    logger.warning(
                        "nothing received from %s for %.1f s: closing the link", link.name, silence
                    )
                    _cut(connection, now)
                    continue
                self.ask(link, now)
            except Exception as error:
                mesh.core.faults.note("a heartbeat", error, f"link {link.name}", now)


def _cut(connection: Connection, now: float) -> None:
    sink = connection.outbox.sink
    connection.lost(now)
    sink.abort()


class RoundTrip:
    """One connection's."""

    __slots__ = ("_samples", "cost", "is_measured", "round_trip")

    def __init__(self) -> None:
        self.cost = 0
        self.is_measured = False  # whether the neighbour has answered at all
        self.round_trip = 0.0  # seconds, the shortest of the last few
        self._samples: list[float] = []

    def answered(self, round_trip: float) -> bool:
        """The neighbour answered after so many seconds; whether the cost is another now."""
        if round_trip < 0.0:  # the clock was set back
            round_trip = self.round_trip
        samples = self._samples
        samples.append(round_trip)
        if len(samples) > _SAMPLES:
            del samples[0]
        # The shortest is what the road takes; the rest is what somebody was busy with.
        shortest = min(samples)
        self.round_trip = shortest
        if not self.is_measured:
            self.is_measured = True
            self.cost = cost_of(shortest)
            return True
        if len(samples) < _SAMPLES:
            return False
        if cost_of(shortest / _SLACK) > self.cost or cost_of(shortest * _SLACK) < self.cost:
            self.cost = cost_of(shortest)
            return True
        return False


def cost_of(round_trip: float) -> int:
    """0 for a local network, then one more for each doubling."""
    cost = 0
    while round_trip >= _NEAR_SECONDS and cost < _MOST_COST:
        round_trip /= 2
        cost += 1
    return cost
