"""Bursts: publishers that keep a bounded number of messages on their way, as fast as they return.

The window is what makes a loss the broker's: never more is outstanding than any broker's queues
take. At QoS 0 deliveries are counted by their bytes and thrown away in the kernel; the first
message of each group is read and compared, so that what is counted is known to be right.
"""

import select
import socket
import time
from collections.abc import Sequence
from typing import NamedTuple

from gossamer_lab.bench.load import packets
from gossamer_lab.bench.load.client import GeneratorError, LoadClient, start
from gossamer_lab.bench.load.packets import AckReceiver
from gossamer_lab.bench.measurement import BenchTarget, Measurement, Meter

READ_SIZE = 1 << 20
WARM_UP_SHARE = 0.25
DRAIN_SECONDS = 60.0
QUIET_SECONDS = 10.0

# A broker that writes packet by packet would make the generator read that way, at more cost than
# its own. So while such a broker has half a window to work on, and that is far more work than a
# pause is long, the generator lets more arrive after a round that brought little.
SMALL_ROUND_BYTES = 16_384
PAUSE_SECONDS = 0.0002
SLOW_WINDOW_SECONDS = 50 * PAUSE_SECONDS


PAYLOAD = b"x" * 64


class Load(NamedTuple):
    """Messages that are sent at once, and those that may be on their way."""

    batch: int
    window: int


def _chunks(topics: Sequence[str], load: Load, qos: int) -> list[bytes]:
    """Batches of messages over the topics in turn, encoded, with packet ids in turn."""
    batch, window = load
    # Twice the window of packet ids: none is used again before it is free.
    count = 2 * window // batch if qos else max(1, len(topics) // batch)
    encoded = [
        packets.publish(topics[i % len(topics)], PAYLOAD, qos, i + 1) for i in range(batch * count)
    ]
    return [b"".join(encoded[i : i + batch]) for i in range(0, len(encoded), batch)]


class LoadGroup:
    """One publisher, the subscribers that receive what it sends, and how much is on its way."""

    def __init__(
        self,
        publisher: LoadClient,
        subscribers: Sequence[LoadClient],
        topics: Sequence[str],
        load: Load,
        *,
        fan_out: int = 1,
        qos: int = 0,
    ) -> None:
        """Topics, of one length, are published to in turn, and each message is for `fan_out`."""
        self.publisher = publisher
        self.subscribers = subscribers
        self.topic = topics[0]
        self.chunks = _chunks(topics, load, qos)
        self.batch, self.window = load
        self.fan_out = fan_out
        self.qos = qos
        self.packet_size = len(self.chunks[0]) // self.batch
        self.sent = 0
        self.next_chunk = 0
        self.received_bytes = 0
        self.publisher_side = self.receiver()
        self.subscriber_sides = [self.receiver() for _ in subscribers]

    def receiver(self) -> AckReceiver:
        """What reads and answers one connection of this group."""
        id_offset = packets.packet_id_offset(self.topic, self.packet_size)
        completing = packets.PUBACK if self.qos == 1 else packets.PUBCOMP
        return AckReceiver(self.packet_size, id_offset, completing)

    def delivered(self) -> int:
        if self.qos == 0:
            return self.received_bytes // self.packet_size
        return sum(side.delivered for side in self.subscriber_sides)

    def send_while_there_is_room(self) -> None:
        while self.publisher.pending is None:
            returned = self.delivered() // self.fan_out
            if self.qos:
                returned = min(returned, self.publisher_side.acknowledged)
            if self.sent - returned + self.batch > self.window:
                return
            self.publisher.send(self.chunks[self.next_chunk])
            self.next_chunk = (self.next_chunk + 1) % len(self.chunks)
            self.sent += self.batch


class LoadFlow:
    """All groups of one scenario on one epoll."""

    def __init__(self, groups: Sequence[LoadGroup]) -> None:
        self.groups = groups
        self.poll = select.epoll()
        self.owners: dict[int, tuple[LoadGroup, LoadClient, AckReceiver | None]] = {}
        self.buffer = bytearray(READ_SIZE)
        self.window = sum(group.window * group.fan_out for group in groups)
        self.may_pause = False
        for group in groups:
            self._add(group, group.publisher, group.publisher_side)
            for client, side in zip(group.subscribers, group.subscriber_sides, strict=True):
                self._add(group, client, side if group.qos else None)

    def _add(self, group: LoadGroup, client: LoadClient, side: AckReceiver | None) -> None:
        number = client.socket.fileno()
        self.owners[number] = (group, client, side)
        self.poll.register(number, select.EPOLLIN)

    def delivered(self) -> int:
        return sum(group.delivered() for group in self.groups)

    def sent(self) -> int:
        return sum(group.sent for group in self.groups)

    def expected(self) -> int:
        return sum(group.sent * group.fan_out for group in self.groups)

    def has_half_a_window(self) -> bool:
        on_the_way = self.expected() - self.delivered()
        return on_the_way * 2 > self.window

    def turn(self, timeout: float, *, sending: bool) -> bool:
        """One round of the sockets that are ready; False if none was."""
        events = self.poll.poll(timeout)
        total = 0
        for number, event in events:
            group, client, side = self.owners[number]
            if event & select.EPOLLOUT:
                client.flush()
            if event & ~select.EPOLLOUT:
                if side is None:
                    count = client.socket.recv_into(self.buffer, READ_SIZE, socket.MSG_TRUNC)
                    group.received_bytes += count
                else:
                    data = client.socket.recv(READ_SIZE)
                    count = len(data)
                    answer = side.feed(data)
                    if answer:
                        client.send(answer)
                total += count
                if count == 0:
                    raise GeneratorError("the broker closed a connection under load")
            if sending:
                group.send_while_there_is_room()
            self._watch(number, client, event)
            if group.publisher is not client:
                self._watch(group.publisher.socket.fileno(), group.publisher, 0)
        if self.may_pause and total < SMALL_ROUND_BYTES and self.has_half_a_window():
            time.sleep(PAUSE_SECONDS)
        return bool(events)

    def _watch(self, number: int, client: LoadClient, event: int) -> None:
        """Asks for writability exactly while something is pending."""
        if client.pending is not None:
            self.poll.modify(number, select.EPOLLIN | select.EPOLLOUT)
        elif event & select.EPOLLOUT:
            self.poll.modify(number, select.EPOLLIN)

    def run_for(self, seconds: float) -> None:
        for group in self.groups:
            group.send_while_there_is_room()
            self._watch(group.publisher.socket.fileno(), group.publisher, 0)
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.turn(0.1, sending=True)

    def warm_up(self, seconds: float) -> None:
        """Runs for a while and learns how long the broker works on one window."""
        self.run_for(seconds)
        self.may_pause = self.window * seconds > self.delivered() * SLOW_WINDOW_SECONDS

    def drain(self) -> None:
        """Waits for what is on its way, as long as something still comes."""
        end = time.perf_counter() + DRAIN_SECONDS
        quiet_since = time.perf_counter()
        while self.delivered() < self.expected() and time.perf_counter() < end:
            if self.turn(0.1, sending=False):
                quiet_since = time.perf_counter()
            elif time.perf_counter() - quiet_since > QUIET_SECONDS:
                return


def check_first_message(groups: Sequence[LoadGroup]) -> None:
    """Sends one QoS 0 message per group and compares what each subscriber of it receives."""
    for group in groups:
        packet = group.chunks[0][: group.packet_size]
        if group.qos == 0 and group.fan_out == len(group.subscribers):
            group.publisher.socket.sendall(packet)
            for client in group.subscribers:
                if client.receive(len(packet)) != packet:
                    raise GeneratorError("the broker delivered something else than was sent")


def measure(groups: Sequence[LoadGroup], target: BenchTarget) -> Measurement:
    """Warms up, measures for the target's seconds, and waits for the rest."""
    start([client for group in groups for client in (group.publisher, *group.subscribers)])
    check_first_message(groups)
    flow = LoadFlow(groups)
    flow.warm_up(target.seconds * WARM_UP_SHARE)
    sent, delivered = flow.sent(), flow.delivered()
    meter = Meter(target)
    flow.run_for(target.seconds)
    result = meter.read(flow.sent() - sent, flow.delivered() - delivered)
    flow.drain()
    result.lost = flow.expected() - flow.delivered()
    return result
