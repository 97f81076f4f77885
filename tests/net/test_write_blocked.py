"""A socket that takes no more: who is listened to meanwhile."""

import asyncio
import time
from typing import Any

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.net.transport import Door, Host, SocketSink
from gossamer.session.journal import Journal


class FakeTransport:
    """As much of asyncio's as a sink uses."""

    def __init__(self) -> None:
        self.is_read = True

    def get_extra_info(self, name: str) -> Any:
        return ("192.0.2.1", 4711)

    def set_write_buffer_limits(self, high: int) -> None: ...

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
    sink = SocketSink(host, Door("test"))
    transport: Any = FakeTransport()
    sink.connection_made(transport)
    assert sink.connection is not None
    sink.connection.is_peer = is_peer
    sink.pause_writing()
    assert sink.connection.outlet.blocked
    assert transport.is_read == is_peer
    sink.resume_writing()
    assert not sink.connection.outlet.blocked
    assert transport.is_read
    loop.close()
