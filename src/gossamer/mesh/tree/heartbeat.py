"""Whether neighbours still answer, and how far away they are.

A link that carries messages both ways shows by them that both ends are there. One that is idle is
asked for a sign of life by the end that dialled: every 1.25 s, if the silence after which a
neighbour is gone is a second and a half, as it is by default. One that only sends asks twice a
second. A neighbour that was asked and has said nothing for two thirds of that silence is gone.

A link's cost is the power of two of its round-trip time, in milliseconds. It is measured often
until that is certain, and rarely then. It changes only if every answer of a while says so, and by
more than a step: a busy moment must not change the tree. Nor is a change announced while this
broker carries messages: QoS 0 is lost while the tree changes, and a better way is no reason for
that. Where it is never quiet, it is announced after a while.

For the same reason a link to a broker that can be reached already costs a step more as long as it
stands: it takes the place of one that carries messages only where it is nearer.
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
# Looks at the links within the silence after which a neighbour is gone.
_LOOKS: Final = 6
# Of which the neighbour has so many to answer in. It may be held up for as long.
_PATIENCE_LOOKS: Final = 4
# Looks after which an idle link is asked for a sign of life; the other end is a look behind, so
# that only one of them asks.
_IDLE_LOOKS: Final = 5
# Looks between two measurements of a round trip: while there are few, while the last speaks for
# another cost, and else.
_FIRST_LOOKS: Final = 2
_ASTRAY_LOOKS: Final = 16
_RARELY_LOOKS: Final = 40
_SOME: Final = 0.5  # of a look: timers are late by less
_PINGREQ: Final = b"\xc0\x00"
# How far a round trip may stray from its step before the step changes.
_SLACK: Final = 2.5
# How long another cost waits for a moment in which no message comes.
PATIENCE_SECONDS: Final = 600.0


class Heartbeat(Timer):
    """Looks at all links some times within the silence after which a neighbour is gone."""

    def __init__(self, tree_links: TreeLinks) -> None:
        self._tree_links = tree_links
        self._due = tree_links.core.started_at
        self._changed_at = 0.0  # when a cost became another that is not announced; 0.0 if none is
        self._messages = 0  # that had come by the last look at the costs
        self._costs_at = 0.0

    def fire(self, now: float) -> float:
        silence = self._tree_links.mesh.settings.silence
        is_late = not 0.0 <= now - self._due < silence / 3
        self._look(now, is_late)
        if not 0.0 <= now - self._costs_at < silence / 3:
            self._costs_at = now
            self._announce_if_quiet(now)
        self._due = now + silence / _LOOKS
        return self._due

    def measure(self, link: Link, now: float) -> None:
        """Asks for an answer that shows how far away the neighbour is."""
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
                round_trip.is_spare = link.name in self._tree_links.view.tree
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

    def _look(self, now: float, is_late: bool) -> None:
        """Asks neighbours for an answer; one that gave none is gone. If this broker itself was held
        up, nobody is judged by it."""
        mesh = self._tree_links.mesh
        for link in list(mesh.by_name.values()):
            connection = link.connection
            round_trip = link.round_trip
            if connection is None or round_trip is None:
                continue
            try:
                if is_late:
                    connection.last_seen = now
                self._look_at(link, connection, round_trip, now)
            except Exception as error:
                mesh.core.faults.note("a heartbeat", error, f"link {link.name}", now)

    def _look_at(
        self, link: Link, connection: Connection, round_trip: RoundTrip, now: float
    ) -> None:
        look = self._tree_links.mesh.settings.silence / _LOOKS
        silent = now - connection.last_seen
        outbox = connection.outbox
        has_sent = outbox.bytes_sent != round_trip.sent
        if round_trip.asked_at > connection.last_seen:
            if now - round_trip.asked_at > look * _PATIENCE_LOOKS:
                logger.warning(
                    "nothing received from %s for %.1f s: closing the link", link.name, silent
                )
                _cut(connection, now)
                return
        elif round_trip.is_due(now, look):
            round_trip.asked_at = now
            self.measure(link, now)
        elif silent > look * (_idle_looks(link) - _SOME) or (
            has_sent and silent > look * (1 + _SOME)
        ):
            round_trip.asked_at = now
            if link.is_dialled:
                outbox.put(_PINGREQ)
            else:  # one that dialled expects none, as clients do
                self.measure(link, now)
        round_trip.sent = outbox.bytes_sent + outbox.size


def _idle_looks(link: Link) -> int:
    return _IDLE_LOOKS if link.is_dialled else _IDLE_LOOKS + 1


def _cut(connection: Connection, now: float) -> None:
    sink = connection.outbox.sink
    connection.lost(now)
    sink.abort()


class RoundTrip:
    """One connection's."""

    __slots__ = (
        "_is_astray",
        "_measured_at",
        "_samples",
        "asked_at",
        "cost",
        "is_measured",
        "is_spare",
        "round_trip",
        "sent",
    )

    def __init__(self) -> None:
        self.cost = 0
        self.is_measured = False  # whether the neighbour has answered at all
        self.is_spare = False  # another way to a broker that could be reached before
        self.round_trip = 0.0  # seconds, the shortest of the last few
        self.asked_at = 0.0  # when the neighbour was last asked for anything
        self.sent = 0  # bytes that it had been sent by the last look, or by what that asked
        self._samples: list[float] = []
        self._is_astray = False  # the last answer speaks for another cost
        self._measured_at = 0.0

    def announced(self) -> int:
        """The cost that others are told."""
        return self.cost + 1 if self.is_spare else self.cost

    def is_due(self, now: float, look: float) -> bool:
        """Whether it is time to measure again; if so, it is taken as done."""
        looks = _RARELY_LOOKS
        if len(self._samples) < _SAMPLES:
            looks = _FIRST_LOOKS
        elif self._is_astray:
            looks = _ASTRAY_LOOKS
        if 0.0 <= now - self._measured_at < look * (looks - _SOME):
            return False
        self._measured_at = now
        return True

    def answered(self, round_trip: float) -> bool:
        """The neighbour answered after so many seconds; whether the cost is another now."""
        if round_trip < 0.0:  # the clock was set back
            round_trip = self.round_trip
        self._is_astray = self._speaks_for_another(round_trip)
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
        if self._speaks_for_another(shortest):
            self.cost = cost_of(shortest)
            return True
        return False

    def _speaks_for_another(self, round_trip: float) -> bool:
        """Whether it is more than a step away from the cost."""
        return cost_of(round_trip / _SLACK) > self.cost or (
            cost_of(round_trip * _SLACK) < self.cost
        )


def cost_of(round_trip: float) -> int:
    """0 for a local network, then one more for each doubling."""
    cost = 0
    while round_trip >= _NEAR_SECONDS and cost < _MOST_COST:
        round_trip /= 2
        cost += 1
    return cost
