"""A socket that speaks whatever bytes a test wants, and what the broker answers to them."""

import socket
from types import TracebackType
from typing import Self

from gossamer.wire.codec import decode
from gossamer.wire.frames import PacketStream
from gossamer.wire.packets import Packet
from tests.support.polling import PATIENCE

CONNECT_V311 = bytes.fromhex("100c 0004 4d515454 04 02 0000 0000")
CONNECT_V5 = bytes.fromhex("100d 0004 4d515454 05 02 0000 00 0000")


class RawSocket:
    """Connects at once."""

    def __init__(self, port: int, version: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._version = version
        self._stream = PacketStream()
        self._read: list[Packet] = []
        self.ended = False

    def send(self, data: bytes) -> None:
        """A broker that has closed already is not an error here."""
        try:
            self._socket.sendall(data)
        except ConnectionError:
            self.ended = True

    def packet(self) -> Packet | None:
        """The next packet; None once the broker has closed."""
        while not self._read and not self.ended:
            self._receive()
        return self._read.pop(0) if self._read else None

    def rest(self) -> list[Packet]:
        """Everything until the broker closes; fails if it does not."""
        while not self.ended:
            self._receive()
        packets, self._read = self._read, []
        return packets

    def finish(self) -> None:
        """Sends no more, and waits until the broker has read it all and closed."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
            while self._socket.recv(65_536):
                pass
        except TimeoutError:
            raise
        except OSError:
            pass  # the broker had closed already
        self.ended = True

    def _receive(self) -> None:
        try:
            data = self._socket.recv(65_536)
        except ConnectionError:
            data = b""
        if not data:
            self.ended = True
        self._read += [decode(head, body, self._version) for head, body in self._stream.feed(data)]

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
