"""Who gets through a listener's door, and how fast: the configured limits and rates, counted."""

import time
from asyncio import Transport

from gossamer.broker.policy import RateMeter
from gossamer.broker.rates import AddressRates, Bucket
from gossamer.broker.settings import Settings
from gossamer.net.config.limits import Limits, Rates
from gossamer.net.connection_counts import ConnectionCounts, Cut, places
from gossamer.net.tls import certificate_user
from gossamer.net.transport import Door
from gossamer.session.counters import Counters

# Connections over the limit are told so in MQTT, up to this many; past it they are just closed.
POLITE_REFUSALS = 128


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


class GuardedDoor(Door):
    """The door of a configured listener. A reload changes `limits`, `settings` and `addresses`."""

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

    def certificate_user(self, transport: Transport) -> str:
        if not self.sees_certificates:
            return ""
        tls = transport.get_extra_info("ssl_object")
        return "" if tls is None else certificate_user(tls.getpeercert())


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
