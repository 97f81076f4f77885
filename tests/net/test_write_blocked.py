"""A socket that takes no more: who is listened to meanwhile."""

import asyncio
import time
from typing import Any

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.net.transport import BEHIND_BYTES, ConnectionPolicy, SocketSink
from gossamer.net.turns import Host
from gossamer.session.journal import Journal


class FakeTransport:
    """As much of asyncio's as a sink uses."""

    def __init__(self, unsent: int = 2_000_000) -> None:
        self.is_read = True
        self.unsent = unsent

    def get_extra_info(self, name: str) -> Any:
        return ("192.0.2.1", 4711)

    def set_write_buffer_limits(self, high: int, low: int) -> None:
        self.high = high

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def write(self, data: bytes) -> None:
        self.unsent += len(data)

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


@pytest.mark.parametrize("is_peer", [False, True])
def test_clients_that_do_not_read_are_not_read_and_neighbours_are(is_peer: bool) -> None:
    """Two brokers that each stop reading until the other reads would wait for ever."""
    loop = asyncio.new_event_loop()
    host = Host(Broker(Settings(), Journal(), time.time()), loop, lambda: None)
    sink = SocketSink(host, ConnectionPolicy("test"))
    transport: Any = FakeTransport()
    sink.connection_made(transport)
    assert sink.connection is not None
    sink.connection.is_peer = is_peer
    sink.pause_writing()
    assert sink.connection.outbox.blocked
    assert transport.is_read == is_peer
    sink.resume_writing()
    assert not sink.connection.outbox.blocked
    assert transport.is_read
    loop.close()


BUDGET = 1 << 20


class Crowd:
    """Clients that do not read, of a broker with little memory for that."""

    def __init__(self, count: int, budget: int = BUDGET) -> None:
        self.loop = asyncio.new_event_loop()
        settings = Settings()
        settings.budgets["unsent"] = budget
        self.broker = Broker(settings, Journal(), time.time())
        self.host = Host(self.broker, self.loop, lambda: None)
        self.sinks: list[SocketSink] = []
        self.transports: list[Any] = []
        for _ in range(count):
            sink = SocketSink(self.host, ConnectionPolicy("test"))
            transport: Any = FakeTransport(0)
            sink.connection_made(transport)
            self.sinks.append(sink)
            self.transports.append(transport)

    def write(self, number: int, size: int) -> bool:
        """As the core and asyncio do: whether it was written."""
        sink, transport = self.sinks[number], self.transports[number]
        assert sink.connection is not None
        if sink.connection.outbox.blocked:
            return False
        before = transport.unsent
        sink.write(bytes(size))
        if before <= transport.high < transport.unsent:
            sink.pause_writing()
        return True

    def drain(self, number: int) -> None:
        self.transports[number].unsent = 0
        self.sinks[number].resume_writing()

    @property
    def unsent(self) -> int:
        return self.broker.core.ledger.unsent.held

    def close(self) -> None:
        self.loop.close()


def test_output_of_all_that_do_not_read_ends_at_its_budget() -> None:
    crowd = Crowd(200)
    for _ in range(50):
        for number in range(200):
            crowd.write(number, 20_000)
    behind = [one.unsent for one in crowd.transports if one.unsent > BEHIND_BYTES]
    assert crowd.unsent == sum(behind)
    # Everybody may be a little behind, and had one write before it counted.
    assert sum(one.unsent for one in crowd.transports) <= BUDGET + 200 * (BEHIND_BYTES + 20_000)
    assert crowd.broker.core.ledger.unsent.refused > 0
    assert sum(not one.is_read for one in crowd.transports) >= 180
    for number in range(200):
        crowd.drain(number)
    assert crowd.unsent == 0
    assert all(one.is_read for one in crowd.transports)
    assert crowd.write(0, 20_000)
    crowd.close()


def test_one_that_does_not_read_ends_at_its_own_limit_where_there_is_room() -> None:
    crowd = Crowd(1, 100 << 20)
    written = 0
    while crowd.write(0, 20_000):
        written += 20_000
    assert (
        ConnectionPolicy("test").write_buffer
        < written
        <= ConnectionPolicy("test").write_buffer + 20_000
    )
    crowd.close()


def test_who_reads_is_served_however_full_it_is() -> None:
    crowd = Crowd(200)
    for _ in range(50):
        for number in range(1, 200):
            crowd.write(number, 20_000)
    for _ in range(100):
        assert crowd.write(0, 20_000)
        crowd.transports[0].unsent = 0  # it takes everything at once
    crowd.close()


def test_what_a_client_did_not_read_is_not_owed_when_it_has_gone() -> None:
    crowd = Crowd(20)
    for _ in range(50):
        for number in range(20):
            crowd.write(number, 20_000)
    for sink in crowd.sinks:
        sink.connection_lost(None)
    assert crowd.unsent == 0
    crowd.close()
