"""Who gets through a listener, and how fast: open connections, limits and rates, counted.

A stranger has not logged in. When all places are taken, a newcomer takes that of the oldest
stranger of the address that has most of them, unless its own has as many: slow strangers push out
each other, and neither clients that logged in nor those who come from elsewhere.
"""

import resource
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from gossamer.broker.policy import RateMeter
from gossamer.broker.rates import AddressRates, Bucket, network_of
from gossamer.broker.settings import Settings
from gossamer.net.config.limits import Limits, Rates
from gossamer.net.socket_transport import SocketTransport
from gossamer.net.tls import certificate_user
from gossamer.net.transport import ConnectionPolicy
from gossamer.session.counters import Counters

Cut = Callable[[], None]

# Descriptors for everything but clients: the store, the archive, its readers, links, workers.
KEPT_DESCRIPTORS: Final = 192
# Connections over the limit are told so in MQTT, up to this many; past it they are just closed.
POLITE_REFUSALS = 128


class ConnectionCounts:
    """A ticket stands for one connection from `came` to `left`."""

    def __init__(self) -> None:
        self.total = 0
        self.pushed_out = 0  # since the start
        self._last_ticket = 0
        self._by_address: dict[str, int] = {}
        self._strangers: dict[str, dict[int, Cut]] = {}  # the oldest first
        # Addresses by how many strangers they have: who has most must be found at once, however
        # many addresses a flood comes from.
        self._levels: dict[int, dict[str, None]] = {}
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


class AddressLimits:
    """What addresses have used, over all listeners."""

    def __init__(self, rates: Rates) -> None:
        self.rates = rates
        burst = rates.burst
        self.connects = AddressRates(rates.connects_per_address, rates.connects_per_address * burst)
        self.publishes = AddressRates(
            rates.publishes_per_address, rates.publishes_per_address * burst
        )
        self.bytes = AddressRates(rates.bytes_per_address, rates.bytes_per_address * burst)

    @property
    def limits_publishers(self) -> bool:
        rates = self.rates
        return bool(
            rates.publishes_per_client
            or rates.bytes_per_client
            or rates.publishes_per_address
            or rates.bytes_per_address
        )


class ListenerPolicy(ConnectionPolicy):
    """Of a configured listener. A reload changes `limits`, `settings` and `addresses`."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        limits: Limits,
        addresses: AddressLimits,
        connection_counts: ConnectionCounts,
        counters: Counters,
        *,
        sees_certificates: bool,
    ) -> None:
        super().__init__(name, settings)
        self.connection_counts = connection_counts
        self.counters = counters
        self.sees_certificates = sees_certificates
        self.change(settings, limits, addresses)

    def change(self, settings: Settings, limits: Limits, addresses: AddressLimits) -> None:
        self.settings = settings
        self.limits = limits
        self.addresses = addresses
        self.write_buffer = limits.outbox_bytes
        self.turn_seconds = limits.turn

    def admit(self, address: str, cut: Cut) -> int:
        limits, connection_counts = self.limits, self.connection_counts
        own = limits.connections_per_address
        if own and connection_counts.at(address) >= own:
            return 0
        if not self.addresses.connects.allows(address, time.monotonic()):
            return 0
        most = places(limits.connections)
        if (
            connection_counts.total >= most
            and not connection_counts.push_out(address)
            and connection_counts.total >= most + POLITE_REFUSALS
        ):
            return 0
        return connection_counts.came(address, cut)

    def recut(self, address: str, ticket: int, cut: Cut) -> None:
        self.connection_counts.recut(address, ticket, cut)

    def welcome(self, address: str, ticket: int) -> None:
        self.connection_counts.welcomed(address, ticket)

    def leave(self, address: str, ticket: int) -> None:
        self.connection_counts.left(address, ticket)

    def overdue(self, address: str, ticket: int) -> None:
        """The time for its login is over: a stranger is cut."""
        cut = self.connection_counts.welcomed(address, ticket)
        if cut is not None:
            cut()

    def meter(self, address: str, now: float) -> RateMeter | None:
        if not self.addresses.limits_publishers:
            return None
        return ConnectionMeter(self.addresses, address, now)

    def certificate_user(self, transport: SocketTransport) -> str:
        return certificate_user(transport.certificate()) if self.sees_certificates else ""


class ConnectionMeter(RateMeter):
    """Charges a connection and its address; whoever is over a rate is read later."""

    def __init__(self, addresses: AddressLimits, address: str, now: float) -> None:
        rates = addresses.rates
        self._addresses = addresses
        self._address = address
        self._publishes = _bucket(rates.publishes_per_client, rates.burst, now)
        self._bytes = _bucket(rates.bytes_per_client, rates.burst, now)

    def pause_after(self, messages: int, size: int, now: float) -> float:
        addresses = self._addresses
        wait = max(
            addresses.publishes.charge(self._address, messages, now),
            addresses.bytes.charge(self._address, size, now),
        )
        if self._publishes is not None:
            wait = max(wait, self._publishes.charge(messages, now))
        if self._bytes is not None:
            wait = max(wait, self._bytes.charge(size, now))
        return wait


def _bucket(rate: float, burst: float, now: float) -> Bucket | None:
    return Bucket(rate, max(rate * burst, 1.0), now) if rate else None
