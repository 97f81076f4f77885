"""The topics that one connection publishes to: what it may, with the route of each, and aliases.

Both are charged to accounts, because a stranger decides how many there are. A few known topics are
in the price of a connection. More are charged to the account of the grants; where that has no room,
and past `MOST_TOPICS`, a few of the further ones are remembered, each in place of an older one.
"""

from __future__ import annotations

from sys import getsizeof
from typing import Final

from gossamer.broker.routes import Route
from gossamer.budget.ledger import Ledger, Owner
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

MOST_TOPICS: Final = 4_096
# Of the topics for which there is no room, one in so many takes the place of others.
_ENTERING: Final = 8
# A place in the connection's table, and the route, if nobody else has it any more.
KNOWN_BYTES: Final = 768
# For the dozen topics of a usual device.
FREE_BYTES: Final = 16_384
ALIAS_BYTES: Final = 128  # the place of an alias in the table


class ClientTopics:
    """Of one connection; `owner` is whom its bytes are charged to, which the login decides."""

    __slots__ = (
        "_alias_bytes",
        "_charged",
        "_free",
        "_hand",
        "_ledger",
        "_missed",
        "_ring",
        "aliases",
        "known",
        "seen_policy",
    )

    def __init__(self, ledger: Ledger, seen_policy: int) -> None:
        self._ledger = ledger
        self.seen_policy = seen_policy  # the policy by which those that are known are allowed
        self.known: dict[bytes, Route] = {}  # may be published to, and were
        self._free = 0  # bytes of them that no account has
        self._charged = 0  # and those that the grants' account has
        self._ring: list[bytes] | None = None  # those that are known, once there are too many
        self._hand = 0
        self._missed = 0  # topics for which there was no room
        self.aliases: dict[int, str] = {}  # set by the client
        self._alias_bytes = 0

    def remember(self, route: Route, owner: Owner) -> None:
        """The connection may publish there, and has."""
        topic = route.topic_bytes
        size = _size(topic)
        if not self._takes(size, owner):
            self._missed += 1
            if self._missed % _ENTERING:
                return
            while not self._takes(size, owner):
                if not self.known:
                    return
                self._replace(owner)
        # The route's own bytes are the key: a topic is not kept once for each of its publishers.
        self.known[topic] = route
        if self._ring is not None:
            self._ring.append(topic)

    def _takes(self, size: int, owner: Owner) -> bool:
        """Whether there is room for one more; then it is charged."""
        if len(self.known) >= MOST_TOPICS:
            return False
        if self._free + size <= FREE_BYTES:
            self._free += size
            return True
        account = self._ledger.grants
        if account.refusal(size, owner):
            return False
        account.hold(size, owner)
        self._charged += size
        return True

    def _replace(self, owner: Owner) -> None:
        """Forgets one, in turn."""
        ring = self._ring
        if ring is None:
            ring = self._ring = list(self.known)
        if self._hand >= len(ring):
            self._hand = 0
        topic = ring[self._hand]
        last = ring.pop()
        if last is not topic:
            ring[self._hand] = last
            self._hand += 1
        del self.known[topic]
        account = self._ledger.grants
        account.evicted += 1
        size = _size(topic)
        charged = min(size, self._charged)
        if charged:
            account.give(charged, owner)
            self._charged -= charged
        self._free -= size - charged

    def forget_known(self, owner: Owner) -> None:
        """All of them: rights have changed, or the connection has ended."""
        self.known.clear()
        self._ring = None
        self._free = 0
        if self._charged:
            self._ledger.grants.give(self._charged, owner)
            self._charged = 0

    def set_alias(self, alias: int, topic: str, owner: Owner) -> None:
        """[MQTT-3.3.2-12]. Raises ProtocolError where there is no room for it: its Topic Alias
        Maximum lets a client keep far more than its share by long topics, and an alias that it
        believes to be set cannot be refused otherwise."""
        account = self._ledger.aliases
        size = ALIAS_BYTES + getsizeof(topic)
        known = self.aliases.get(alias)
        if known is not None:
            if known == topic:
                return
            before = ALIAS_BYTES + getsizeof(known)
            account.give(before, owner)
            self._alias_bytes -= before
            del self.aliases[alias]
        refusal = account.take(size, owner)
        if refusal:
            raise ProtocolError(reasons.QUOTA_EXCEEDED, refusal)
        self._alias_bytes += size
        self.aliases[alias] = topic

    def close(self, owner: Owner) -> None:
        """The connection has ended [MQTT-3.3.2-7]."""
        self.forget_known(owner)
        self.aliases.clear()
        self._ledger.aliases.give(self._alias_bytes, owner)
        self._alias_bytes = 0


def _size(topic: bytes) -> int:
    return KNOWN_BYTES + 2 * len(topic)
