"""Connections with more than one turn of work stand in one line, which others need not wait for."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.net.transport import LINE_SECONDS, Door, Host, SocketSink
from gossamer.session.journal import Journal
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Connect, Publish


class Loop:
    """Callbacks that the test calls, one at a time: between two a real loop reads its sockets."""

    def __init__(self) -> None:
        self.soon: deque[Callable[[], None]] = deque()

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def go_on(self) -> None:
        self.soon.popleft()()


class Socket(asyncio.Transport):
    """One that takes everything."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("192.0.2.1", 5) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def write(self, data: Any) -> None:
        pass


def host() -> tuple[Host, Loop]:
    loop = Loop()
    broker = Broker(Settings(), Journal(), 0.0)
    return Host(broker, cast("asyncio.AbstractEventLoop", loop), lambda: None), loop


class Slow(SocketSink):
    """One turn of it takes all the time that the line has, and it always has more to do."""

    def __init__(self, host: Host, name: int, served: list[int]) -> None:
        super().__init__(host, Door("test"))
        self.name = name
        self.served = served

    def next_turn(self) -> None:
        ends = time.perf_counter() + LINE_SECONDS
        while time.perf_counter() < ends:
            pass
        self.served.append(self.name)
        self.host.stand_in_line(self)


def test_sockets_are_looked_at_before_everybody_in_line_had_a_turn() -> None:
    shared, loop = host()
    served: list[int] = []
    for name in range(10):
        shared.stand_in_line(Slow(shared, name, served))
    for count in range(1, 31):
        assert len(loop.soon) == 1
        loop.go_on()
        assert len(served) == count
    assert served == [*range(10)] * 3


def test_slices_get_smaller_while_they_take_longer_than_turns() -> None:
    shared, loop = host()
    door = Door("test")
    door.turn_seconds = 0.0  # whatever is done takes longer
    sink = SocketSink(shared, door)
    sink.connection_made(Socket())
    sink.data_received(encode(Connect("c", V5), V5))
    message = encode(Publish("t", b"x" * 10), V5)
    messages = 16_384 // len(message)
    sink.data_received(message * messages)
    handled = [shared.broker.core.counters.messages_received]
    while loop.soon:
        loop.go_on()
        handled.append(shared.broker.core.counters.messages_received)
    each = [after - before for before, after in zip([0, *handled], handled, strict=False)]
    assert [count * len(message) for count in each] == [8192, 4096, 2048, 1024, 512, 512]
    assert sum(each) == messages
