"""Clients that come, subscribe, are refused, break off and die."""

from functools import partial

from gossamer.broker.loop_turns import CLIENT, QUEUE, LoopTurns, MeasuredTurn, Stopwatch
from gossamer.broker.policy import Authenticator, Origin, Verdict
from gossamer.wire import reasons
from gossamer.wire.packets import V5, V311, Connect, Will
from tests.cases.wire_refused import refused_cases
from tests.leaks.message_paths import Paths
from tests.support.durable_world import DurableWorld
from tests.support.leakage import Round
from tests.support.memory import World, properties


def connects(version: int, **options: object) -> Round:
    world = World()

    def go() -> None:
        for name in "abc":
            world.client(name, version, **options).disconnect()
        world.wait(1.0)

    return go


def takes_over() -> Round:
    """The second connection ends the first."""
    world = World()

    def go() -> None:
        first = world.client("same")
        world.client("same").disconnect()
        first.lose()
        world.wait(1.0)

    return go


def fresh_clients() -> Round:
    """Names that were never seen before."""
    world = World()
    number = 0

    def go() -> None:
        nonlocal number
        number += 1
        client = world.client(f"client-{number:09}")
        client.subscribe("t/#")
        client.publish("t/x")
        client.messages()
        client.disconnect()
        world.wait(1.0)

    return go


def nameless() -> Round:
    """The broker gives the name."""
    world = World()

    def go() -> None:
        world.client("").disconnect()
        world.wait(1.0)

    return go


def subscribes(version: int, *filters: str) -> Round:
    world = World()
    client = world.client("c", version)

    def go() -> None:
        client.subscribe(*filters, qos=1)
        client.subscribe(*filters, qos=2)
        client.unsubscribe(*filters, "never/there")
        client.take()

    return go


def session_ends() -> Round:
    """Sessions that outlive their connections, with messages in them, until they expire."""
    world = DurableWorld()
    writer = world.client("w")

    def go() -> None:
        client = world.client("c", clean=False, expiry=10)
        client.subscribe("t", qos=1)
        client.lose()
        writer.publish("t", qos=1)
        writer.take()
        world.wait(70)

    return go


def wills(delay: int) -> Round:
    world = World()
    reader = world.client("r")
    reader.subscribe("will/#", qos=1)
    told = properties(will_delay=delay, user=[("a", "b")])

    def go() -> None:
        will = Will("will/w", b"gone", 1, properties=told)
        world.client("w", will=will, expiry=100).lose()
        world.wait(delay + 1)
        reader.messages()
        world.client("w", will=will, clean=True).disconnect()

    return go


def silence() -> Round:
    """Cut by keep-alive."""
    world = World()

    def go() -> None:
        world.client("s", V311, keep_alive=10)
        world.wait(20)

    return go


class Doorman(Authenticator):
    """Refuses, at once or later."""

    def __init__(self) -> None:
        self.later: list[int] = []
        self.is_slow = False

    def authenticate(self, token: int, connect: Connect, origin: Origin) -> Verdict | None:
        if self.is_slow:
            self.later.append(token)
            return None
        return Verdict(reasons.BAD_USER_NAME_OR_PASSWORD, text="no")


def logins_fail(version: int, *, slow: bool) -> Round:
    world = World()
    doorman = Doorman()
    doorman.is_slow = slow
    world.broker.core.authenticator = doorman

    def go() -> None:
        visitor = world.visitor(version)
        visitor.connect("c", user="somebody")
        for token in doorman.later:
            verdict = Verdict(reasons.BAD_USER_NAME_OR_PASSWORD)
            world.broker.decide(token, verdict, world.now)
        doorman.later.clear()
        assert visitor.is_closed
        visitor.lose()
        world.wait(1.0)

    return go


def malformed(version: int) -> Round:
    """Every packet that the standard forbids, as the first one and as one of a client."""
    world = World()
    bad = []
    for needed, head, body, _, _ in refused_cases():
        if needed == version and len(body) < 128:
            bad.append(bytes([head, len(body)]) + body)

    def go() -> None:
        for packet in bad:
            visitor = world.visitor(version)
            visitor.send_bytes(packet)
            visitor.lose()
            client = world.client("c", version)
            client.send_bytes(packet)
            client.lose()
        world.wait(1.0)

    return go


def broken_off() -> Round:
    """A packet that never ends, and a connection that never says a word."""
    world = World()

    def go() -> None:
        client = world.client("c")
        client.send_bytes(b"\x30\xff\xff\x01\x00\x01t" + b"x" * 700)
        client.lose()
        world.visitor().lose()
        world.wait(1.0)

    return go


class Slowly(Stopwatch):
    """Every seventh reading is late, each by another time, and slots of time go by."""

    def __init__(self) -> None:
        self.reads = 0
        self.time = 0.0

    def read(self) -> float:
        self.reads += 1
        self.time += 0.005 + self.reads % 5 / 1000 if self.reads % 7 == 0 else 0.000_01
        return self.time


def measured_turns() -> Round:
    turns = LoopTurns()
    clock = Slowly()
    turns.measure_with(clock)

    def go() -> None:
        for number in range(10):
            with MeasuredTurn(turns, CLIENT, f"client-{number}"):
                began = turns.read()
                seconds = turns.read() - began
                if turns.part(seconds):
                    turns.name_part(seconds, QUEUE, f"client-{number}")
            turns.collected(clock.time, clock.time + 0.002, 1)

    return go


CONNECTIONS: Paths = {
    "connect at 3.1.1": partial(connects, V311),
    "connect at 5.0": partial(connects, V5, expiry=0, keep_alive=30, user="somebody"),
    "connect, session kept": partial(connects, V5, clean=False, expiry=100),
    "connect, taken over": takes_over,
    "connect, names never seen before": fresh_clients,
    "connect without a name": nameless,
    "subscribe at 3.1.1": partial(subscribes, V311, "a/b", "a/+", "#", "$share/g/a"),
    "subscribe at 5.0": partial(subscribes, V5, "a/b", "+/b/#", "$share/g/+/x", "not/#/valid"),
    "sessions expire": session_ends,
    "wills at once": partial(wills, 0),
    "wills later": partial(wills, 5),
    "keep-alive": silence,
    "wrong password at 3.1.1": partial(logins_fail, V311, slow=False),
    "wrong password, told later": partial(logins_fail, V5, slow=True),
    "malformed at 3.1.1": partial(malformed, V311),
    "malformed at 5.0": partial(malformed, V5),
    "broken off": broken_off,
    "turns of the loop": measured_turns,
}
