"""Whole packets through a whole broker, in memory: located ones, and plain ones beside them."""

import time
from dataclasses import dataclass

from gossamer.broker.broker import Broker
from gossamer.broker.connection import Connection
from gossamer.broker.policy import Origin
from gossamer.broker.settings import Settings
from gossamer.session.journal import Journal
from gossamer.session.outbox import Sink
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Connect, Packet, Publish, Request, Subscribe
from gossamer.wire.properties import Properties
from gossamer_lab.bench.geo.world import GeoWorld

NOW = 1_000_000.0
PLAIN_MESSAGES = 500_000
ROUNDS = 7  # of both, in turn; the best of each counts, since whatever disturbs only slows down
CHUNK = 50  # packets in one read from a socket


@dataclass
class Plain:
    """Plain messages a second, without and with geofences on other topics."""

    fences: int
    without: float
    beside: float

    def loss(self) -> float:
        return 1 - self.beside / self.without


@dataclass
class Through:
    """Publications with a position, from bytes to bytes."""

    fences: int
    publications_a_second: float


class _Drain(Sink):
    def write(self, data: bytes) -> None:
        pass


class _Core:
    """A broker whose clients are lists of packets."""

    def __init__(self) -> None:
        settings = Settings()
        settings.sys_interval = 0.0
        self.broker = Broker(settings, Journal(), NOW)

    def client(self, name: str) -> Connection:
        connection = self.broker.open(_Drain(), Origin("127.0.0.1", "bench"), NOW)
        self.send(connection, Connect(name, V5))
        return connection

    def send(self, connection: Connection, *packets: Packet) -> None:
        connection.receive(b"".join([encode(packet, V5) for packet in packets]), NOW)
        self.broker.flush(NOW)

    def subscribe(self, connection: Connection, filter: str, user: list[tuple[str, str]]) -> None:
        properties = Properties()
        properties.user = user
        self.send(connection, Subscribe(1, [Request(filter)], properties))

    def fence(self, world: GeoWorld, count: int) -> None:
        for number in range(count):
            at = world.place()
            text = f"1;m;1;{at.lat};{at.lon};{world.size():.2f}"
            self.subscribe(self.client(f"f{number}"), "fleet/+", [("gpl_circleStatic", text)])

    def rate(self, connection: Connection, chunk: bytes, messages: int) -> float:
        started = time.process_time()
        for _ in range(messages // CHUNK):
            connection.receive(chunk, NOW)
            self.broker.flush(NOW)
        return messages / (time.process_time() - started)


def measure_plain(seed: int, fences: int, messages: int = PLAIN_MESSAGES) -> Plain:
    cores = [_Core(), _Core()]
    cores[1].fence(GeoWorld(seed), fences)
    writers: list[Connection] = []
    for core in cores:
        core.subscribe(core.client("reader"), "plain/topic", [])
        writers.append(core.client("writer"))
    chunk = encode(Publish("plain/topic", bytes(64)), V5) * CHUNK
    best = [0.0, 0.0]
    for _ in range(ROUNDS):
        for i, core in enumerate(cores):
            best[i] = max(best[i], core.rate(writers[i], chunk, messages))
    return Plain(fences, best[0], best[1])


def measure_through(seed: int, fences: int, messages: int) -> Through:
    world = GeoWorld(seed)
    core = _Core()
    core.fence(world, fences)
    writer = core.client("writer")
    packets: list[bytes] = []
    for _ in range(CHUNK):
        at = world.place()
        properties = Properties()
        properties.user = [("gpl_current_pos", f"{at.lat};{at.lon}")]
        packets.append(encode(Publish("fleet/van", bytes(64), properties=properties), V5))
    return Through(fences, core.rate(writer, b"".join(packets), messages))
