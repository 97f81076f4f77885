"""The scenarios that send in bursts: what is published to whom, at which QoS, in which window."""

import random
import time
from collections.abc import Sequence

from gossamer_lab.bench.load import packets
from gossamer_lab.bench.load.client import GeneratorError, LoadClient, close, readable, start
from gossamer_lab.bench.load.flow import READ_SIZE, Load, LoadFlow, LoadGroup, measure
from gossamer_lab.bench.measurement import BenchTarget, Measurement, Meter

# Small enough that no broker's default queue overflows, large enough that none runs dry.
BURST = Load(500, window=4000)
FAN_OUT_BURST = Load(100, window=400)
PAIR_BURST = Load(50, window=200)

PAIRS = 20
AREAS, SENSORS = 50, 20

DURABLE_PAIRS = 64
# Messages for each client that is away: below every broker's limit for one session's queue.
KEPT_MESSAGES = 8_000
# Until the last acknowledgement, and again until the last message was fetched.
AWAY_SECONDS = 180.0

FILTERS = 1_000_000
FILTER_CLIENTS = 200
FILTERS_PER_PACKET = 500
FILTER_MESSAGES = 50_000
SEED = 20
# A broker that needs longer than this to take the filters is not measured.
SET_UP_LIMIT_SECONDS = 120.0

# A chain takes a moment to learn what is wanted.
PATH_SECONDS = 30.0
PROBE_SECONDS = 0.05
QUIET_SECONDS = 0.3


def one_to_many(target: BenchTarget, receivers: int, load: Load) -> Measurement:
    topic = "bench/burst"
    subscribers = [_subscriber(target, i, topic) for i in range(receivers)]
    publisher = LoadClient(target.address, "p")
    group = LoadGroup(publisher, subscribers, [topic], load, fan_out=receivers)
    return measure([group], target)


def pairs(
    target: BenchTarget,
    qos: int,
    count: int = PAIRS,
    load: Load = PAIR_BURST,
    *,
    clean: bool = True,
) -> Measurement:
    """Publishers, each with a subscriber of its own: of a chain of brokers, at its last."""
    groups = []
    for number in range(count):
        topic = f"bench/pair/{number:03d}"
        subscriber = _subscriber(target, number, topic, qos, clean=clean)
        publisher = LoadClient(target.address, f"p{number}")
        groups.append(LoadGroup(publisher, [subscriber], [topic], load, qos=qos))
    if target.last_port:
        _await_paths(groups)
    return measure(groups, target)


def _subscriber(
    target: BenchTarget, number: int, filter: str, qos: int = 0, *, clean: bool = True
) -> LoadClient:
    client = LoadClient(target.last_address, f"s{number}", clean=clean)
    client.subscribe([filter], qos)
    return client


def _await_paths(groups: Sequence[LoadGroup]) -> None:
    """Until what is published arrives, and the probes that found out are gone."""
    deadline = time.monotonic() + PATH_SECONDS
    sockets = [group.subscribers[0].socket for group in groups]
    for group, subscriber in zip(groups, sockets, strict=True):
        probe = packets.publish(group.topic, b"probe")
        group.publisher.socket.sendall(probe)
        while not readable([subscriber], PROBE_SECONDS):
            if time.monotonic() > deadline:
                raise GeneratorError("nothing crosses the chain")
            group.publisher.socket.sendall(probe)
    while ready := readable(sockets, QUIET_SECONDS):
        for subscriber in ready:
            if not subscriber.recv(READ_SIZE):
                raise GeneratorError("the broker closed a connection during set-up")


def wildcards(target: BenchTarget) -> Measurement:
    """100 subscribers with wildcards over 1,000 topics; each message is for 13 of them."""
    topics = [
        f"bench/{area:02d}/{sensor:02d}" for area in range(AREAS) for sensor in range(SENSORS)
    ]
    by_area = [f"bench/{area:02d}/+" for area in range(AREAS)]
    by_sensor = [f"bench/+/{sensor:02d}" for sensor in range(SENSORS)] * 2
    everything = ["bench/#"] * 10
    filters = by_area + by_sensor + everything
    subscribers = [_subscriber(target, number, filter) for number, filter in enumerate(filters)]
    publisher = LoadClient(target.address, "p")
    fan_out = 1 + 2 + len(everything)
    group = LoadGroup(publisher, subscribers, topics, FAN_OUT_BURST, fan_out=fan_out)
    return measure([group], target)


def filter_of(number: int) -> str:
    """Half of the filters name one topic; the other half have a wildcard in the middle."""
    area, sensor = divmod(number, 1000)
    middle = "value" if number % 2 else "+"
    return f"bench/{area:04d}/{middle}/{sensor:03d}"


def topic_of(number: int) -> str:
    """The topic that matches filter ``number`` and no other."""
    area, sensor = divmod(number, 1000)
    return f"bench/{area:04d}/value/{sensor:03d}"


def million_filters(target: BenchTarget) -> Measurement:
    """Each message is for one of the filters, seldom for the same."""
    count = max(FILTER_CLIENTS * FILTERS_PER_PACKET, target.scaled(FILTERS))
    share = count // FILTER_CLIENTS
    meter = Meter(target)
    subscribers = []
    for number in range(FILTER_CLIENTS):
        client = LoadClient(target.address, f"s{number}")
        own = range(number * share, (number + 1) * share)
        for first in range(own.start, own.stop, FILTERS_PER_PACKET):
            numbers = range(first, min(first + FILTERS_PER_PACKET, own.stop))
            client.subscribe([filter_of(number) for number in numbers], 0)
            if meter.seconds() > SET_UP_LIMIT_SECONDS:
                raise GeneratorError(
                    f"only {numbers.stop:,} filters in {SET_UP_LIMIT_SECONDS:.0f} s"
                )
        subscribers.append(client)
    set_up = meter.seconds()
    choose = random.Random(SEED)
    topics = [topic_of(choose.randrange(share * FILTER_CLIENTS)) for _ in range(FILTER_MESSAGES)]
    publisher = LoadClient(target.address, "p")
    result = measure([LoadGroup(publisher, subscribers, topics, BURST)], target)
    result.set_up_seconds = set_up
    return result


class AwayGroup(LoadGroup):
    """A publisher alone: what is acknowledged counts, and there is an end."""

    def __init__(self, publisher: LoadClient, topic: str, messages: int) -> None:
        super().__init__(publisher, [], [topic], PAIR_BURST, qos=1)
        self.messages = messages

    def delivered(self) -> int:
        return self.publisher_side.acknowledged

    def send_while_there_is_room(self) -> None:
        if self.sent < self.messages:
            super().send_while_there_is_room()


def away(target: BenchTarget) -> Measurement:
    """Everything is for clients that are away; then they come and fetch it."""
    messages = target.scaled(KEPT_MESSAGES) // PAIR_BURST.batch * PAIR_BURST.batch
    groups = []
    for number in range(DURABLE_PAIRS):
        topic = f"bench/away/{number:03d}"
        subscriber = _subscriber(target, number, topic, 1, clean=False)
        subscriber.socket.sendall(packets.DISCONNECT)
        close([subscriber])
        groups.append(AwayGroup(LoadClient(target.address, f"p{number}"), topic, messages))
    start([group.publisher for group in groups])
    flow = LoadFlow(groups)
    meter = Meter(target)
    while any(group.delivered() < group.messages for group in groups):
        flow.run_for(0.01)
        if meter.seconds() > AWAY_SECONDS:
            raise GeneratorError("not everything was acknowledged in time")
    result = meter.read(flow.sent(), flow.delivered())
    result.lost = flow.sent() - _fetch(target, groups)
    return result


def _fetch(target: BenchTarget, groups: Sequence[AwayGroup]) -> int:
    """How many of the kept messages their receivers get when they come."""
    fetched = 0
    deadline = time.monotonic() + AWAY_SECONDS
    for number, group in enumerate(groups):
        client = LoadClient(target.address, f"s{number}", clean=False)
        side = group.receiver()
        while side.delivered < group.sent and time.monotonic() < deadline:
            data = client.socket.recv(READ_SIZE)
            if not data:
                break
            client.socket.sendall(side.feed(data))
        fetched += side.delivered
        close([client])
    return fetched
