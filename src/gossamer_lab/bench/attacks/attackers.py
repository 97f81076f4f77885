"""The attackers' side: clients from addresses of their own, in one process, until it is ended.

Each client is a socket bound to another address of this machine. What the broker answers is read
and thrown away by a thread, so that an attacker is never held up by its own answers, unless it is
one that does not read.
"""

import select
import socket
import threading
from collections import deque
from typing import Final

from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Connect, Packet, Request, Subscribe, Will
from gossamer.wire.properties import Properties

MOST_CLIENTS: Final = 800
SEND_SECONDS: Final = 2.0
READ_SIZE: Final = 1 << 20
LISTEN_SECONDS: Final = 0.1
SMALL_BUFFER: Final = 4096


class Attacker:
    """One connection; what is sent after the broker has ended it goes nowhere."""

    def __init__(self, connection: socket.socket, version: int) -> None:
        self.socket = connection
        self.version = version
        self.is_open = True

    def send(self, *packets: Packet) -> None:
        self.send_bytes(b"".join([encode(packet, self.version) for packet in packets]))

    def send_bytes(self, data: bytes) -> None:
        if not self.is_open:
            return
        try:
            self.socket.sendall(data)
        except OSError:
            self.is_open = False

    def subscribe(
        self, *filters: str, qos: int = 0, user: list[tuple[str, str]] | None = None
    ) -> None:
        properties = Properties()
        properties.user = user or []
        self.send(Subscribe(1, [Request(one, qos) for one in filters], properties))


class Attackers:
    """All clients of one attack; the oldest leave when there are too many."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.number = 0  # of things made so far; no two have the same
        self._clients: deque[Attacker] = deque()
        self._poll = select.epoll()
        self._reads: dict[int, socket.socket] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> int:
        self.number += 1
        return self.number

    def open(self, version: int = V5, *, reads: bool = True) -> Attacker:
        """A connection from the next address, without a CONNECT."""
        number = self.next()
        source = f"127.{1 + (number >> 14) % 250}.{(number >> 7) % 128}.{1 + number % 128}"
        connection = socket.socket()
        if not reads:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        connection.settimeout(SEND_SECONDS)
        attacker = Attacker(connection, version)
        try:
            connection.bind((source, 0))
            connection.connect(self.address)
        except OSError:
            attacker.is_open = False
        self._clients.append(attacker)
        if reads and attacker.is_open:
            self._reads[connection.fileno()] = connection
            self._poll.register(connection.fileno(), select.EPOLLIN)
        while len(self._clients) > MOST_CLIENTS:
            self.leave(self._clients[0])
        return attacker

    def client(
        self,
        name: str = "",
        version: int = V5,
        *,
        expiry: int = 0,
        clean: bool = True,
        will: Will | None = None,
        login: tuple[str, bytes] | None = None,
        reads: bool = True,
    ) -> Attacker:
        """One that has sent its CONNECT, and does not wait for the answer."""
        attacker = self.open(version, reads=reads)
        properties = Properties()
        properties.session_expiry = expiry or None
        username, password = login or (None, None)
        connect = Connect(
            name or f"attacker-{self.number}",
            version,
            clean,
            0,
            username,
            password,
            will,
            properties if version == V5 else None,
        )
        attacker.send(connect)
        return attacker

    def leave(self, attacker: Attacker) -> None:
        """Its connection is lost."""
        self._clients.remove(attacker)
        number = attacker.socket.fileno()
        if self._reads.pop(number, None) is not None:
            self._poll.unregister(number)
        attacker.is_open = False
        attacker.socket.close()

    def _read(self) -> None:
        while True:
            for number, _ in self._poll.poll(LISTEN_SECONDS):
                connection = self._reads.get(number)
                try:
                    if connection is not None and connection.recv(READ_SIZE, socket.MSG_DONTWAIT):
                        continue
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                if self._reads.pop(number, None) is not None:
                    self._poll.unregister(number)
