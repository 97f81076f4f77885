"""A shell without sockets: a loop whose callbacks the test calls, and connections that it reads."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from gossamer.net.transport import ConnectionPolicy, SocketSink
from gossamer.net.turns import Host
from gossamer.wire.frames import packet_length


class Loop:
    """Callbacks that the test calls, one at a time: between two a real loop reads its sockets."""

    def __init__(self) -> None:
        self.soon: deque[Callable[[], None]] = deque()
        self.later: list[Callable[[], None]] = []

    def call_later(self, seconds: float, callback: Callable[[], None]) -> None:
        self.later.append(callback)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def go_on(self) -> None:
        self.soon.popleft()()


class Socket(asyncio.Transport):
    """One that takes everything."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("192.0.2.1", 5) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def write(self, data: Any) -> None:
        pass

    def abort(self) -> None:
        self.closed = True

    def close(self) -> None:
        self.closed = True


class Recorded(SocketSink):
    """One that keeps what is written to it."""

    def __init__(self, host: Host, policy: ConnectionPolicy) -> None:
        super().__init__(host, policy)
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def kinds(self) -> list[int]:
        """Of the packets that were written, all of them short."""
        data = b"".join(self.written)
        found: list[int] = []
        while data:
            size = packet_length(data, 0)
            found.append(data[0] >> 4)
            data = data[size:]
        return found
