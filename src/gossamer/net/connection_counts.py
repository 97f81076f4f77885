"""The open connections of the process: in all, by address, and which of them are strangers yet.

A stranger has not logged in. When all places are taken, a newcomer takes that of the oldest
stranger of the address that has most of them, unless its own has as many: slow strangers push out
each other, and neither clients that logged in nor those who come from elsewhere.
"""

import resource
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from gossamer.broker.rates import network_of

Cut = Callable[[], None]

# Descriptors for everything but clients: the store, the archive, its readers, links, workers.
KEPT_DESCRIPTORS: Final = 192


class ConnectionCounts:
    """A ticket stands for one connection from `came` to `left`."""

    def __init__(self) -> None:
        self.total = 0
        self.pushed_out = 0  # since the start
        self._last_ticket = 0
        self._by_address: dict[str, int] = {}
        self._strangers: dict[str, dict[int, Cut]] = {}  # the oldest first
        self._levels: dict[int, dict[str, None]] = {}  # addresses by how many strangers they have
        self._most = 0  # the highest level

    def at(self, address: str) -> int:
        return self._by_address.get(network_of(address), 0)

    def came(self, address: str, cut: Cut) -> int:
        """The ticket of a new connection, which is a stranger."""
        self.total += 1
        self._last_ticket += 1
        key = network_of(address)
        self._by_address[key] = self._by_address.get(key, 0) + 1
        strangers = self._strangers.setdefault(key, {})
        strangers[self._last_ticket] = cut
        self._move(key, len(strangers) - 1, len(strangers))
        return self._last_ticket

    def recut(self, address: str, ticket: int, cut: Cut) -> None:
        """Another way to cut this stranger."""
        strangers = self._strangers.get(network_of(address))
        if strangers is not None and ticket in strangers:
            strangers[ticket] = cut

    def welcomed(self, address: str, ticket: int) -> Cut | None:
        """It is no stranger any more: how it would have been cut, None if it was none."""
        key = network_of(address)
        strangers = self._strangers.get(key)
        cut = None if strangers is None else strangers.pop(ticket, None)
        if strangers is not None and cut is not None:
            self._move(key, len(strangers) + 1, len(strangers))
            if not strangers:
                del self._strangers[key]
        return cut

    def left(self, address: str, ticket: int) -> None:
        self.welcomed(address, ticket)
        self.total -= 1
        key = network_of(address)
        count = self._by_address.get(key, 1) - 1
        if count:
            self._by_address[key] = count
        else:
            self._by_address.pop(key, None)

    def push_out(self, address: str) -> bool:
        """Cuts a stranger to make room for a newcomer from there; False if nobody has to go."""
        if self._most <= len(self._strangers.get(network_of(address), ())) + 1:
            return False
        key = next(iter(self._levels[self._most]))
        cut = self.welcomed(key, next(iter(self._strangers[key])))
        assert cut is not None
        self.pushed_out += 1
        cut()
        return True

    def _move(self, key: str, before: int, after: int) -> None:
        if before:
            level = self._levels[before]
            del level[key]
            if not level:
                del self._levels[before]
        if after:
            self._levels.setdefault(after, {})[key] = None
        if after > self._most:
            self._most = after
        while self._most and self._most not in self._levels:
            self._most -= 1


def places(connections: int) -> int:
    """How many connections there can be: what is configured, or what descriptors are enough for."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return connections
    return max(1, min(connections, descriptors - KEPT_DESCRIPTORS))


def raise_descriptors() -> None:
    """As many as this process may ask for: the usual soft limit is for programs that use select."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # macOS has a lower limit than the one it tells
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
