"""What goes wrong inside ends one thing only: a timer's turn, a connection, a delivery."""

import gc

import pytest

from gossamer.broker.connection import Connection
from gossamer.broker.policy import Permissions
from gossamer.broker.timers import Timer, Timers
from gossamer.plus.operators.aggregate import Aggregate
from gossamer.session.counters import Faults
from gossamer.session.identity import Identity
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver
from gossamer.wire.packets import V5, V311, Disconnect, Will
from gossamer.wire.properties import Properties
from tests.support.logs import log_of
from tests.support.memory import World

pytestmark = pytest.mark.faults

LOG = "gossamer.session.counters"


class _Bad(Timer):
    def __init__(self) -> None:
        self.tries: list[float] = []

    def fire(self, now: float) -> float:
        self.tries.append(now)
        raise OverflowError("int too big to convert")


class _Good(Timer):
    def __init__(self, every: float) -> None:
        self.every = every
        self.fired: list[float] = []

    def fire(self, now: float) -> float:
        self.fired.append(now)
        return now + self.every


def test_a_timer_that_fails_fails_alone_and_comes_again() -> None:
    faults = Faults()
    timers = Timers(faults)
    bad, good = _Bad(), _Good(1.0)
    timers.add(1.0, bad)
    timers.add(1.0, good)
    with log_of(LOG) as said:
        for second in range(1, 121):
            timers.run(float(second))
    assert good.fired == [float(second) for second in range(1, 121)]
    assert bad.tries == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    assert faults.total == 7
    assert faults.by_place == {"_Bad": 7}
    assert len(said) == 2  # once a minute
    assert "_Bad" in said[0]
    assert "5 more" in said[1]


def test_a_timer_is_on_the_timers_once() -> None:
    timers = Timers()
    timer = _Good(0.0)
    for due in (5.0, 3.0, 4.0, 3.0):
        timers.add(due, timer)
    assert len(timers) == 1
    timers.run(10.0)
    assert timer.fired == [10.0]  # it is due again at once, and does not hold the others up
    timers.run(11.0)
    assert timer.fired == [10.0, 11.0]
    timers.cancel(timer)
    timers.run(100.0)
    assert timer.fired == [10.0, 11.0]
    assert timers.next_due() == 0.0


def test_cancelled_timers_are_not_kept() -> None:
    timers = Timers()
    stays = _Good(1.0)
    timers.add(9e9, stays)
    for _ in range(10_000):
        timer = _Good(1.0)
        timers.add(1e9, timer)
        timers.cancel(timer)
    assert len(timers) == 1
    assert sum(isinstance(one, _Good) for one in gc.get_objects()) < 200


@pytest.mark.parametrize("version", [V311, V5])
def test_an_aggregate_whose_results_have_no_topic_is_refused(version: int) -> None:
    world = World()
    reader = world.client("r", version)
    filter = "$AVG/" + "a" * 65_521 + "/" + "+/" * 3 + "+"
    assert len(filter) < 65_535
    assert reader.subscribe(filter) == [0x8F if version == V5 else 0x80]
    fitting = "$AVG/" + "a" * 65_519 + "/+"
    assert len(fitting) == 65_526
    assert reader.subscribe(fitting) == [0]
    writer = world.client("w", version)
    writer.publish("a" * 65_519 + "/b", "5")
    [message] = reader.messages()
    assert len(message.topic) == 65_535
    assert world.broker.core.faults.total == 0


def test_a_refused_aggregate_with_a_pause_stops_no_timer() -> None:
    """The filter that ended all timers: its results came from a timer."""
    world = World()
    reader = world.client("r")
    silent = world.client("silent", keep_alive=10)
    topic = "a" * 65_526
    reader.subscribe(f"$AVG/{topic}/+", user=[("plus_every", "1")])
    writer = world.client("w")
    for value in ("1", "2", "3"):
        writer.publish(f"{topic}/b", value)
    for _ in range(20):
        world.wait(1.0)
    assert silent.is_closed
    assert not writer.is_closed


def _as_failing(world: World, client_id: str) -> None:
    """Whatever the rules say of this client is an exception."""

    class Failing(Permissions):
        restricts = True

        def may_publish(self, client: Identity, topic: str) -> bool:
            if client.client_id == client_id:
                raise RuntimeError("a rule that fails")
            return True

    world.broker.set_permissions(Failing(), world.now)


@pytest.mark.parametrize("version", [V311, V5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_an_exception_at_a_packet_ends_that_connection_only(version: int, qos: int) -> None:
    world = World()
    _as_failing(world, "bad")
    reader = world.client("r", version)
    reader.subscribe("#")
    good, bad = world.client("good", version), world.client("bad", version)
    with log_of(LOG) as said:
        bad.publish("t", "bad", qos=qos)
    assert bad.is_closed
    if version == V5:
        [told] = bad.take()
        assert isinstance(told, Disconnect)
        assert told.reason == 0x83
    good.publish("t", "good", qos=qos)
    assert reader.payloads() == ["good"]
    assert world.broker.core.faults.by_place == {"a packet": 1}
    assert "'bad'" in said[0]
    assert bad.connection.token not in world.broker.core.connections
    again = world.client("bad", version)
    assert again.connack.reason == 0


def test_a_will_that_fails_does_not_keep_its_session() -> None:
    world = World()
    will = Will("t", b"x", 0, False, None)
    bad = world.client("bad", expiry=10, will=will)
    other = world.client("other", expiry=10, will=will)
    reader = world.client("r")
    reader.subscribe("t")
    _as_failing(world, "bad")
    bad.lose()
    world.wait(11.0)
    assert "bad" not in world.broker.core.sessions
    assert world.broker.core.faults.by_place == {"a will": 1}
    other.lose()
    assert reader.payloads() == ["x"]


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("expiry", [None, 100])
def test_what_no_packet_can_carry_is_set_aside(qos: int, expiry: int | None) -> None:
    """An item in a queue that cannot be sent is not in the way of those behind it."""
    world = World()
    reader = world.client("r", clean=expiry is None, expiry=expiry, receive_maximum=1)
    reader.subscribe("#", qos=qos)
    session = world.broker.core.sessions["r"]
    [subscription] = session.subscriptions.values()
    if qos and expiry:
        reader.lose()
    receiver = Receiver(subscription)
    too_long = Message("t" * 65_536, b"bad", qos, False, None, 0.0, "", "")
    bad_property = Properties()
    bad_property.content_type = "x" * 65_536
    no_property = Message("t", b"worse", qos, False, bad_property, 0.0, "", "")
    for message in (
        Message("t", b"first", qos, False, None, 0.0, "", ""),
        too_long,
        no_property,
        Message("t", b"last", qos, False, None, 0.0, "", ""),
    ):
        session.deliver(message, receiver, world.now)
    world.broker.flush(world.now)
    if qos and expiry:
        reader = world.client("r", clean=False, expiry=expiry, receive_maximum=1)
    assert reader.payloads() == ["first", "last"]
    assert world.broker.core.faults.by_place == {"a delivery": 2}
    assert session.in_flight() == 0


def _alive(kind: type) -> int:
    gc.collect()
    return sum(isinstance(one, kind) for one in gc.get_objects())


def test_the_timers_keeps_nothing_alive_that_has_ended() -> None:
    world = World()
    before = _alive(Session), _alive(Connection)
    for turn in range(200):
        client = world.client("c", expiry=1_000_000, clean=turn % 2 == 0, keep_alive=60_000)
        client.subscribe("#", qos=1)
        client.lose()
        world.client("w").publish("t", "x" * 1000, qos=1)
    world.broker.disconnect("c", world.now, discard=True)
    world.client("w").publish("t")  # the route is found anew
    world.broker.disconnect("w", world.now, discard=True)
    del client
    assert (_alive(Session), _alive(Connection)) == before
    assert len(world.broker.core.timers) < 10
    assert not world.broker.core.expiries


def test_expiry_is_as_agreed_last() -> None:
    """One timer a session, moved when the client comes and goes."""
    world = World()
    for expiry in (1000, 10, 500, 20):
        world.client("c", clean=False, expiry=expiry).lose()
    world.wait(19.0)
    assert "c" in world.broker.core.sessions
    world.wait(2.0)
    assert "c" not in world.broker.core.sessions


def test_the_count_is_told() -> None:
    world = World(sys_interval=10.0)
    _as_failing(world, "bad")
    world.client("bad").publish("t")
    reader = world.client("r")
    world.wait(11.0)
    reader.subscribe("$SYS/broker/errors/#")
    told = {message.topic: message.payload for message in reader.messages()}
    assert told["$SYS/broker/errors/internal"] == b"1"
    assert told["$SYS/broker/errors/protocol"] == b"0"


def test_one_bad_operator_does_not_stop_the_others() -> None:
    world = World()
    reader = world.client("r")
    filters = ["$AVG/a", "$AVG/b", "$AVG/c"]
    reader.subscribe(*filters, user=[("plus_every", "1")])
    writer = world.client("w")
    states = list(world.broker.core.operators.engine.states.values())
    for value in ("1", "3"):
        for topic in ("a", "b", "c"):
            writer.publish(topic, value)
    reader.messages()
    states[1]._aggregate = Aggregate()  # type: ignore[attr-defined]
    world.wait(1.5)
    assert sorted(m.topic for m in reader.messages()) == ["$AVG/a", "$AVG/c"]
    assert world.broker.core.faults.by_place == {"an operator": 1}
