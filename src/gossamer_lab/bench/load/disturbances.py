"""What others do while a client pings itself: all scenarios of `bench stalls`, and their process.

Each is prepared first, and begins when it is told to. In a chain of brokers everything is published
at the first and received at the last.
"""

import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final, NamedTuple

from gossamer_lab.bench.load import packets, state
from gossamer_lab.bench.load.client import GeneratorError, LoadClient, readable
from gossamer_lab.bench.load.flow import READ_SIZE
from gossamer_lab.bench.load.packets import AckReceiver
from gossamer_lab.bench.measurement import BenchTarget

PREPARE_SECONDS: Final = 600.0
LOWER_PRIORITY: Final = 10

KEPT: Final = "kept"  # the root of retained messages that are only there
# Retained messages of a broker itself, below $SYS, count towards its limit: room is left for them.
# One of two in a mesh has 106.
OWN_TOPICS: Final = 300
RETAINED: Final = 300_000
RETAINED_SECONDS: Final = 7.0
TOPICS_IN_USE: Final = 50_000
CHURN: Final = 3_000
CHURN_CLIENTS: Final = 30
CHURN_ROUNDS: Final = 10
WATCHERS: Final = 10
RETURNING: Final = 10
QUEUED: Final = 9_000
CROWD: Final = 5_000
RECEIVERS: Final = 2_000
FAN_OUTS: Final = 10
FAN_OUT_PAUSE_SECONDS: Final = 0.2

# Prepares everything, yields, and then does what is measured; tells what did not come.
Steps = Generator[None, None, str]


def new_retained(target: BenchTarget) -> Steps:
    yield
    state.retain(target.address, target.scaled(RETAINED), seconds=RETAINED_SECONDS * target.scale)
    state.await_path(target)
    return ""


def wildcard_over_retained(target: BenchTarget) -> Steps:
    count = target.scaled(RETAINED)
    state.retain(target.address, count)
    state.await_path(target)
    yield
    return _missing(state.fetch_retained(target.last_address, count), count, "retained messages")


def subscription_churn(target: BenchTarget) -> Steps:
    """In rounds, between which the topics are used again: a broker may have to forget for each
    subscription what it remembers of them."""
    topics = [state.topic(number) for number in range(target.scaled(TOPICS_IN_USE))]
    # Each matches one topic, and begins like all.
    filters = [
        f"plant/+/line/{number // state.AREAS % state.LINES:02d}/sensor/{number:07d}"
        for number in range(target.scaled(CHURN))
    ]
    size = len(packets.publish(topics[0], state.VALUE))
    publisher = LoadClient(target.address, "publisher")
    watchers = state.connect_crowd(target.last_address, WATCHERS, "watch", ["plant/#"])
    clients = [LoadClient(target.last_address, f"churn{n}") for n in range(CHURN_CLIENTS)]
    state.await_path(target)

    def use(names: Sequence[str]) -> None:
        for first in range(0, len(names), state.BATCH):
            some = names[first : first + state.BATCH]
            publisher.socket.sendall(b"".join(packets.publish(n, state.VALUE) for n in some))
            state.receive_bytes(watchers, len(some) * size * len(watchers))

    use(topics)
    yield
    for number in range(CHURN_ROUNDS):
        wanted = {
            client: filters[number::CHURN_ROUNDS][index :: len(clients)]
            for index, client in enumerate(clients)
        }
        for client, own in wanted.items():
            client.socket.sendall(b"".join(packets.subscribe(1, [name], 0) for name in own))
        for client, own in wanted.items():
            client.receive(len(own) * packets.suback_size(1))
        use(topics[number::CHURN_ROUNDS])
        for client, own in wanted.items():
            client.socket.sendall(b"".join(packets.unsubscribe(2, name) for name in own))
        for client, own in wanted.items():
            for _ in own:
                _await_unsuback(client, size)
    return ""


def _await_unsuback(client: LoadClient, message_size: int) -> None:
    """Behind the messages for its filters."""
    while client.receive(1)[0] != packets.UNSUBACK:
        client.receive(message_size - 1)
    client.receive(packets.ACK_SIZE - 1)


def returning_sessions(target: BenchTarget) -> Steps:
    messages = target.scaled(QUEUED)
    state.leave_sessions(target.last_address, RETURNING, "away")
    state.await_path(target)
    state.queue(target.address, RETURNING, messages, "away")
    state.await_path(target)
    topic = state.queue_topic("away", 0)
    size = len(packets.publish(topic, state.QUEUED_PAYLOAD, 1, 1))
    offset = packets.packet_id_offset(topic, size)
    yield
    clients = [LoadClient(target.last_address, f"away{n}", clean=False) for n in range(RETURNING)]
    sides = {one.socket: AckReceiver(size, offset, packets.PUBACK) for one in clients}
    wanted = RETURNING * messages
    while sum(side.delivered for side in sides.values()) < wanted:
        ready = readable(list(sides), state.QUIET_SECONDS)
        if not ready:
            break
        for one in ready:
            data = one.recv(READ_SIZE)
            if not data:
                raise GeneratorError("the broker closed a connection")
            one.sendall(sides[one].feed(data))
    return _missing(sum(side.delivered for side in sides.values()), wanted, "queued messages")


def crowd(target: BenchTarget) -> Steps:
    count = target.scaled(CROWD)
    filters = [state.topic(number) for number in range(count)]
    yield
    for one in state.connect_crowd(target.last_address, count, "crowd", filters):
        one.close()
    return ""


def fan_out(target: BenchTarget) -> Steps:
    count = target.scaled(RECEIVERS)
    receivers = state.connect_crowd(target.last_address, count, "receiver", ["plant/all"])
    publisher = LoadClient(target.address, "publisher")
    state.await_path(target)
    packet = packets.publish("plant/all", bytes(64))
    yield
    came = 0
    for _ in range(FAN_OUTS):
        publisher.socket.sendall(packet)
        came += state.receive_bytes(receivers, count * len(packet)) // len(packet)
        time.sleep(FAN_OUT_PAUSE_SECONDS)
    return _missing(came, FAN_OUTS * count, "messages")


def _missing(came: int, wanted: int, what: str) -> str:
    return "" if came >= wanted else f"{came:,} of {wanted:,} {what} came"


class StallScenario(NamedTuple):
    name: str
    title: str  # with the count, where one is told
    amount: int
    steps: Callable[[BenchTarget], Steps]
    retained: int = 0  # messages that it retains itself


SCENARIOS: Final = (
    StallScenario("retained", "{:,} new retained messages", RETAINED, new_retained, RETAINED),
    StallScenario(
        "wildcard",
        "one plant/# over {:,} retained",
        RETAINED,
        wildcard_over_retained,
        RETAINED,
    ),
    StallScenario("churn", "{:,} subscribe and unsubscribe", CHURN, subscription_churn),
    StallScenario("sessions", "ten sessions with {:,} queued each", QUEUED, returning_sessions),
    StallScenario("crowd", "{:,} clients connect and subscribe", CROWD, crowd),
    StallScenario("fan-out", "one message to {:,} subscribers", RECEIVERS, fan_out),
)
BY_NAME: Final = {one.name: one for one in SCENARIOS}


def load(connection: Connection, name: str, target: BenchTarget, kept: int) -> None:
    """The process of the others: ready, told to begin, done, and told to end."""
    os.nice(LOWER_PRIORITY)
    try:
        if kept:
            state.retain(target.address, kept, KEPT)
        steps = BY_NAME[name].steps(target)
        next(steps)
        connection.send(("ready", ""))
        connection.recv()
        missing = ""
        try:
            next(steps)
        except StopIteration as end:
            missing = end.value
        connection.send(("done", missing))
        connection.recv()
        if kept:
            missing = _missing(state.fetch_retained(target.address, kept, KEPT), kept, "kept")
        else:
            missing = ""
        connection.send(("kept", missing))
    except (GeneratorError, OSError) as problem:
        connection.send(("failed", str(problem) or type(problem).__name__))


def told(connection: Connection, seconds: float) -> str:
    """What the others say next; GeneratorError if they fail or say nothing."""
    if not connection.poll(seconds):
        raise GeneratorError("the load was not done in time")
    try:
        kind, text = connection.recv()
    except EOFError:
        raise GeneratorError("the load ended too soon") from None
    if kind == "failed":
        raise GeneratorError(text)
    return str(text)


@contextmanager
def others(name: str, target: BenchTarget, kept: int) -> Iterator[Connection]:
    """Their process, with as many retained messages before; ask it with `told`."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=load, args=(there, name, target, kept), daemon=True)
    process.start()
    there.close()
    try:
        yield here
    finally:
        process.kill()
        process.join()
        here.close()
