"""The shipping broker on a real socket, with a number of Bloom look-ups put before every message,
and its load: messages a second, and the time of one alone.

That is how the paper made its Figure 7. The broker itself asks a summary once a topic and remembers
the route; this is what it would be without.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from statistics import fmean
from typing import Final

from gossamer.bloom.filter import BloomFilter, sized_filter
from gossamer.bloom.hashes import TopicHasher
from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.net.transport import ConnectionPolicy, SocketSink
from gossamer.net.turns import Host
from gossamer.session.journal import Journal
from gossamer.wire.frames import packet_length
from gossamer_lab.bench.load import packets
from gossamer_lab.bench.load.client import LoadClient, close

ELEMENTS: Final = 10_000  # as in the paper, at its error rate
ERROR_RATE: Final = 0.001
_PUBLISH: Final = 3
_START_SECONDS: Final = 60.0

TOPIC: Final = "figure/7"
PAYLOAD: Final = bytes(1024)  # as in the paper
WINDOW: Final = 64  # messages on their way: enough that the broker never waits for the publisher
ALONE: Final = 200  # messages sent one at a time


class Lookups:
    """So many look-ups in a filter of the paper's size."""

    def __init__(self, queries: int) -> None:
        self.queries = queries
        self.hasher = TopicHasher(b"figure 7")
        self.filter: BloomFilter = sized_filter(ELEMENTS, ERROR_RATE)
        prefix = self.hasher.root
        for number in range(ELEMENTS):
            self.filter.add(self.hasher.extend(prefix, number))
        self._next = ELEMENTS

    def search(self) -> None:
        """An element is hashed and asked for; it is not among those that were added."""
        hasher, known = self.hasher, self.filter
        root = hasher.root
        first = self._next
        self._next += self.queries
        for number in range(first, self._next):
            known.contains(hasher.extend(root, number))


class SearchingSink(SocketSink):
    """Looks up before each PUBLISH is handed to the broker."""

    def __init__(self, host: Host, policy: ConnectionPolicy, lookups: Lookups) -> None:
        super().__init__(host, policy)
        self.lookups = lookups
        self._unread = b""

    def data_received(self, data: bytes) -> None:
        if self.lookups.queries:
            count, self._unread = publications(self._unread + data)
            for _ in range(count):
                self.lookups.search()
        super().data_received(data)


def publications(data: bytes) -> tuple[int, bytes]:
    """The whole ones, and what is left of a packet that is not."""
    at = count = 0
    while True:
        size = packet_length(data, at)
        if size == 0 or at + size > len(data):
            return count, data[at:]
        count += data[at] >> 4 == _PUBLISH
        at += size


@contextmanager
def running(queries: int) -> Iterator[int]:
    """Its port, while it runs in a process of its own."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(queries, theirs), daemon=True)
    process.start()
    try:
        if not ours.poll(_START_SECONDS):
            raise RuntimeError("the broker did not start")
        yield ours.recv()
    finally:
        process.kill()
        process.join()


def _serve(queries: int, told: Pipe) -> None:
    asyncio.run(_serve_for_ever(queries, told))


async def _serve_for_ever(queries: int, told: Pipe) -> None:
    settings = Settings()
    settings.sys_interval = 0.0
    broker = Broker(settings, Journal(), time.time())
    loop = asyncio.get_running_loop()
    host = Host(broker, loop, lambda: None)
    policy = ConnectionPolicy("figure 7")
    lookups = Lookups(queries)

    def accept() -> asyncio.BaseProtocol:
        return SearchingSink(host, policy, lookups)  # type: ignore[return-value]  # by its methods

    server = await loop.create_server(accept, "127.0.0.1", 0)
    told.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def measure_load(port: int, seconds: float) -> dict[str, float]:
    """Of one publisher and one subscriber; the latency is that of a message that finds the broker
    idle."""
    subscriber = LoadClient(("127.0.0.1", port), "subscriber")
    subscriber.subscribe([TOPIC], 0)
    publisher = LoadClient(("127.0.0.1", port), "publisher")
    packet = packets.publish(TOPIC, PAYLOAD)
    size = len(packet)
    latencies = []
    for _ in range(ALONE):
        began = time.perf_counter()
        publisher.socket.sendall(packet)
        subscriber.receive(size)
        latencies.append(time.perf_counter() - began)
    half = packet * (WINDOW // 2)
    publisher.socket.sendall(half)
    count = 0
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        publisher.socket.sendall(half)
        subscriber.receive(len(half))
        count += WINDOW // 2
    spent = time.perf_counter() - began
    close([publisher, subscriber])
    return {"messages_a_second": count / spent, "latency_ms": fmean(latencies) * 1000}
