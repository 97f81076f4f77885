"""Brokers of two versions are one mesh, in each place and mode, and one is upgraded under traffic.

The other version comes out of the repository's history; where that is not there, the tests are
skipped and say so.
"""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from gossamer.wire.packets import PUBCOMP, PUBREC, PUBREL, Acknowledgement, Publish, Request
from tests.support.fixtures.device import Device
from tests.support.fixtures.meshes import line, reaches, retained_at, running, until
from tests.support.fixtures.process import HERE, Broker, check_out
from tests.support.kept_fixtures import Fixture

pytestmark = pytest.mark.processes

MODES = ("pf", "sf", "ssf", "bloom", "auto")
# Who is old (o) and who is new (n) in the line a – b – c.
PLACES = ("onn", "non", "nno", "noo", "ono", "oon")
# Every place in the default mode; in the others the old one between new ones, and the reverse.
MIXES = [("ssf", places) for places in PLACES] + [
    (mode, places) for mode in MODES if mode != "ssf" for places in ("non", "ono")
]
RING = ("ab", "bc", "ca")
LINE = ("ab", "bc")

Brokers = dict[str, Broker]


@pytest.fixture(scope="session")
def checkouts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {}


@pytest.fixture
def old(
    fixture: Fixture, checkouts: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The sources of the version that wrote the fixture."""
    if fixture.version not in checkouts:
        folder = tmp_path_factory.mktemp(f"gossamer-{fixture.version}")
        try:
            checkouts[fixture.version] = check_out(fixture.commit, folder)
        except ValueError as error:
            pytest.skip(str(error))
    return checkouts[fixture.version]


def mixed(old: Path, places: str, folder: Path, mode: str, edges: tuple[str, ...]) -> Brokers:
    sources = {name: old if age == "o" else HERE for name, age in zip("abc", places, strict=True)}
    return line(sources, folder, mode, edges)


@pytest.mark.parametrize(("mode", "places"), MIXES)
def test_two_versions_are_one_mesh(old: Path, tmp_path: Path, mode: str, places: str) -> None:
    with running(mixed(old, places, tmp_path / "mesh", mode, LINE)) as brokers:
        use_it(brokers)


@pytest.mark.parametrize(("mode", "places"), [("ssf", "onn"), ("bloom", "oon"), ("auto", "non")])
def test_two_versions_are_one_ring(old: Path, tmp_path: Path, mode: str, places: str) -> None:
    with running(mixed(old, places, tmp_path / "mesh", mode, RING)) as brokers:
        use_it(brokers)


@pytest.mark.parametrize("places", ["non", "nno"])
def test_what_an_old_broker_cannot_take_is_in_nobodys_way(
    old: Path, tmp_path: Path, places: str
) -> None:
    """A topic that 0.1.0 has no room for: what is sent behind it arrives, after restarts too."""
    with running(mixed(old, places, tmp_path / "mesh", "ssf", LINE)) as brokers:
        member = Device(brokers["c"].port, "member")
        member.subscribe(Request("$share/g/big/#", 1))
        reaches(member, brokers["a"].port, "big/probe")
        roamer = Device(brokers["a"].port, "roamer")
        roamer.subscribe(Request("big/#", 1))
        roamer.leave()
        writer = Device(brokers["a"].port, "writer", clean=True)
        long = f"big/{'é' * 32_000}"
        for number in range(3):
            writer.publish(long, b"too long for some", qos=1)
            writer.publish("big/small", f"{number}".encode(), qos=1)
        small_ones_arrive(member, 0)
        moved = Device(brokers["c"].port, "roamer")
        assert moved.resumed
        small_ones_arrive(moved, 0)
        for name in ("a", "b"):
            brokers[name].stop()
            brokers[name].start()
        writer = Device(brokers["a"].port, "writer", clean=True)
        for number in range(3, 6):
            writer.publish("big/small", f"{number}".encode(), qos=1)
        small_ones_arrive(member, 3)


def small_ones_arrive(reader: Device, first: int) -> None:
    """At QoS 1, so some may come again."""
    missing = {f"{number}" for number in range(first, first + 3)}
    while missing:
        (message,) = reader.take(1)
        if message.topic == "big/small":
            missing.discard(message.payload.decode())


def use_it(brokers: Brokers) -> None:
    """Everything that crosses a mesh, both ways along the line."""
    a, c = brokers["a"], brokers["c"]
    readers = {}
    for near, far in ((a, c), (c, a)):
        reader = Device(far.port, f"reader-of-{near.port}")
        reader.subscribe(Request(f"x/{near.port}/#", 2))
        reaches(reader, near.port, f"x/{near.port}/probe")
        readers[near.port] = reader
    for near in (a, c):
        publications_cross(near, readers[near.port])
    for near, far in ((a, c), (c, a)):
        retained_messages_cross(near, far)
    groups_are_shared(brokers)
    for near, far in ((a, c), (c, a)):
        a_session_roams(near, far)


def publications_cross(near: Broker, reader: Device) -> None:
    writer = Device(near.port, "writer", clean=True)
    everything: dict[str, Any] = {
        "payload_format": 1,
        "content_type": "text/plain",
        "response_topic": "r/é",
        "correlation_data": b"\0\xff",
        "user": [("k", "v"), ("k", "w")],
    }
    topic = f"x/{near.port}/é/{'long' * 100}"
    for qos in (0, 1, 2):
        for number in range(10):
            writer.publish(topic, f"{qos}.{number}".encode(), qos=qos, **everything)
    writer.leave()
    got = reader.take(30)
    assert {one.topic for one in got} == {topic}
    for qos in (0, 1, 2):
        payloads = [one.payload.decode() for one in got if one.qos == qos]
        assert payloads == [f"{qos}.{number}" for number in range(10)]
    for one in got:
        assert one.properties is not None
        assert {name: getattr(one.properties, name) for name in everything} == everything


def retained_messages_cross(near: Broker, far: Broker) -> None:
    writer = Device(near.port, "writer", clean=True)
    writer.publish("kept/x", b"1", qos=1, retain=True)
    writer.publish("kept/y", b"2", qos=2, retain=True)
    until(lambda: retained_at(far.port) == {"kept/x": "1", "kept/y": "2"}, "to be retained there")
    writer.publish("kept/x", b"", qos=1, retain=True)
    other = Device(far.port, "other", clean=True)
    other.publish("kept/y", b"", qos=1, retain=True)
    until(
        lambda: retained_at(near.port) == retained_at(far.port) == {}, "removals to arrive at both"
    )
    writer.leave()
    other.leave()


def groups_are_shared(brokers: Brokers) -> None:
    """A group with members at both ends: each message goes to one of them."""
    members = []
    for name in ("a", "c"):
        member = Device(brokers[name].port, f"member-{name}")
        member.subscribe(Request("$share/g/w/#", 1))
        members.append(member)
    writer = Device(brokers["b"].port, "writer", clean=True)
    sent: list[str] = []
    got: list[list[str]] = [[], []]

    def both_have_some() -> bool:
        sent.append(f"job {len(sent)}")
        writer.publish("w/x", sent[-1].encode(), qos=1)
        for mine, member in zip(got, members, strict=True):
            while (message := member.next(0.05)) is not None:
                mine.append(message.payload.decode())
        return all(got)

    until(both_have_some, "both members to have some")
    more = [f"more {number}" for number in range(20)]
    writer.publish_all([("w/x", text.encode()) for text in more], qos=1)
    # Before the first of them was known there, a message may have found no member at all.
    known = {*got[0], *got[1], *more}

    def all_are_there() -> bool:
        for mine, member in zip(got, members, strict=True):
            while (message := member.next(0.05)) is not None:
                mine.append(message.payload.decode())
        return known <= {*got[0], *got[1]}

    until(all_are_there, "all jobs to arrive")
    both = got[0] + got[1]
    assert len(both) == len(set(both)), "a job came twice"
    for member in members:
        member.leave()
    writer.leave()


def a_session_roams(near: Broker, far: Broker) -> None:
    """There with what waits, and back again with what came meanwhile."""
    client_id = f"roaming-{near.port}"
    topic = f"n/{near.port}"
    client = Device(near.port, client_id)
    client.subscribe(Request(topic, 2))
    client.leave()
    writer = Device(near.port, "writer", clean=True)
    waiting = [f"{number}" for number in range(5)]
    for text in waiting:
        writer.publish(topic, text.encode(), qos=2, user=[("k", "v")])
    moved = Device(far.port, client_id)
    assert moved.resumed, "the session did not come"
    got = moved.take(len(waiting))
    assert [one.payload.decode() for one in got] == waiting
    assert all(one.properties is not None and one.properties.user for one in got)
    reaches(moved, near.port, topic)
    moved.leave()
    writer.publish(topic, b"last", qos=2)
    writer.leave()
    back = Device(near.port, client_id)
    assert back.resumed, "the session did not come back"
    assert [one.payload for one in back.take(1)] == [b"last"]
    back.leave()


# 0.1.0 cannot read back what a neighbour's queue keeps beyond 10,000 messages.
MOST_AHEAD = 3_000


class SteadyWriter:
    """Publishes one message after the other, through every restart of its broker. `acknowledged`
    are those that the broker has promised; at QoS 2 none is sent as new twice."""

    def __init__(self, port: int, topic: str, qos: int, reader: "SteadyReader") -> None:
        self.acknowledged: list[str] = []
        self._read = reader.got[topic]
        self._port = port
        self._topic = topic
        self._qos = qos
        self._received = -1  # the last one that the broker has, at QoS 2
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> list[str]:
        """What was acknowledged in all."""
        self._stopping.set()
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.acknowledged

    def _run(self) -> None:
        number = 0
        while not self._stopping.is_set():
            try:
                device = Device(self._port, f"steady-{self._qos}")
                is_again = True
                while not self._stopping.is_set():
                    if number - len(self._read) > MOST_AHEAD:
                        time.sleep(0.01)
                        continue
                    self._publish(device, number, is_again)
                    self.acknowledged.append(f"{number}")
                    number += 1
                    is_again = False
                device.leave()
            except OSError:
                time.sleep(0.05)

    def _publish(self, device: Device, number: int, is_again: bool) -> None:
        packet_id = number % 60_000 + 1
        publish = Publish(self._topic, f"{number}".encode(), self._qos, False, is_again, packet_id)
        if self._qos == 1:
            device.send(publish)
            device.expect(Acknowledgement)
            return
        if self._received != number:  # else only its release is to be sent again [MQTT-4.4.0-1]
            device.send(publish)
            device.expect(Acknowledgement, PUBREC)
            self._received = number
        device.send(Acknowledgement(PUBREL, packet_id))
        device.expect(Acknowledgement, PUBCOMP)


class SteadyReader:
    """Reads at one broker, through every restart of it."""

    def __init__(self, port: int, writers_port: int, *topics: str) -> None:
        """Returns when what is published at the other port arrives."""
        self.got: dict[str, list[str]] = {topic: [] for topic in topics}
        self._port = port
        self._stopping = threading.Event()
        device = Device(port, "steady-reader")
        device.subscribe(*(Request(topic, 2) for topic in topics))
        for topic in topics:
            reaches(device, writers_port, topic)
        self._thread = threading.Thread(target=self._run, args=(device,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(60)

    def _run(self, device: Device) -> None:
        is_connected = True
        while not self._stopping.is_set():
            try:
                if not is_connected:
                    received = device.received
                    device = Device(self._port, "steady-reader")
                    device.received = received
                    is_connected = True
                message = device.next(0.2)
                if message is not None:
                    self.got[message.topic].append(message.payload.decode())
            except OSError:
                is_connected = False
                time.sleep(0.05)


@pytest.mark.parametrize("ends", ["stopped", "killed"])
@pytest.mark.parametrize(("mode", "edges"), [("ssf", LINE), ("bloom", RING)])
def test_brokers_are_upgraded_one_by_one_under_traffic(
    old: Path, tmp_path: Path, ends: str, mode: str, edges: tuple[str, ...]
) -> None:
    """Nothing that was acknowledged is lost, and what was sent exactly once comes exactly once."""
    with running(mixed(old, "ooo", tmp_path / "mesh", mode, edges)) as brokers:
        reader = SteadyReader(brokers["c"].port, brokers["a"].port, "one", "two")
        writers = [
            SteadyWriter(brokers["a"].port, "one", 1, reader),
            SteadyWriter(brokers["a"].port, "two", 2, reader),
        ]
        until(lambda: all(len(got) > 20 for got in reader.got.values()), "the first to arrive")
        for name in ("b", "c", "a"):
            broker = brokers[name]
            broker.stop() if ends == "stopped" else broker.kill()
            broker.source = HERE
            broker.start()
            goes_on(reader)
        promised = [writer.stop() for writer in writers]
        wanted = dict(zip(("one", "two"), promised, strict=True))
        for topic, texts in wanted.items():
            arrives(reader, topic, texts)
        reader.stop()
        got = {"one": list(dict.fromkeys(reader.got["one"])), "two": reader.got["two"]}
        if edges is RING:  # where the tree changes, order is not promised
            got = {topic: sorted(texts, key=int) for topic, texts in got.items()}
        assert got == wanted


def arrives(reader: SteadyReader, topic: str, texts: list[str]) -> None:
    def missing() -> set[str]:
        return set(texts) - set(reader.got[topic])

    try:
        until(lambda: not missing(), f"all of {topic}")
    except RuntimeError:
        raise AssertionError(f"lost of {topic}: {sorted(missing(), key=int)}") from None


def goes_on(reader: SteadyReader) -> None:
    """Until news of both kinds arrive again."""
    had = {topic: len(got) for topic, got in reader.got.items()}
    until(lambda: all(len(reader.got[topic]) > had[topic] + 20 for topic in had), "news to arrive")
