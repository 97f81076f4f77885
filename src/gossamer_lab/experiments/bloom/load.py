"""One publisher and one subscriber: messages a second, and the time of one alone."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from gossamer_lab.bench.load import packets
from gossamer_lab.bench.load.client import LoadClient, close

TOPIC: Final = "figure/7"
PAYLOAD: Final = bytes(1024)  # as in the paper
WINDOW: Final = 64  # messages on their way: enough that the broker never waits for the publisher
ALONE: Final = 200  # messages sent one at a time


@dataclass(frozen=True)
class Load:
    messages_a_second: float
    latency_ms: float  # of a message that finds the broker idle


def load(port: int, seconds: float) -> Load:
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
    return Load(count / spent, fmean(latencies) * 1000)
