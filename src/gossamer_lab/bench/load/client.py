"""One client connection of the generator: a socket and what could not be sent yet."""

import select
import socket
import time
from collections.abc import Sequence

from gossamer_lab.bench.load import packets

# Set-up talks to brokers that may be busy with 5,000 other clients.
SET_UP_SECONDS = 60.0


class GeneratorError(Exception):
    """The broker did not do its part, so that there is nothing to measure."""


class LoadClient:
    """Connected when it is made; sends as much as the socket takes and remembers the rest.

    It blocks until ``start``, so that set-up reads simply. One that is not clean has a session that
    stays, and finds it again.
    """

    __slots__ = ("pending", "socket")

    def __init__(self, address: tuple[str, int], client_id: str, *, clean: bool = True) -> None:
        self.socket = socket.create_connection(address, timeout=SET_UP_SECONDS)
        self.pending: memoryview | None = None
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(packets.connect(client_id, clean=clean))
        answer = self.receive(len(packets.CONNACK))
        if answer != packets.CONNACK and (clean or answer != packets.CONNACK_RESUMED):
            raise GeneratorError(f"the broker refused a client with {answer.hex()}")

    def subscribe(self, filters: Sequence[str], qos: int) -> None:
        """Returns when the broker has answered."""
        self.socket.sendall(packets.subscribe(1, filters, qos))
        answer = self.receive(packets.suback_size(len(filters)))
        if answer[0] != 0x90 or max(answer[-len(filters) :]) > qos:
            raise GeneratorError("the broker refused a subscription")

    def receive(self, size: int) -> bytes:
        """Exactly so many bytes, before the start or after it."""
        data = b""
        deadline = time.monotonic() + SET_UP_SECONDS
        while len(data) < size:
            left = deadline - time.monotonic()
            if left < 0 or not readable([self.socket], left):
                raise GeneratorError("the broker did not answer in time")
            more = self.socket.recv(size - len(data))
            if not more:
                raise GeneratorError("the broker closed a connection during set-up")
            data += more
        return data

    def send(self, data: bytes) -> None:
        if self.pending is not None:
            self.pending = memoryview(bytes(self.pending) + data)
            return
        try:
            count = self.socket.send(data)
        except BlockingIOError:
            count = 0
        if count < len(data):
            self.pending = memoryview(data)[count:]

    def flush(self) -> None:
        if self.pending is None:
            return
        try:
            count = self.socket.send(self.pending)
        except BlockingIOError:
            return
        self.pending = self.pending[count:] if count < len(self.pending) else None


def start(clients: Sequence[LoadClient]) -> None:
    """From now on nothing blocks."""
    for client in clients:
        client.socket.setblocking(False)


def close(clients: Sequence[LoadClient]) -> None:
    for client in clients:
        client.socket.close()


def readable(sockets: Sequence[socket.socket], seconds: float) -> list[socket.socket]:
    """Those with something to read, waiting for the first. `select` would know no more than 1,024
    descriptors, and generators have 5,000."""
    poll = select.poll()
    by_number = {one.fileno(): one for one in sockets}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(seconds * 1000)]
