"""A broker that holds much: what it is filled with, and the cost of deliveries beside that.

Everything is confirmed by the broker before a function returns, so that what is measured next does
not pay for what was done before.
"""

import socket
import time
from collections.abc import Sequence

from gossamer_lab.bench.load import packets
from gossamer_lab.bench.load.bursts import BURST, FAN_OUT_BURST
from gossamer_lab.bench.load.client import (
    SET_UP_SECONDS,
    GeneratorError,
    LoadClient,
    close,
    readable,
    start,
)
from gossamer_lab.bench.load.flow import READ_SIZE, LoadFlow, LoadGroup, measure
from gossamer_lab.bench.measurement import BenchTarget, Measurement

Address = tuple[str, int]

BATCH = 500  # retained messages, or filters, that are sent at once
VALUE = b"21.5"  # of a retained message
QUEUED_PAYLOAD = bytes(100)
# Unacknowledged publications of one client: below every broker's Receive Maximum.
UNACKNOWLEDGED = 100
# Connections that are opened before the first of them is answered: below every listen backlog.
WAVE = 100
# Subscriptions of one client: below every broker's limit.
CLIENT_SUBSCRIPTIONS = 5_000
# When nothing has come for so long, nothing more will.
QUIET_SECONDS = 3.0
PROBE_SECONDS = 0.05
# For a first message on every topic, before those that are measured.
FIRST_USE_SECONDS = 60.0

AREAS, LINES = 50, 20
EVERYTHING = 10
# Of the wildcard filters, those that match a topic: of its area, twice of its line, and of all.
WILDCARD_FAN_OUT = 1 + 2 + EVERYTHING


def topic(number: int, root: str = "plant") -> str:
    """Some 30 bytes, all of one length; a thousand of them cover all areas and lines."""
    area, line = number % AREAS, number // AREAS % LINES
    return f"{root}/{area:03d}/line/{line:02d}/sensor/{number:07d}"


# Filling ----------------------------------------------------------------------------------------


def retain(address: Address, count: int, root: str = "plant", seconds: float = 0.0) -> None:
    """So many new retained messages; over some seconds, or as fast as the broker takes them."""
    client = LoadClient(address, f"retain-{root}")
    began = time.monotonic()
    for first in range(0, count, BATCH):
        due = began + seconds * first / count
        time.sleep(max(0.0, due - time.monotonic()))
        numbers = range(first, min(first + BATCH, count))
        client.socket.sendall(
            b"".join(packets.publish(topic(n, root), VALUE, retain=True) for n in numbers)
        )
    confirm(client)
    close([client])


def confirm(client: LoadClient) -> None:
    """Until the broker has worked on everything that the client sent."""
    client.socket.sendall(packets.publish("confirm", b"", 1, 1))
    if client.receive(packets.ACK_SIZE)[0] != packets.PUBACK:
        raise GeneratorError("the broker did not acknowledge a message")


def fetch_retained(address: Address, count: int, root: str = "plant") -> int:
    """How many retained messages a new subscription gets, of those that should be there."""
    client = LoadClient(address, f"fetch-{root}")
    client.subscribe([f"{root}/#"], 0)
    size = len(packets.publish(topic(0, root), VALUE, retain=True))
    came = receive_bytes([client.socket], count * size)
    close([client])
    return came // size


def receive_bytes(sockets: Sequence[socket.socket], wanted: int) -> int:
    """What all of them get together; less than is wanted if nothing comes any more."""
    came = 0
    while came < wanted:
        ready = readable(sockets, QUIET_SECONDS)
        if not ready:
            break
        for one in ready:
            count = len(one.recv(READ_SIZE))
            if not count:
                raise GeneratorError("the broker closed a connection")
            came += count
    return came


def connect_crowd(
    address: Address, count: int, name: str, filters: Sequence[str] = ()
) -> list[socket.socket]:
    """Clients that come in waves and, if there are filters, subscribe to one of them at once."""
    sockets: list[socket.socket] = []
    for first in range(0, count, WAVE):
        numbers = range(first, min(first + WAVE, count))
        wave = []
        for number in numbers:
            one = socket.create_connection(address, timeout=SET_UP_SECONDS)
            data = packets.connect(f"{name}{number}")
            if filters:
                data += packets.subscribe(1, [filters[number % len(filters)]], 0)
            one.sendall(data)
            wave.append(one)
        answer = len(packets.CONNACK) + (packets.suback_size(1) if filters else 0)
        if receive_bytes(wave, answer * len(wave)) < answer * len(wave):
            raise GeneratorError("the broker did not answer all clients")
        sockets += wave
    return sockets


def leave_sessions(address: Address, count: int, name: str) -> None:
    """Sessions with a subscription at QoS 1, whose clients have gone."""
    for number in range(count):
        client = LoadClient(address, f"{name}{number}", clean=False)
        client.subscribe([queue_topic(name, number)], 1)
        client.socket.sendall(packets.DISCONNECT)
        close([client])


def queue_topic(name: str, number: int) -> str:
    return f"{name}/{number:07d}/queue"


def queue(address: Address, sessions: int, messages: int, name: str) -> None:
    """So many messages for each of these sessions."""
    client = LoadClient(address, f"queue-{name}")
    for number in range(sessions):
        for first in range(0, messages, UNACKNOWLEDGED):
            count = min(UNACKNOWLEDGED, messages - first)
            packet = (
                packets.publish(queue_topic(name, number), QUEUED_PAYLOAD, 1, identity + 1)
                for identity in range(count)
            )
            client.socket.sendall(b"".join(packet))
            client.receive(count * packets.ACK_SIZE)
    close([client])


def subscribe_many(address: Address, count: int, name: str) -> list[LoadClient]:
    """Clients that together have so many subscriptions, each to a topic of its own."""
    clients = []
    for first in range(0, count, CLIENT_SUBSCRIPTIONS):
        client = LoadClient(address, f"{name}{first}")
        end = min(first + CLIENT_SUBSCRIPTIONS, count)
        for begin in range(first, end, BATCH):
            numbers = range(begin, min(begin + BATCH, end))
            client.subscribe([topic(number, name) for number in numbers], 0)
        clients.append(client)
    return clients


def await_path(target: BenchTarget) -> None:
    """Until the last broker of a chain has heard of all before, as messages keep their order."""
    if not target.last_port:
        return
    subscriber = LoadClient(target.last_address, "path-end")
    subscriber.subscribe(["path"], 0)
    publisher = LoadClient(target.address, "path-begin")
    deadline = time.monotonic() + SET_UP_SECONDS
    while not readable([subscriber.socket], PROBE_SECONDS):
        if time.monotonic() > deadline:
            raise GeneratorError("nothing crosses the chain")
        publisher.socket.sendall(packets.publish("path", b""))
    close([subscriber, publisher])


def wildcard_filters() -> list[str]:
    by_area = [f"plant/{area:03d}/#" for area in range(AREAS)]
    by_line = [f"plant/+/line/{line:02d}/#" for line in range(LINES)] * 2
    return [*by_area, *by_line, *["plant/#"] * EVERYTHING]


# Deliveries beside that -------------------------------------------------------------------------


def measure_in_use(target: BenchTarget, group: LoadGroup, topics: int) -> Measurement:
    """After a message on every topic, as far as the time for that reaches."""
    start([group.publisher, *group.subscribers])
    flow = LoadFlow([group])
    deadline = time.monotonic() + FIRST_USE_SECONDS
    while group.sent < topics and time.monotonic() < deadline:
        flow.run_for(PROBE_SECONDS)
    flow.drain()
    return measure([group], target)


def wildcards_over_topics(target: BenchTarget, count: int) -> Measurement:
    """100 subscribers with wildcards; each message is for 13 of them, on one of the topics."""
    subscribers = []
    for number, filter in enumerate(wildcard_filters()):
        subscribers.append(LoadClient(target.last_address, f"wild{number}"))
        subscribers[-1].subscribe([filter], 0)
    publisher = LoadClient(target.address, "publisher")
    topics = [topic(number) for number in range(target.scaled(count))]
    group = LoadGroup(publisher, subscribers, topics, FAN_OUT_BURST, fan_out=WILDCARD_FAN_OUT)
    return measure_in_use(target, group, len(topics))


def wildcards_beside_retained(target: BenchTarget, count: int) -> Measurement:
    retain(target.address, target.scaled(count), "kept")
    return wildcards_over_topics(target, 1000)


def one_of_subscriptions(target: BenchTarget, count: int) -> Measurement:
    """Each message is for one of so many subscriptions, in turn."""
    wanted = target.scaled(count)
    subscribers = subscribe_many(target.last_address, wanted, "plant")
    publisher = LoadClient(target.address, "publisher")
    topics = [topic(number) for number in range(wanted)]
    group = LoadGroup(publisher, subscribers, topics, BURST)
    return measure_in_use(target, group, len(topics))


def one_of_connections(target: BenchTarget, count: int) -> Measurement:
    """Each message is for one of so many clients, in turn."""
    subscribers = []
    topics = [topic(number) for number in range(target.scaled(count))]
    for number, name in enumerate(topics):
        subscribers.append(LoadClient(target.last_address, f"client{number}"))
        subscribers[-1].subscribe([name], 0)
    publisher = LoadClient(target.address, "publisher")
    group = LoadGroup(publisher, subscribers, topics, BURST)
    return measure_in_use(target, group, len(topics))
