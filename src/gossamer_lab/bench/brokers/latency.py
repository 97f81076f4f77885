"""Latency at a fixed rate: 1,000 messages a second at QoS 1, each stamped with its send time."""

import select
import time

from gossamer_lab.bench.brokers import mqtt, proc
from gossamer_lab.bench.brokers.acknowledge import AckReceiver
from gossamer_lab.bench.brokers.bursts import PAYLOAD
from gossamer_lab.bench.brokers.flow import QUIET_SECONDS
from gossamer_lab.bench.brokers.link import open_link, start, subscribe
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement

RATE = 1000
TOPIC = "bench/latency"
PACKET_IDS = 60_000
READ_SIZE = 65536
WARM_UP_MESSAGES = RATE // 4


def percentile(ordered: list[float], share: float) -> float:
    """The value that ``share`` of an ascending list does not pass; 0 for none."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def _packet(number: int, size: int) -> bytes:
    stamp = time.perf_counter_ns().to_bytes(8, "big")
    return mqtt.publish(TOPIC, stamp + PAYLOAD[: size - len(stamp)], 1, number % PACKET_IDS + 1)


def at_fixed_rate(target: BenchTarget) -> Measurement:
    subscriber = open_link(target.address, "s")
    subscribe(subscriber, [TOPIC], 1)
    publisher = open_link(target.address, "p")
    start([subscriber, publisher])
    size = len(_packet(0, len(PAYLOAD)))
    stamp_offset = size - len(PAYLOAD)
    id_offset = mqtt.packet_id_offset(TOPIC, size)
    side = AckReceiver(size, id_offset, mqtt.PUBACK)
    sockets = [subscriber.socket, publisher.socket]
    latencies: list[float] = []
    data = b""
    total = int(RATE * target.seconds) + WARM_UP_MESSAGES
    number = 0
    cpu, own_cpu = proc.cpu_seconds(target.pid), time.process_time()
    began = last_news = time.perf_counter()
    while len(latencies) < total and time.perf_counter() - last_news < QUIET_SECONDS:
        due = began + number / RATE
        if number < total and time.perf_counter() >= due:
            publisher.send(_packet(number, len(PAYLOAD)))
            number += 1
            continue
        wait = max(0.0, due - time.perf_counter()) if number < total else 0.1
        for ready in select.select(sockets, [], [], wait)[0]:
            chunk = ready.recv(READ_SIZE)
            now = time.perf_counter_ns()
            if ready is publisher.socket:
                continue
            last_news = time.perf_counter()
            subscriber.send(side.feed(chunk))
            data += chunk
            while len(data) >= size:
                stamp = int.from_bytes(data[stamp_offset : stamp_offset + 8], "big")
                latencies.append((now - stamp) / 1000)
                data = data[size:]
    seconds = time.perf_counter() - began
    ordered = sorted(latencies[WARM_UP_MESSAGES:])
    return Measurement(
        seconds=seconds,
        sent=number,
        delivered=len(latencies),
        lost=number - len(latencies),
        broker_cpu_seconds=proc.cpu_seconds(target.pid) - cpu,
        generator_cpu_seconds=time.process_time() - own_cpu,
        resident_bytes=proc.resident_bytes(target.pid),
        p50_microseconds=percentile(ordered, 0.50),
        p99_microseconds=percentile(ordered, 0.99),
    )
