"""The bystander: a client that publishes to itself at QoS 1, and how long each message takes.

Messages are due at fixed times, and a latency counts from then: while the broker does not answer,
those that could not be sent are late as well.
"""

import select
import time
from dataclasses import dataclass
from typing import Final

from gossamer_lab.bench.load import packets
from gossamer_lab.bench.load.client import LoadClient, close, start
from gossamer_lab.bench.measurement import percentile

EVERY: Final = 0.002  # seconds
PATIENCE: Final = 5.0  # how long the last messages may take
TOPIC: Final = "bystander"
NUMBER_SIZE: Final = 4
STRETCH: Final = 50  # messages
PACKET_IDS: Final = 60_000
PACKET_SIZE: Final = len(packets.publish(TOPIC, bytes(NUMBER_SIZE), 1, 1))
ID_OFFSET: Final = packets.packet_id_offset(TOPIC, PACKET_SIZE)
READ_SIZE: Final = 65536


@dataclass(frozen=True)
class Service:
    """Milliseconds, and how many of the messages came.

    `usual` is the median of the worst of each stretch: what else the machine does makes single
    stretches slow, an attack that holds the broker up makes all of them slow.
    """

    p50: float
    p99: float
    usual: float
    worst: float
    sent: int
    arrived: int


def _usual(latencies: dict[int, float]) -> float:
    stretches: dict[int, list[float]] = {}
    for number, latency in latencies.items():
        stretches.setdefault(number // STRETCH, []).append(latency)
    return percentile(sorted(max(one) for one in stretches.values()), 0.5)


class Bystander:
    """Connected once, and measured as often as one likes."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._client = LoadClient(address, "bystander")
        self._client.subscribe([TOPIC], 1)
        start([self._client])
        self._data = b""

    def close(self) -> None:
        close([self._client])

    def measure(self, seconds: float) -> Service:
        total = int(seconds / EVERY)
        latencies: dict[int, float] = {}
        began = time.perf_counter()
        sent = 0
        while len(latencies) < total:
            now = time.perf_counter()
            if sent < total and now >= began + sent * EVERY:
                number = sent.to_bytes(NUMBER_SIZE, "big")
                self._client.send(packets.publish(TOPIC, number, 1, sent % PACKET_IDS + 1))
                sent += 1
                continue
            if now > began + total * EVERY + PATIENCE:
                break
            due = began + sent * EVERY - now if sent < total else PATIENCE / 10
            writes = [self._client.socket] if self._client.pending is not None else []
            readable, writable, _ = select.select([self._client.socket], writes, [], due)
            if writable:
                self._client.flush()
            if not readable:
                continue
            chunk = self._client.socket.recv(READ_SIZE)
            if not chunk:
                break
            now = time.perf_counter()
            for number_of in self._arrived(chunk):
                latencies.setdefault(number_of, 1000 * (now - began - number_of * EVERY))
        ordered = sorted(latencies.values())
        return Service(
            percentile(ordered, 0.50),
            percentile(ordered, 0.99),
            _usual(latencies),
            ordered[-1] if ordered else 0.0,
            total,
            len(ordered),
        )

    def _arrived(self, chunk: bytes) -> list[int]:
        """The numbers of the messages that came, each acknowledged."""
        data = self._data + chunk
        found = []
        at = 0
        while at < len(data):
            is_publish = data[at] >> 4 == 3
            end = at + (PACKET_SIZE if is_publish else packets.ACK_SIZE)
            if end > len(data):
                break
            if is_publish:
                identity = data[at + ID_OFFSET : at + ID_OFFSET + 2]
                self._client.send(bytes([packets.PUBACK, 2]) + identity)
                found.append(int.from_bytes(data[end - NUMBER_SIZE : end], "big"))
            at = end
        self._data = data[at:]
        return found
