"""What the broker counts, and its faults; `$SYS` topics, metrics and the admin API read both.

An exception that no rule of MQTT foresees is a fault of ours. It ends the one thing it is about (a
timer, a connection, a delivery) and nothing else; whoever catches it notes it here.
"""

import logging
from typing import Final

logger = logging.getLogger(__name__)

# A fault that repeats is logged once in this time for each place and kind, with how many it were.
LOG_SECONDS: Final = 60.0


class Counters:
    """Totals since start, plus a few gauges that the core keeps current."""

    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "connections_accepted",
        "connections_open",
        "connections_refused",
        "connections_refused_early",
        "damaged",
        "dropped_full",
        "dropped_slow",
        "dropped_too_large",
        "expired",
        "handshakes_failed",
        "located_bytes_read",
        "located_bytes_sent",
        "located_undecided",
        "messages_received",
        "messages_sent",
        "needless",
        "operators",
        "operators_bytes_read",
        "operators_bytes_sent",
        "protocol_errors",
        "publications_refused",
        "replay_strangers_cut",
        "retained",
        "sessions",
        "subscriptions",
        "taken",
        "withheld",
    )

    def __init__(self) -> None:
        self.bytes_received = 0
        self.bytes_sent = 0
        self.connections_accepted = 0
        self.connections_open = 0
        self.connections_refused = 0
        self.connections_refused_early = 0  # closed at once, without a byte read
        self.damaged = 0  # that waited in the store and could not be read back
        self.dropped_full = 0  # QoS 1 and 2, by a full queue
        self.dropped_slow = 0  # QoS 0, to a subscriber that does not read
        self.dropped_too_large = 0  # over the receiver's Maximum Packet Size
        self.expired = 0
        self.handshakes_failed = 0  # of TLS, or of a proxy's header
        # Topics and payloads for all subscribers: as they came, and of those that were sent on.
        self.located_bytes_read = 0
        self.located_bytes_sent = 0
        self.located_undecided = 0  # regions too intricate to tell whether they meet
        self.messages_received = 0
        self.messages_sent = 0
        self.needless = 0  # came from a neighbour, and nobody here or behind another wanted it
        self.operators = 0  # distinct operator subscriptions
        self.operators_bytes_read = 0
        self.operators_bytes_sent = 0
        self.protocol_errors = 0
        self.publications_refused = 0
        self.replay_strangers_cut = 0  # readers of the archive that had not logged in
        self.retained = 0
        self.sessions = 0
        self.subscriptions = 0
        self.taken = 0  # by somebody who looks at messages: grows with each that it wanted
        self.withheld = 0  # acknowledgements that waited until a queue had room


class Faults:
    """Counted by where, logged without a flood. `by_place` is bounded by the code: places are names
    of timers and of steps."""

    __slots__ = ("_logged", "by_place", "total")

    def __init__(self) -> None:
        self.total = 0
        self.by_place: dict[str, int] = {}
        self._logged: dict[tuple[str, str], tuple[float, int]] = {}  # when, and how many since

    def note(self, place: str, error: Exception, about: str, now: float) -> None:
        """`about` names the one that it happened to: a client, a filter."""
        self.total += 1
        self.by_place[place] = self.by_place.get(place, 0) + 1
        kind = (place, type(error).__name__)
        known = self._logged.get(kind)
        if known is not None and 0.0 <= now - known[0] < LOG_SECONDS:
            self._logged[kind] = (known[0], known[1] + 1)
            return
        self._logged[kind] = (now, 0)
        repeated = f" ({known[1]} more since it was last logged)" if known and known[1] else ""
        logger.error(
            "internal error in %s%s%s: %s: %s; everything else continues",
            place,
            f", {about[:200]}" if about else "",
            repeated,
            kind[1],
            str(error)[:500],
            exc_info=error,
        )
