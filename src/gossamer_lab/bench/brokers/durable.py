"""The scenarios for sessions that last: every message must be kept until its receiver has it."""

import time
from collections.abc import Sequence

from gossamer_lab.bench.brokers import mqtt, proc
from gossamer_lab.bench.brokers.acknowledge import AckReceiver
from gossamer_lab.bench.brokers.bursts import PAIR_BURST, PAIR_WINDOW, chunks
from gossamer_lab.bench.brokers.flow import READ_SIZE, LoadFlow, LoadGroup, measure
from gossamer_lab.bench.brokers.link import (
    BenchLink,
    GeneratorError,
    close,
    open_link,
    start,
    subscribe,
)
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement

QOS = 1
PUBLISHERS = 64

# Messages for each client that is away: below every broker's limit for one session's queue.
KEPT_MESSAGES = 8_000

# Until the last acknowledgement, and again until the last message was fetched.
AWAY_SECONDS = 180.0


def _topic(number: int) -> str:
    return f"bench/durable/{number:03d}"


def _load(number: int) -> list[bytes]:
    # Twice the window of packet ids: none is used again before it is free.
    return chunks([_topic(number)], PAIR_BURST, QOS, 2 * PAIR_WINDOW // PAIR_BURST)


def _subscriber(target: BenchTarget, number: int) -> BenchLink:
    return open_link(target.address, f"s{number}", clean=False)


def online(target: BenchTarget) -> Measurement:
    """Each publisher has a subscriber that is there and answers at once."""
    groups = []
    for number in range(PUBLISHERS):
        subscriber = _subscriber(target, number)
        subscribe(subscriber, [_topic(number)], QOS)
        publisher = open_link(target.address, f"p{number}")
        groups.append(
            LoadGroup(
                publisher,
                [subscriber],
                _load(number),
                PAIR_BURST,
                PAIR_WINDOW,
                1,
                QOS,
                _topic(number),
            )
        )
    return measure(groups, target)


class AwayGroup(LoadGroup):
    """A publisher alone: what is acknowledged counts, and there is an end."""

    def __init__(self, publisher: BenchLink, number: int, messages: int) -> None:
        super().__init__(
            publisher, [], _load(number), PAIR_BURST, PAIR_WINDOW, 1, QOS, _topic(number)
        )
        self.messages = messages

    def delivered(self) -> int:
        return self.publisher_side.acknowledged

    def send_while_there_is_room(self) -> None:
        if self.sent < self.messages:
            super().send_while_there_is_room()


def away(target: BenchTarget) -> Measurement:
    """Everything is for clients that are away; then they come and fetch it."""
    messages = target.scaled(KEPT_MESSAGES) // PAIR_BURST * PAIR_BURST
    for number in range(PUBLISHERS):
        subscriber = _subscriber(target, number)
        subscribe(subscriber, [_topic(number)], QOS)
        subscriber.socket.sendall(mqtt.DISCONNECT)
        close([subscriber])
    publishers = [open_link(target.address, f"p{number}") for number in range(PUBLISHERS)]
    groups = [AwayGroup(link, number, messages) for number, link in enumerate(publishers)]
    start(publishers)
    flow = LoadFlow(groups)
    cpu, own_cpu = proc.cpu_seconds(target.pid), time.process_time()
    began = time.perf_counter()
    while any(group.delivered() < group.messages for group in groups):
        flow.run_for(0.01)
        if time.perf_counter() - began > AWAY_SECONDS:
            raise GeneratorError("not everything was acknowledged in time")
    result = Measurement(
        seconds=time.perf_counter() - began,
        sent=flow.sent(),
        delivered=flow.delivered(),
        broker_cpu_seconds=proc.cpu_seconds(target.pid) - cpu,
        generator_cpu_seconds=time.process_time() - own_cpu,
        resident_bytes=proc.resident_bytes(target.pid),
    )
    result.lost = flow.sent() - _fetch(target, groups)
    return result


def _fetch(target: BenchTarget, groups: Sequence[AwayGroup]) -> int:
    """How many of the kept messages their receivers get when they come."""
    fetched = 0
    deadline = time.monotonic() + AWAY_SECONDS
    for number, group in enumerate(groups):
        link = _subscriber(target, number)
        side = AckReceiver(group.packet_size, group.publisher_side.id_offset, mqtt.PUBACK)
        while side.delivered < group.sent and time.monotonic() < deadline:
            data = link.socket.recv(READ_SIZE)
            if not data:
                break
            link.socket.sendall(side.feed(data))
        fetched += side.delivered
        close([link])
    return fetched
