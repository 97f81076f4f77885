"""What operators cost those who do not use them: plain forwarding beside operators elsewhere."""

import time
from dataclasses import dataclass

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.session.journal import Journal
from gossamer_lab.bench.plus.loopback import LoopbackClient, publication

RUNS = 7  # of each kind, alternating, so that a busy machine hits both
CHUNK_PACKETS = 100


@dataclass(frozen=True)
class PlainRun:
    operators: int
    without: float  # deliveries a second of processor time, the best of all runs
    beside: float

    @property
    def loss(self) -> float:
        return 1.0 - self.beside / self.without


def run_plain(operators: int, messages: int) -> PlainRun:
    """One publisher and five subscribers on one topic; the operators read other topics."""
    alone, beside = _Pair(0), _Pair(operators)
    rates = [(alone.rate(messages), beside.rate(messages)) for _ in range(RUNS)]
    return PlainRun(operators, max(one for one, _ in rates), max(one for _, one in rates))


class _Pair:
    def __init__(self, operators: int) -> None:
        settings = Settings()
        settings.sys_interval = 0.0
        broker = Broker(settings, Journal(), 0.0)
        self.readers = [LoopbackClient(broker, f"reader{number}", 0.0) for number in range(5)]
        for reader in self.readers:
            reader.subscribe("plain/topic", 0.0)
        dashboard = LoopbackClient(broker, "dashboard", 0.0)
        for number in range(operators):
            dashboard.subscribe(f"$AVG/room{number}/+", 0.0)
        self.writer = LoopbackClient(broker, "writer", 0.0)
        # Payloads of two lengths, so that the packets are not one run of equals.
        packets = [publication("plain/topic", b"x" * (64 + n % 2)) for n in range(CHUNK_PACKETS)]
        self.chunk = b"".join(packets)

    def rate(self, messages: int) -> float:
        chunks = max(1, messages // CHUNK_PACKETS)
        begun = time.process_time()
        for _ in range(chunks):
            self.writer.send(self.chunk, 0.0)
        return chunks * CHUNK_PACKETS * len(self.readers) / (time.process_time() - begun)
