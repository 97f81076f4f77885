"""One client connection of the generator: a non-blocking socket and what could not be sent yet."""

import select
import socket
import time
from collections.abc import Sequence

from gossamer_lab.bench.brokers import mqtt

# Set-up talks to brokers that may be busy with 5,000 other clients.
SET_UP_SECONDS = 60.0


class GeneratorError(Exception):
    """The broker did not do its part, so that there is nothing to measure."""


class BenchLink:
    """Sends as much as the socket takes and remembers the rest."""

    __slots__ = ("pending", "socket")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.pending: memoryview | None = None

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


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise GeneratorError("the broker closed a connection during set-up")
        data += more
    return data


def open_link(address: tuple[str, int], client_id: str, *, clean: bool = True) -> BenchLink:
    """A connected client; it stays blocking until ``start`` so that set-up reads simply.

    One that is not clean has a session that stays, and finds it again.
    """
    connection = socket.create_connection(address, timeout=SET_UP_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(mqtt.connect(client_id, clean=clean))
    answer = _receive(connection, len(mqtt.CONNACK))
    if answer != mqtt.CONNACK and (clean or answer != mqtt.CONNACK_RESUMED):
        raise GeneratorError(f"the broker refused a client with {answer.hex()}")
    return BenchLink(connection)


def subscribe(link: BenchLink, filters: Sequence[str], qos: int) -> None:
    """Subscribes and waits for the answer."""
    link.socket.sendall(mqtt.subscribe(1, filters, qos))
    answer = _receive(link.socket, mqtt.suback_size(len(filters)))
    if answer[0] != 0x90 or max(answer[-len(filters) :]) > qos:
        raise GeneratorError("the broker refused a subscription")


def start(links: Sequence[BenchLink]) -> None:
    for link in links:
        link.socket.setblocking(False)


def close(links: Sequence[BenchLink]) -> None:
    for link in links:
        link.socket.close()


def readable(sockets: Sequence[socket.socket], seconds: float) -> list[socket.socket]:
    """Those with something to read, waiting for the first. `select` would know no more than 1,024
    descriptors, and generators have 5,000."""
    poll = select.poll()
    by_number = {one.fileno(): one for one in sockets}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(seconds * 1000)]


def receive_exactly(link: BenchLink, size: int) -> bytes:
    """Reads ``size`` bytes from a started link, waiting for them as long as set-up may take."""
    data = b""
    deadline = time.monotonic() + SET_UP_SECONDS
    while len(data) < size:
        left = deadline - time.monotonic()
        if left < 0 or not readable([link.socket], left):
            raise GeneratorError("the first message did not arrive")
        more = link.socket.recv(size - len(data))
        if not more:
            raise GeneratorError("the broker closed a connection")
        data += more
    return data
