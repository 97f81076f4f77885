"""Bursts: publishers that keep a bounded number of messages on their way, as fast as they return.

The window is what makes a loss the broker's: never more is outstanding than any broker's queues
take. At QoS 0 deliveries are counted by their bytes and thrown away in the kernel; the first
message of each group is read and compared, so that what is counted is known to be right.
"""

import select
import socket
import time
from collections.abc import Sequence

from gossamer_lab.bench.brokers import mqtt, proc
from gossamer_lab.bench.brokers.acknowledge import AckReceiver
from gossamer_lab.bench.brokers.link import BenchLink, GeneratorError, receive_exactly, start
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement

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


class LoadGroup:
    """One publisher, the subscribers that receive what it sends, and how much is on its way."""

    def __init__(
        self,
        publisher: BenchLink,
        subscribers: Sequence[BenchLink],
        chunks: Sequence[bytes],
        batch: int,
        window: int,
        fan_out: int,
        qos: int,
        topic: str,
    ) -> None:
        self.publisher = publisher
        self.subscribers = subscribers
        self.chunks = chunks
        self.batch = batch
        self.window = window
        self.fan_out = fan_out
        self.qos = qos
        self.topic = topic  # or one of the same length, where there are several
        self.packet_size = len(chunks[0]) // batch
        self.sent = 0
        self.next_chunk = 0
        self.received_bytes = 0
        id_offset = mqtt.packet_id_offset(topic, self.packet_size)
        completing = mqtt.PUBACK if qos == 1 else mqtt.PUBCOMP
        self.publisher_side = AckReceiver(self.packet_size, id_offset, completing)
        self.subscriber_sides = [
            AckReceiver(self.packet_size, id_offset, completing) for _ in subscribers
        ]

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
        self.owners: dict[int, tuple[LoadGroup, BenchLink, AckReceiver | None]] = {}
        self.buffer = bytearray(READ_SIZE)
        self.window = sum(group.window * group.fan_out for group in groups)
        self.may_pause = False
        for group in groups:
            self._add(group, group.publisher, group.publisher_side)
            for link, side in zip(group.subscribers, group.subscriber_sides, strict=True):
                self._add(group, link, side if group.qos else None)

    def _add(self, group: LoadGroup, link: BenchLink, side: AckReceiver | None) -> None:
        number = link.socket.fileno()
        self.owners[number] = (group, link, side)
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
            group, link, side = self.owners[number]
            if event & select.EPOLLOUT:
                link.flush()
            if event & ~select.EPOLLOUT:
                if side is None:
                    count = link.socket.recv_into(self.buffer, READ_SIZE, socket.MSG_TRUNC)
                    group.received_bytes += count
                else:
                    data = link.socket.recv(READ_SIZE)
                    count = len(data)
                    answer = side.feed(data)
                    if answer:
                        link.send(answer)
                total += count
                if count == 0:
                    raise GeneratorError("the broker closed a connection under load")
            if sending:
                group.send_while_there_is_room()
            self._watch(number, link, event)
            if group.publisher is not link:
                self._watch(group.publisher.socket.fileno(), group.publisher, 0)
        if self.may_pause and total < SMALL_ROUND_BYTES and self.has_half_a_window():
            time.sleep(PAUSE_SECONDS)
        return bool(events)

    def _watch(self, number: int, link: BenchLink, event: int) -> None:
        """Asks for writability exactly while something is pending."""
        if link.pending is not None:
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
            for link in group.subscribers:
                if receive_exactly(link, len(packet)) != packet:
                    raise GeneratorError("the broker delivered something else than was sent")


def measure(groups: Sequence[LoadGroup], target: BenchTarget) -> Measurement:
    """Warms up, measures for the target's seconds, and waits for the rest."""
    links = [link for group in groups for link in (group.publisher, *group.subscribers)]
    start(links)
    check_first_message(groups)
    flow = LoadFlow(groups)
    flow.warm_up(target.seconds * WARM_UP_SHARE)
    sent, delivered = flow.sent(), flow.delivered()
    before, own_cpu = target.cpu_seconds(), time.process_time()
    began = time.perf_counter()
    flow.run_for(target.seconds)
    seconds = time.perf_counter() - began
    used = [now - then for now, then in zip(target.cpu_seconds(), before, strict=True)]
    result = Measurement(
        seconds=seconds,
        sent=flow.sent() - sent,
        delivered=flow.delivered() - delivered,
        broker_cpu_seconds=sum(used),
        busiest_cpu_seconds=max(used),
        generator_cpu_seconds=time.process_time() - own_cpu,
        resident_bytes=proc.resident_bytes(target.pid),
    )
    flow.drain()
    result.lost = flow.expected() - flow.delivered()
    return result
