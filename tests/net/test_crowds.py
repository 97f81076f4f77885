"""What a crowd does at the same moment is done in turns, and others are served in between."""

import asyncio
from itertools import pairwise
from typing import cast

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.net.clock import Clock
from gossamer.net.transport import ENDING_SECONDS, ConnectionPolicy
from gossamer.net.turns import LINE_SECONDS, Host
from gossamer.session.journal import Journal
from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    CONNACK,
    PINGRESP,
    PUBLISH,
    SUBACK,
    V5,
    Connect,
    Disconnect,
    Publish,
    Request,
    Subscribe,
    Will,
)
from gossamer.wire.properties import Properties
from tests.support.turns import Loop, Recorded, Socket

MANY = 500
# Outboxes that one turn writes, at most; what one turn of the line serves.
WRITES = 128


class Hands:
    """A stopwatch that goes on by so much with every look at it."""

    def __init__(self) -> None:
        self.step = 0.0
        self.shown = 0.0

    def __call__(self) -> float:
        self.shown += self.step
        return self.shown


class World:
    """A host whose clock the test moves."""

    def __init__(self) -> None:
        self.hands = Hands()
        self.loop = Loop()
        self.broker = Broker(Settings(), Journal(), 0.0)
        clock = Clock(0.0, lambda: 0.0, self.hands)
        loop = cast("asyncio.AbstractEventLoop", self.loop)
        self.host = Host(self.broker, loop, lambda: None, clock)

    def socket(self) -> Recorded:
        sink = Recorded(self.host, ConnectionPolicy("test"))
        sink.connection_made(Socket())
        return sink

    def connected(self, client_id: str, will: Will | None = None, expiry: int = 0) -> Recorded:
        sink = self.socket()
        sink.data_received(_connect(client_id, will, expiry))
        self.settle()
        return sink

    def subscribed(self, client_id: str, filter: str, qos: int = 0) -> Recorded:
        sink = self.connected(client_id)
        sink.data_received(encode(Subscribe(1, [Request(filter, qos)]), V5))
        return sink

    def settle(self) -> int:
        """How many turns of the line it took."""
        turns = 0
        while self.loop.soon:
            self.loop.go_on()
            turns += 1
        return turns


def _connect(client_id: str, will: Will | None = None, expiry: int = 0) -> bytes:
    connect = Connect(client_id, V5)
    connect.will = will
    if expiry:
        connect.properties = Properties()
        connect.properties.session_expiry = expiry
    return encode(connect, V5)


def packets_of(sinks: list[Recorded], kind: int) -> list[int]:
    return [sink.kinds().count(kind) for sink in sinks]


# One message to many ----------------------------------------------------------------------------


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_message_to_many_is_written_in_turns(qos: int) -> None:
    world = World()
    receivers = [world.subscribed(f"r{number}", "t", qos) for number in range(MANY)]
    publisher = world.connected("p")
    publisher.data_received(encode(Publish("t", b"x", qos, False, False, 1 if qos else 0), V5))
    seen = [sum(packets_of(receivers, PUBLISH))]
    while world.loop.soon:
        world.loop.go_on()
        seen.append(sum(packets_of(receivers, PUBLISH)))
    assert seen[0] <= WRITES
    assert max(after - before for before, after in pairwise(seen)) <= WRITES
    assert packets_of(receivers, PUBLISH) == [1] * MANY


def test_who_sends_little_meanwhile_is_answered_at_once() -> None:
    world = World()
    receivers = [world.subscribed(f"r{number}", "t") for number in range(MANY)]
    other = world.subscribed("other", "own")
    publisher = world.connected("p")
    publisher.data_received(encode(Publish("t", b"x"), V5))
    assert sum(packets_of(receivers, PUBLISH)) < MANY
    other.data_received(encode(Publish("own", b"x"), V5) + b"\xc0\x00")
    assert other.kinds() == [CONNACK, SUBACK, PUBLISH, PINGRESP]


def test_messages_to_many_come_in_their_order_and_with_what_else_is_said() -> None:
    world = World()
    receivers = [world.subscribed(f"r{number}", "t") for number in range(MANY)]
    publisher = world.connected("p")
    for number in range(10):
        publisher.data_received(encode(Publish("t", b"%d" % number), V5))
        receivers[-1].data_received(b"\xc0\x00")
    assert receivers[-1].kinds().count(PUBLISH) < 10
    world.settle()
    wanted = b"".join(encode(Publish("t", b"%d" % number), V5) for number in range(10))
    for receiver in receivers[:-1]:
        assert b"".join(receiver.written).endswith(wanted)
    last = receivers[-1].kinds()[2:]
    assert last == [PUBLISH, PINGRESP] * 10


def test_receivers_that_leave_before_their_turn_are_passed_over() -> None:
    world = World()
    receivers = [world.subscribed(f"r{number}", "t") for number in range(MANY)]
    world.connected("p").data_received(encode(Publish("t", b"x"), V5))
    for receiver in receivers[MANY // 2 :]:
        receiver.connection_lost(None)
    world.settle()
    assert packets_of(receivers[: MANY // 2], PUBLISH) == [1] * (MANY // 2)
    assert len(world.broker.core.connections) == MANY // 2 + 1


def test_last_words_to_many_are_all_written_when_the_broker_stops() -> None:
    world = World()
    receivers = [world.subscribed(f"r{number}", "t") for number in range(MANY)]
    world.connected("p").data_received(encode(Publish("t", b"x"), V5))
    world.broker.stop(0.0)
    assert packets_of(receivers, PUBLISH) == [1] * MANY


# Many that come, and many that go ---------------------------------------------------------------


def test_logins_of_a_crowd_stand_in_line() -> None:
    world = World()
    crowd = [world.socket() for _ in range(MANY)]
    other = world.subscribed("other", "own")
    world.hands.step = LINE_SECONDS / 20
    for number, sink in enumerate(crowd):
        sink.data_received(_connect(f"c{number}"))
    at_once = sum(packets_of(crowd, CONNACK))
    assert 0 < at_once <= 21
    other.data_received(b"\xc0\x00")  # whoever is logged in does not wait
    assert other.kinds()[-1] == PINGRESP
    assert world.settle() > MANY // 25
    assert packets_of(crowd, CONNACK) == [1] * MANY


@pytest.mark.parametrize("expiry", [0, 100])
def test_a_crowd_that_is_lost_at_once_leaves_in_turns(expiry: int) -> None:
    """Each has its will published, once."""
    world = World()
    watcher = world.subscribed("watcher", "will/#", 1)
    crowd = [
        world.connected(f"c{n}", Will(f"will/{n}", b"x", 1, False), expiry) for n in range(MANY)
    ]
    world.hands.step = LINE_SECONDS / 20
    for sink in crowd:
        sink.connection_lost(None)
    assert watcher.kinds().count(PUBLISH) <= 21
    assert world.settle() > MANY // 25
    assert watcher.kinds().count(PUBLISH) == MANY
    assert set(world.broker.core.connections) == {watcher.connection.token}  # type: ignore[union-attr]
    assert len(world.broker.core.sessions) == 1 + (MANY if expiry else 0)


def test_a_crowd_that_ends_its_side_at_once_is_closed_in_turns() -> None:
    world = World()
    watcher = world.subscribed("watcher", "will/#", 1)
    crowd = [world.connected(f"c{n}", Will(f"will/{n}", b"x", 1, False)) for n in range(MANY)]
    kept_open = [sink for sink in crowd if sink.eof_received()]
    assert len(kept_open) > MANY - 2 * LINE_SECONDS / ENDING_SECONDS
    world.hands.step = LINE_SECONDS / 20
    for sink in crowd:
        if sink not in kept_open:
            sink.connection_lost(None)
    assert world.settle() > MANY // 25
    assert watcher.kinds().count(PUBLISH) == MANY
    assert len(world.broker.core.connections) == 1
    for sink in kept_open:
        assert cast("Socket", sink.transport).is_closing()
        sink.connection_lost(None)
    assert world.settle() == 0


def test_one_that_ends_its_side_is_closed_at_once() -> None:
    world = World()
    assert not world.connected("c").eof_received()


def test_what_a_client_said_before_it_ended_its_side_is_handled() -> None:
    world = World()
    watcher = world.subscribed("watcher", "t", 1)
    crowd = [world.connected(f"c{number}") for number in range(MANY)]
    world.hands.step = LINE_SECONDS / 20
    for sink in crowd:
        sink.data_received(encode(Publish("t", b"x"), V5) * 100)
        if not sink.eof_received():
            sink.connection_lost(None)
    world.settle()
    assert watcher.kinds().count(PUBLISH) == 100 * MANY
    assert len(world.broker.core.connections) == 1


def test_a_client_that_comes_back_before_its_end_has_had_its_turn_takes_over() -> None:
    world = World()
    watcher = world.subscribed("watcher", "will/#", 1)
    crowd = [world.connected(f"c{n}", Will(f"will/{n}", b"x", 1, False), 100) for n in range(MANY)]
    world.hands.step = LINE_SECONDS / 20
    for sink in crowd:
        sink.connection_lost(None)
    world.hands.step = 0.0
    again = world.socket()
    again.data_received(_connect(f"c{MANY - 1}", None, 100))
    world.settle()
    assert again.kinds() == [CONNACK]
    assert watcher.kinds().count(PUBLISH) == MANY
    assert world.broker.core.sessions[f"c{MANY - 1}"].outbox is not None


def test_who_has_said_goodbye_and_is_lost_in_a_crowd_leaves_no_will() -> None:
    world = World()
    watcher = world.subscribed("watcher", "will/#", 1)
    crowd = [world.connected(f"c{n}", Will(f"will/{n}", b"x", 1, False)) for n in range(MANY)]
    world.hands.step = LINE_SECONDS / 20
    for sink in crowd:
        sink.data_received(encode(Disconnect(), V5))
        sink.connection_lost(None)
    world.settle()
    assert watcher.kinds().count(PUBLISH) == 0
    assert len(world.broker.core.sessions) == 1


def test_sessions_of_a_crowd_expire_in_turns() -> None:
    world = World()
    for number in range(MANY):
        world.connected(f"c{number}", None, 10).connection_lost(None)
    world.settle()
    world.hands.shown += 11.0
    world.hands.step = LINE_SECONDS / 20
    now = world.host.clock.now()
    world.broker.tick(now)
    left = len(world.broker.core.sessions)
    assert 0 < left < MANY
    world.host.after_chunk(now)
    assert world.settle() > 1
    assert not world.broker.core.sessions
