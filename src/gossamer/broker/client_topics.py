"""The topics that one connection publishes to: what it may, with the route of each, and aliases.

Both are charged to accounts, because a stranger decides how many there are. A few known topics are
in the price of a connection. More are charged to the account of the grants; where that has no room,
the connection starts anew with a few.
"""

from __future__ import annotations

from sys import getsizeof
from typing import Final

from gossamer.broker.routes import Route
from gossamer.budget.ledger import Ledger, Owner
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

MOST_TOPICS: Final = 4_096
# A place in the connection's table, and the route, if nobody else has it any more.
KNOWN_BYTES: Final = 768
# For the dozen topics of a usual device.
FREE_BYTES: Final = 16_384
ALIAS_BYTES: Final = 128  # the place of an alias in the table


class ClientTopics:
    """Of one connection; `owner` is whom its bytes are charged to, which the login decides."""

    __slots__ = ("_alias_bytes", "_charged", "_free", "_ledger", "aliases", "known", "seen_policy")

    def __init__(self, ledger: Ledger, seen_policy: int) -> None:
        self._ledger = ledger
        self.seen_policy = seen_policy  # the policy by which those that are known are allowed
        self.known: dict[bytes, Route] = {}  # may be published to, and were
        self._free = 0  # bytes of them that no account has
        self._charged = 0  # and those that the grants' account has
        self.aliases: dict[int, str] = {}  # set by the client
        self._alias_bytes = 0

    def remember(self, route: Route, owner: Owner) -> None:
        """The connection may publish there, and has."""
        account = self._ledger.grants
        size = KNOWN_BYTES + 2 * len(route.topic_bytes)
        if len(self.known) >= MOST_TOPICS:
            self.forget_known(owner)
        if self._free + size <= FREE_BYTES:
            self._free += size
        elif not account.refusal(size, owner):
            account.hold(size, owner)
            self._charged += size
        else:
            account.evicted += len(self.known)
            self.forget_known(owner)
            if size > FREE_BYTES:
                return
            self._free = size
        # The route's own bytes are the key: a topic is not kept once for each of its publishers.
        self.known[route.topic_bytes] = route

    def forget_known(self, owner: Owner) -> None:
        """All of them: rights have changed, or the connection has ended."""
        self.known.clear()
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
