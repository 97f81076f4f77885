"""Connections with more than one turn of work stand in one line, which others need not wait for."""

import asyncio
import time
from itertools import pairwise
from typing import cast

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.policy import Authenticator, Origin, Verdict
from gossamer.broker.settings import Settings
from gossamer.broker.subscribe import CHECKED, PART
from gossamer.net.transport import FIRST_SLICE_BYTES, SLICE_BYTES, ConnectionPolicy, SocketSink
from gossamer.net.turns import LINE_SECONDS, MOST_WAITING_BYTES, Host
from gossamer.session.journal import Journal
from gossamer.session.session import TURN_MESSAGES
from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    CONNACK,
    PINGRESP,
    PUBACK,
    PUBLISH,
    SUBACK,
    UNSUBACK,
    V5,
    V311,
    Connect,
    Publish,
    Request,
    Subscribe,
    Unsubscribe,
)
from tests.support.turns import Loop, Recorded, Socket


def host() -> tuple[Host, Loop]:
    loop = Loop()
    broker = Broker(Settings(), Journal(), 0.0)
    return Host(broker, cast("asyncio.AbstractEventLoop", loop), lambda: None), loop


class Slow(SocketSink):
    """One turn of it takes all the time that the line has, and it always has more to do."""

    def __init__(self, host: Host, name: int, served: list[int]) -> None:
        super().__init__(host, ConnectionPolicy("test"))
        self.name = name
        self.served = served

    def next_turn(self) -> None:
        ends = time.perf_counter() + LINE_SECONDS
        while time.perf_counter() < ends:
            pass
        self.served.append(self.name)
        self.host.stand_in_line(self)


def test_sockets_are_looked_at_before_everybody_in_line_had_a_turn() -> None:
    shared, loop = host()
    served: list[int] = []
    for name in range(10):
        shared.stand_in_line(Slow(shared, name, served))
    for count in range(1, 31):
        assert len(loop.soon) == 1
        loop.go_on()
        assert len(served) == count
    assert served == [*range(10)] * 3


def connected(shared: Host, client_id: str = "c", turn_seconds: float = 0.0) -> SocketSink:
    """With a turn that is over whenever something was done."""
    policy = ConnectionPolicy("test")
    policy.turn_seconds = turn_seconds
    sink = SocketSink(shared, policy)
    sink.connection_made(Socket())
    sink.data_received(encode(Connect(client_id, V5), V5))
    return sink


def test_slices_get_smaller_while_they_take_longer_than_turns() -> None:
    shared, loop = host()
    sink = connected(shared)
    message = encode(Publish("t", b"x" * 10), V5)
    messages = 5_120 // len(message)
    sink._slice = 2_048
    sink.data_received(message * messages)
    handled = [shared.broker.core.counters.messages_received]
    while loop.soon:
        loop.go_on()
        handled.append(shared.broker.core.counters.messages_received)
    each = [after - before for before, after in zip([0, *handled], handled, strict=False)]
    sizes = [count * len(message) for count in each if count]
    assert sizes[0] == 2_048
    assert set(sizes[1:]) == {len(message)}
    assert sum(each) == messages


@pytest.mark.parametrize("size", [1, 10, 13, 50, 500, 20_000])
def test_a_turn_that_is_over_ends_with_the_packet_that_was_begun(size: int) -> None:
    """Wherever the slices end: each cuts another packet in two."""
    shared, loop = host()
    sink = connected(shared)
    counters = shared.broker.core.counters
    message = encode(Publish("t", b"x" * size), V5)
    most = FIRST_SLICE_BYTES // len(message) + 1
    sink.data_received(message * (2 + 4_000 // len(message)))
    seen = [0, counters.messages_received]
    while loop.soon:
        loop.go_on()
        seen.append(counters.messages_received)
    assert max(after - before for before, after in pairwise(seen)) <= most
    assert seen[-1] == 2 + 4_000 // len(message)


def test_who_is_known_for_much_work_stands_in_line_with_little_too() -> None:
    shared, loop = host()
    sink = connected(shared)
    message = encode(Publish("t", b"x" * 10), V5)
    sink._slice = FIRST_SLICE_BYTES
    sink.data_received(message * 30)  # what a newcomer sends is handled, and is found much work
    counters = shared.broker.core.counters
    assert counters.messages_received == 30
    shared.is_late(LINE_SECONDS)
    sink.data_received(message * 30)
    assert counters.messages_received == 30
    seen = [30]
    while loop.soon:
        loop.go_on()
        seen.append(counters.messages_received)
    assert max(after - before for before, after in pairwise(seen)) == 1
    assert seen[-1] == 60


def test_slices_grow_where_packets_are_little_work() -> None:
    shared, _ = host()
    sink = connected(shared, turn_seconds=3600.0)
    message = encode(Publish("t", b"x" * 10), V5)
    sink.data_received(message * (30_720 // len(message)))
    assert sink._slice == SLICE_BYTES
    assert sink.unread_bytes() == 0


def test_who_sends_much_after_others_did_stands_in_line_and_who_sends_little_does_not() -> None:
    shared, loop = host()
    many, few = connected(shared, "many"), connected(shared, "few")
    shared.is_late(LINE_SECONDS)  # so much was done for others since the loop looked
    message = encode(Publish("t", b"x" * 10), V5)
    many.data_received(message * 100)
    assert shared.broker.core.counters.messages_received == 0
    few.data_received(message)
    assert shared.broker.core.counters.messages_received == 1
    while loop.soon:
        loop.go_on()
    assert shared.broker.core.counters.messages_received == 101


def subscriptions(shared: Host) -> int:
    return sum(len(session.subscriptions) for session in shared.broker.core.sessions.values())


@pytest.mark.parametrize("version", [V311, V5])
def test_a_subscribe_of_many_filters_is_done_in_turns_and_in_order(version: int) -> None:
    """What comes behind it waits, others are served between its parts, and it is answered once."""
    shared, loop = host()
    sink = Recorded(shared, ConnectionPolicy("test"))
    sink.connection_made(Socket())
    sink.data_received(encode(Connect("c", version), version))
    many = 10 * PART
    filters = [f"f/{number}" for number in range(many)]
    data = encode(Subscribe(1, [Request(one, 1) for one in filters]), version)
    data += encode(Publish("f/3", b"", 1, False, False, 2), version)
    data += encode(Unsubscribe(3, filters), version) + b"\xc0\x00"
    sink.data_received(data)
    turns = 0
    seen: list[int] = []
    while loop.soon:
        loop.go_on()
        turns += 1
        other = connected(shared, f"other{turns}")
        other.data_received(b"\xc0\x00")
        seen.append(subscriptions(shared))
    assert turns > 10
    assert max(after - before for before, after in pairwise(seen)) <= PART
    assert max(seen) >= many - PART  # the turn that ends it begins the next packet
    assert seen[-1] == 0
    assert sink.kinds() == [CONNACK, SUBACK, PUBLISH, PUBACK, UNSUBACK, PINGRESP]


@pytest.mark.parametrize("version", [V311, V5])
@pytest.mark.parametrize("is_subscribe", [True, False])
def test_a_packet_with_an_error_in_its_last_filter_changes_nothing(
    version: int, is_subscribe: bool
) -> None:
    """It is found before the first one is handled, in turns as well."""
    shared, loop = host()
    sink = Recorded(shared, ConnectionPolicy("test"))
    sink.connection_made(Socket())
    sink.data_received(encode(Connect("c", version), version))
    keep = encode(Subscribe(1, [Request("f/3", 1)]), version)
    sink.data_received(keep)
    session = shared.broker.core.sessions["c"]
    filters = [f"f/{number}" for number in range(3 * CHECKED)] + ["bad"]
    if is_subscribe:
        data = encode(Subscribe(2, [Request(one, 1) for one in filters]), version)
    else:
        data = encode(Unsubscribe(2, filters), version)
    sink.data_received(data.replace(b"bad", b"b\0d"))
    seen = [len(session.subscriptions)]
    turns = 0
    while loop.soon:
        loop.go_on()
        turns += 1
        if session.outbox is not None:
            seen.append(len(session.subscriptions))
    assert turns >= 3
    assert set(seen) == {1}
    assert shared.broker.core.counters.protocol_errors == 1
    assert shared.broker.core.ledger.packets.held == 0


def test_a_filter_that_is_repeated_is_read_in_turns() -> None:
    shared, loop = host()
    sink = Recorded(shared, ConnectionPolicy("test"))
    sink.connection_made(Socket())
    sink.data_received(encode(Connect("c", V5), V5))
    sink.data_received(encode(Subscribe(1, [Request("f", 1)] * (10 * CHECKED)), V5))
    turns = 0
    while loop.soon:
        loop.go_on()
        turns += 1
    assert turns >= 10
    answer = b"".join(sink.written)
    assert answer.endswith(b"\1" * (10 * CHECKED))
    assert subscriptions(shared) == 1


class Later(Authenticator):
    """One that needs time for every login."""

    def __init__(self) -> None:
        self.tokens: list[int] = []

    def authenticate(self, token: int, connect: Connect, origin: Origin) -> Verdict | None:
        self.tokens.append(token)
        return None


@pytest.mark.parametrize("others", [0, 1])
def test_what_came_with_a_login_is_done_in_turns_after_it(others: int) -> None:
    """Whether anything comes after it or not."""
    loop = Loop()
    logins = Later()
    broker = Broker(Settings(), Journal(), 0.0)
    broker.core.authenticator = logins
    shared = Host(broker, cast("asyncio.AbstractEventLoop", loop), lambda: None)
    sink = Recorded(shared, ConnectionPolicy("test"))
    sink.connection_made(Socket())
    filters = [Request(f"f/{number}", 0) for number in range(5 * PART)]
    sink.data_received(encode(Connect("c", V5), V5) + encode(Subscribe(1, filters), V5))
    sink.data_received(b"\xc0\x00" * others)
    broker.decide(logins.tokens[0], Verdict(), 0.0)
    assert subscriptions(shared) <= PART
    while loop.soon:
        loop.go_on()
    assert subscriptions(shared) == 5 * PART
    shared.after_chunk(0.0)
    assert sink.kinds() == [CONNACK, SUBACK] + [PINGRESP] * others


def test_what_a_lost_client_said_is_handled_in_turns_and_then_it_is_gone() -> None:
    shared, loop = host()
    sink = connected(shared)
    message = encode(Publish("t", b"x" * 10), V5)
    sink.data_received(message * 1_000)
    sink.connection_lost(None)
    counters = shared.broker.core.counters
    before = counters.messages_received
    assert before < 1_000
    assert counters.connections_open == 1
    turns = 0
    while loop.soon:
        loop.go_on()
        turns += 1
    assert turns > 10
    assert counters.messages_received == 1_000
    assert counters.connections_open == 0
    assert not shared.broker.core.sessions


def test_a_client_that_comes_back_finds_all_handled_that_it_said_before() -> None:
    shared, loop = host()
    sink = connected(shared)
    filters = [f"f/{number}" for number in range(10 * PART)]
    sink.data_received(encode(Subscribe(1, [Request(one, 1) for one in filters]), V5))
    sink.data_received(encode(Publish("t", b"x" * 10), V5) * 1_000)
    sink.connection_lost(None)
    connected(shared)
    assert shared.broker.core.counters.messages_received == 1_000
    assert shared.broker.core.counters.connections_open == 1
    while loop.soon:
        loop.go_on()
    assert shared.broker.core.counters.messages_received == 1_000


def test_a_long_queue_is_sent_in_turns() -> None:
    """Retained messages to somebody who reads as fast as one can."""
    shared, loop = host()
    writer = connected(shared, "w", turn_seconds=3600.0)
    many = 10 * TURN_MESSAGES
    for number in range(many):
        writer.data_received(encode(Publish(f"t/{number}", b"x", 0, True), V5))
    reader = Recorded(shared, ConnectionPolicy("test"))
    reader.connection_made(Socket())
    reader.data_received(encode(Connect("r", V5), V5))
    while loop.soon:
        loop.go_on()
    reader.written.clear()
    reader.data_received(encode(Subscribe(1, [Request("t/#", 0)]), V5))
    sent: list[int] = [reader.kinds().count(PUBLISH)]
    while loop.soon:
        loop.go_on()
        sent.append(reader.kinds().count(PUBLISH))
    assert sent[-1] == many
    assert sent[0] <= TURN_MESSAGES
    assert len(sent) > 1


def test_who_waits_for_a_first_turn_does_not_wait_for_those_who_had_one() -> None:
    shared, loop = host()
    message = encode(Publish("t", b"x" * 10), V5)
    crowd = [connected(shared, f"busy{number}") for number in range(50)]
    late = connected(shared, "late", turn_seconds=3600.0)
    while loop.soon:  # their logins
        loop.go_on()
    for busy in crowd:
        busy.data_received(message * 5_000)
    shared.is_late(LINE_SECONDS)
    late.data_received(message * 100)
    assert late.unread_bytes() > 0
    loop.go_on()
    loop.go_on()
    assert late.unread_bytes() == 0


class Changed(Journal):
    """Counts how often what it collects is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.durable = True
        self.taken = 0

    def take(self) -> None:
        self.taken += 1
        self.dirty = False
        self.is_awaited = False


def test_a_transaction_that_nobody_waits_for_collects_more() -> None:
    loop = Loop()
    journal = Changed()
    broker = Broker(Settings(), journal, 0.0)
    shared = Host(broker, cast("asyncio.AbstractEventLoop", loop), journal.take)
    journal.dirty = True
    for _ in range(3):
        shared.after_chunk(0.0)
    assert (len(loop.soon), len(loop.later)) == (0, 1)
    sink = connected(shared, "c")
    assert sink.connection is not None
    while loop.soon:
        loop.go_on()
    taken = journal.taken
    journal.dirty = True
    sink.connection.outbox.put_promise(b"@")  # now somebody waits
    shared.after_chunk(0.0)
    while loop.soon:
        loop.go_on()
    assert journal.taken == taken + 1
    loop.later.pop()()  # there is nothing left to take
    journal.dirty = True
    shared.after_chunk(0.0)
    loop.later.pop()()
    assert journal.taken >= taken + 2


def test_input_that_waits_in_line_has_a_ceiling() -> None:
    shared, loop = host()
    message = encode(Publish("t", b"x" * 10), V5)
    chunk = message * (262_144 // len(message))
    sinks = [connected(shared, f"busy{number}") for number in range(300)]
    while loop.soon:  # their logins
        loop.go_on()
    for sink in sinks:
        sink.data_received(chunk)
        assert shared.waiting_bytes == sum(one.unread_bytes() for one in sinks)
    assert shared.waiting_bytes <= MOST_WAITING_BYTES + len(chunk)
    handled = shared.broker.core.counters.messages_received
    assert handled >= len(chunk) // len(message) * 40  # those for whom there was no room
    for sink in sinks:
        sink.connection_lost(None)
    while loop.soon:
        loop.go_on()
    assert shared.waiting_bytes == 0
    assert shared.broker.core.counters.messages_received == 300 * (len(chunk) // len(message))


def test_a_packet_that_is_all_here_is_not_left_in_pieces_between_turns() -> None:
    """Pieces are charged: who waits in line for others must not be refused for it."""
    shared, loop = host()
    account = shared.broker.core.ledger.packets
    sinks = [connected(shared, f"c{number}") for number in range(50)]
    message = encode(Publish("t", b"x" * 60_000), V5)
    for sink in sinks:
        sink.data_received(message * 4)
        assert account.held == 0
    while loop.soon:
        loop.go_on()
        assert account.held == 0
    assert shared.broker.core.counters.messages_received == 200
    sinks[0].data_received(message[:30_000])
    while loop.soon:
        loop.go_on()
    assert account.held == len(message)
    sinks[0].data_received(message[30_000:])
    assert account.held == 0


def test_a_long_subscribe_is_charged_until_it_is_done_and_done_at_once_without_room() -> None:
    shared, loop = host()
    account = shared.broker.core.ledger.packets
    account.allow(1 << 14, 0.25, 0.5, 0.5)
    packet = Subscribe(1, [Request(f"f/{number}", 1) for number in range(10 * PART)])
    data = encode(packet, V5)
    for number in range(50):
        shared._spent = 0.0  # the loop has looked at its sockets
        connected(shared, f"c{number}").data_received(data)
        assert account.held <= account.address_most
    assert account.held >= account.address_most // 2
    done = [len(session.subscriptions) for session in shared.broker.core.sessions.values()]
    assert done.count(10 * PART) >= 30  # those for whom there was no room to wait
    lost = connected(shared, "lost")
    while loop.soon:
        loop.go_on()
    assert account.held == 0
    shared._spent = 0.0
    lost.data_received(data)
    assert account.held > 0
    lost.cut()
    assert account.held == 0
    assert subscriptions(shared) == 50 * 10 * PART
