"""Clients of a broker core without sockets: bytes are handed over and counted, time is given."""

from gossamer.broker.broker import Broker
from gossamer.broker.connection import Connection
from gossamer.broker.policy import Origin
from gossamer.session.outbox import Sink
from gossamer.wire.codec import encode
from gossamer.wire.packets import V311, Connect, Publish, Request, Subscribe


class CountingSink(Sink):
    """Counts the bytes that go to one client and forgets them."""

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: bytes) -> None:
        self.bytes += len(data)


class LoopbackClient:
    def __init__(self, broker: Broker, name: str, now: float) -> None:
        self.broker = broker
        self.sink = CountingSink()
        self.connection: Connection = broker.open(self.sink, Origin("127.0.0.1", "bench"), now)
        self.send(encode(Connect(name, V311), V311), now)

    def subscribe(self, filter: str, now: float) -> None:
        self.send(encode(Subscribe(1, [Request(filter)]), V311), now)
        self.sink.bytes = 0  # what follows is downlink of publications alone

    def send(self, data: bytes, now: float) -> None:
        self.connection.receive(data, now)
        self.broker.flush(now)


def publication(topic: str, payload: bytes) -> bytes:
    """A QoS 0 packet of MQTT 3.1.1."""
    return encode(Publish(topic, payload), V311)
