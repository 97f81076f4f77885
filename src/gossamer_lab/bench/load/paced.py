"""The scenarios that do not saturate a broker: a fixed rate, one message per read, idle clients.

Beside a fixed rate another client may send all it can. That flood is a process of its own on the
generator's core, at a lower priority, so that what is measured is the broker's fairness and not the
generator's.
"""

import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext

from gossamer_lab.bench.load import packets
from gossamer_lab.bench.load.client import GeneratorError, LoadClient, close, start
from gossamer_lab.bench.load.flow import DRAIN_SECONDS, PAYLOAD, QUIET_SECONDS, WARM_UP_SHARE
from gossamer_lab.bench.load.packets import AckReceiver
from gossamer_lab.bench.measurement import BenchTarget, Measurement, Meter, percentile
from gossamer_lab.bench.processes import beside

RATE = 1000
TOPIC = "bench/latency"
PACKET_IDS = 60_000
READ_SIZE = 65536
WARM_UP_MESSAGES = RATE // 4

FLOOD_BURST = 2000
LOWER_PRIORITY = 10

PAIRS = 200
PAIR_READ_SIZE = 4096

CONNECTIONS = 5000
# The first connections fill caches and pools that all later ones share.
FIRST_CONNECTIONS = 50
SETTLE_SECONDS = 0.5


def latency(target: BenchTarget, flood_qos: int | None = None) -> Measurement:
    """1,000 messages a second at QoS 1, each with its send time; alone, or beside a flood."""
    flooding = nullcontext() if flood_qos is None else beside(flood, target.address, flood_qos)
    with flooding:
        return _at_fixed_rate(target)


def _packet(number: int, size: int) -> bytes:
    stamp = time.perf_counter_ns().to_bytes(8, "big")
    return packets.publish(TOPIC, stamp + PAYLOAD[: size - len(stamp)], 1, number % PACKET_IDS + 1)


def _at_fixed_rate(target: BenchTarget) -> Measurement:
    subscriber = LoadClient(target.address, "s")
    subscriber.subscribe([TOPIC], 1)
    publisher = LoadClient(target.address, "p")
    start([subscriber, publisher])
    size = len(_packet(0, len(PAYLOAD)))
    stamp_offset = size - len(PAYLOAD)
    side = AckReceiver(size, packets.packet_id_offset(TOPIC, size), packets.PUBACK)
    sockets = [subscriber.socket, publisher.socket]
    latencies: list[float] = []
    data = b""
    total = int(RATE * target.seconds) + WARM_UP_MESSAGES
    number = 0
    meter = Meter(target)
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
    result = meter.read(number, len(latencies))
    ordered = sorted(latencies[WARM_UP_MESSAGES:])
    result.lost = number - len(latencies)
    result.p50_microseconds = percentile(ordered, 0.50)
    result.p99_microseconds = percentile(ordered, 0.99)
    return result


def flood(started: Callable[[], None], address: tuple[str, int], qos: int) -> None:
    """Sends bursts for ever, and reads the answers without looking at them."""
    os.nice(LOWER_PRIORITY)
    client = LoadClient(address, "flood")
    client.socket.settimeout(None)
    burst = b"".join(
        packets.publish("bench/flood", PAYLOAD, qos, number + 1) for number in range(FLOOD_BURST)
    )
    threading.Thread(target=_read_all, args=(client,), daemon=True).start()
    client.socket.sendall(burst)
    started()
    while True:
        client.socket.sendall(burst)


def _read_all(client: LoadClient) -> None:
    while client.socket.recv(1 << 20):
        pass


def one_message_per_read(target: BenchTarget) -> Measurement:
    """200 pairs: each publisher waits for its delivery and sends the next."""
    poll = select.epoll()
    receive, send, clients = {}, {}, []
    for number in range(PAIRS):
        topic = f"bench/pair/{number:03d}"
        subscriber = LoadClient(target.address, f"s{number}")
        subscriber.subscribe([topic], 0)
        publisher = LoadClient(target.address, f"p{number}")
        start([subscriber, publisher])
        clients += [subscriber, publisher]
        key = subscriber.socket.fileno()
        poll.register(key, select.EPOLLIN)
        receive[key] = subscriber.socket.recv
        send[key] = (publisher.socket.send, packets.publish(topic, PAYLOAD))
    size = len(packets.publish("bench/pair/000", PAYLOAD))
    sent = received_bytes = 0

    def run_until(end: float, *, sending: bool) -> None:
        nonlocal sent, received_bytes
        while time.perf_counter() < end and (sending or received_bytes < sent * size):
            for key, _ in poll.poll(0.1):
                count = len(receive[key](PAIR_READ_SIZE))
                if count == 0:
                    raise GeneratorError("the broker closed a connection under load")
                received_bytes += count
                if sending:
                    write, packet = send[key]
                    write(packet)
                    sent += 1

    for write, packet in send.values():
        write(packet)
        sent += 1
    run_until(time.perf_counter() + target.seconds * WARM_UP_SHARE, sending=True)
    sent_before, bytes_before = sent, received_bytes
    meter = Meter(target)
    run_until(time.perf_counter() + target.seconds, sending=True)
    result = meter.read(sent - sent_before, (received_bytes - bytes_before) // size)
    run_until(time.perf_counter() + DRAIN_SECONDS, sending=False)
    close(clients)
    result.lost = sent - received_bytes // size
    return result


def idle_connections(target: BenchTarget) -> Measurement:
    """What a connection costs that does nothing: resident memory for 5,000 of them."""
    wanted = target.scaled(CONNECTIONS)
    clients = [LoadClient(target.address, f"first{i}") for i in range(FIRST_CONNECTIONS)]
    time.sleep(SETTLE_SECONDS)
    meter = Meter(target)
    before = meter.read().resident_bytes
    clients += [LoadClient(target.address, f"idle{i}") for i in range(wanted)]
    set_up = meter.seconds()
    time.sleep(SETTLE_SECONDS)
    result = meter.read()
    result.seconds, result.set_up_seconds = 0.0, set_up  # nothing flows
    if target.pid:
        result.bytes_per_connection = (result.resident_bytes - before) / wanted
    close(clients)
    return result
