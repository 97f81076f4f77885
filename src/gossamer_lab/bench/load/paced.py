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
from typing import NamedTuple

from gossamer_lab.bench.load import packets
from gossamer_lab.bench.load.client import GeneratorError, LoadClient, close, start
from gossamer_lab.bench.load.flow import DRAIN_SECONDS, PAYLOAD, QUIET_SECONDS, WARM_UP_SHARE
from gossamer_lab.bench.load.state import await_path
from gossamer_lab.bench.measurement import BenchTarget, Measurement, Meter
from gossamer_lab.bench.processes import beside
from gossamer_lab.quantiles import quantile

RATE = 1000
NUMBER_SIZE = 4
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


class PacedRun(NamedTuple):
    """When it began, when each message was sent, and when those that came did."""

    began: float
    sent: list[float]
    came: dict[int, float]


class Pacer:
    """Publishes numbered messages at QoS 1 at fixed times, and notes when each comes back."""

    def __init__(
        self, publisher: LoadClient, subscriber: LoadClient, topic: str, payload: int, rate: float
    ) -> None:
        """Publisher and subscriber may be the same client."""
        subscriber.subscribe([topic], 1)
        start([publisher, subscriber])
        self._publisher = publisher
        self._subscriber = subscriber
        self._topic = topic
        self._padding = bytes(payload - NUMBER_SIZE)
        self._every = 1 / rate
        self._packet_size = len(self._packet(0))
        self._id_offset = packets.packet_id_offset(topic, self._packet_size)
        self._data = b""

    def _packet(self, number: int) -> bytes:
        payload = self._padding + number.to_bytes(NUMBER_SIZE, "big")
        return packets.publish(self._topic, payload, 1, number % PACKET_IDS + 1)

    def run(self, total: int, patience: float) -> PacedRun:
        """Ends when all came, or so long after the last was due."""
        return self._run(lambda sent: sent >= total, patience)

    def run_until(self, is_over: Callable[[], bool], patience: float) -> PacedRun:
        """Sends until somebody says that it is over; then all are awaited, for so long."""
        return self._run(lambda _: is_over(), patience)

    def _run(self, has_sent: Callable[[int], bool], patience: float) -> PacedRun:
        clients = {client.socket: client for client in (self._publisher, self._subscriber)}
        began = time.perf_counter()
        found = PacedRun(began, [], {})
        is_sending = True
        while is_sending or len(found.came) < len(found.sent):
            is_sending = is_sending and not has_sent(len(found.sent))
            now = time.perf_counter()
            due = began + len(found.sent) * self._every
            if is_sending and now >= due:
                self._publisher.send(self._packet(len(found.sent)))
                found.sent.append(now)
                continue
            if not is_sending and now > due + patience:
                break
            unsent = [one for one, client in clients.items() if client.pending is not None]
            wait = due - now if is_sending else 0.1
            readable, writable, _ = select.select(list(clients), unsent, [], wait)
            for ready in writable:
                clients[ready].flush()
            for ready in readable:
                chunk = ready.recv(READ_SIZE)
                now = time.perf_counter()
                if not chunk:
                    return found
                if ready is self._subscriber.socket:
                    found.came.update((n, now) for n in self._numbers(chunk) if n not in found.came)
        return found

    def _numbers(self, chunk: bytes) -> list[int]:
        """Of the messages that came, each of which is acknowledged."""
        data = self._data + chunk
        found = []
        at = 0
        while at < len(data):
            is_publish = data[at] >> 4 == 3
            end = at + (self._packet_size if is_publish else packets.ACK_SIZE)
            if end > len(data):
                break
            if is_publish:
                identity = data[at + self._id_offset : at + self._id_offset + 2]
                self._subscriber.send(bytes([packets.PUBACK, 2]) + identity)
                found.append(int.from_bytes(data[end - NUMBER_SIZE : end], "big"))
            at = end
        self._data = data[at:]
        return found


def latency(target: BenchTarget, flood_qos: int | None = None) -> Measurement:
    """From sending to receiving, at 1,000 messages a second; alone, or beside a flood. Of a chain:
    from its first broker to its last."""
    flooding = nullcontext() if flood_qos is None else beside(flood, target.address, flood_qos)
    with flooding:
        await_path(target)
        publisher = LoadClient(target.address, "p")
        subscriber = LoadClient(target.last_address, "s")
        pacer = Pacer(publisher, subscriber, "bench/latency", len(PAYLOAD), RATE)
        meter = Meter(target)
        run = pacer.run(int(RATE * target.seconds) + WARM_UP_MESSAGES, QUIET_SECONDS)
        result = meter.read(len(run.sent), len(run.came))
    ordered = sorted(
        1e6 * (came - run.sent[number])
        for number, came in run.came.items()
        if number >= WARM_UP_MESSAGES
    )
    result.lost = len(run.sent) - len(run.came)
    result.p50_microseconds = quantile(ordered, 0.50)
    result.p99_microseconds = quantile(ordered, 0.99)
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
