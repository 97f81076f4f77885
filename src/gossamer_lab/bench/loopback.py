"""A broker's core and its clients without sockets: bytes are handed over, time is given.

Also what any feature costs those who do not use it: plain forwarding without it, and beside it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from gossamer.broker.broker import Broker
from gossamer.broker.connection import Connection
from gossamer.broker.policy import Origin
from gossamer.broker.settings import Settings
from gossamer.plus.engine import Engine
from gossamer.session.journal import Journal
from gossamer.session.sink import Sink
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, V311, Connect, Publish, Request, Subscribe
from gossamer.wire.properties import Properties

PLAIN_TOPIC = "plain/topic"
# Of each kind, alternating, so that a busy machine hits both; the best of each counts, since
# whatever disturbs only slows down.
PLAIN_RUNS = 7
CHUNK_PACKETS = 100


class CountingSink(Sink):
    """Counts the bytes that go to one client and forgets them."""

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: bytes) -> None:
        self.bytes += len(data)


def quiet_broker(engine: Engine | None = None, now: float = 0.0) -> Broker:
    """One that publishes nothing of its own."""
    settings = Settings()
    settings.sys_interval = 0.0
    return Broker(settings, Journal(), now, engine)


class LoopbackClient:
    def __init__(self, broker: Broker, name: str, now: float = 0.0, version: int = V311) -> None:
        self.broker = broker
        self.version = version
        self.sink = CountingSink()
        self.connection: Connection = broker.open(self.sink, Origin("127.0.0.1", "bench"), now)
        self.send(encode(Connect(name, version), version), now)

    def subscribe(
        self, filter: str, now: float = 0.0, user: list[tuple[str, str]] | None = None
    ) -> None:
        packet = Subscribe(1, [Request(filter)], user_properties(user) if user else None)
        self.send(encode(packet, self.version), now)
        self.sink.bytes = 0  # what follows is downlink of publications alone

    def send(self, data: bytes, now: float = 0.0) -> None:
        self.connection.receive(data, now)
        self.broker.flush(now)

    def rate(self, chunk: bytes, packets: int, messages: int) -> float:
        """Messages a second of processor time, in chunks of so many packets."""
        chunks = max(1, messages // packets)
        begun = time.process_time()
        for _ in range(chunks):
            self.send(chunk)
        return chunks * packets / (time.process_time() - begun)


def user_properties(pairs: list[tuple[str, str]]) -> Properties:
    properties = Properties()
    properties.user = pairs
    return properties


def publication(topic: str, payload: bytes) -> bytes:
    """A QoS 0 packet of MQTT 3.1.1."""
    return encode(Publish(topic, payload), V311)


def located_publication(topic: str, payload: bytes, position: str) -> bytes:
    """A QoS 0 packet of MQTT 5.0 that says where it was sent."""
    properties = user_properties([("gpl_current_pos", position)])
    return encode(Publish(topic, payload, properties=properties), V5)


@dataclass(frozen=True)
class PlainRun:
    """Deliveries a second of processor time, without and with so many others at the broker."""

    others: int
    without: float
    beside: float

    @property
    def loss(self) -> float:
        return 1.0 - self.beside / self.without


def run_plain(
    others: int, add: Callable[[Broker], None], messages: int, subscribers: int
) -> PlainRun:
    """One publisher and some subscribers on one topic; what `add` adds reads other topics."""
    brokers = [quiet_broker(), quiet_broker()]
    add(brokers[1])
    # Payloads of two lengths, so that the packets are not one run of equals.
    packets = [publication(PLAIN_TOPIC, b"x" * (64 + n % 2)) for n in range(CHUNK_PACKETS)]
    writers = []
    for broker in brokers:
        for number in range(subscribers):
            LoopbackClient(broker, f"reader{number}").subscribe(PLAIN_TOPIC)
        writers.append(LoopbackClient(broker, "writer"))
    best = [0.0, 0.0]
    for _ in range(PLAIN_RUNS):
        for i, writer in enumerate(writers):
            rate = writer.rate(b"".join(packets), CHUNK_PACKETS, messages)
            best[i] = max(best[i], rate * subscribers)
    return PlainRun(others, *best)
