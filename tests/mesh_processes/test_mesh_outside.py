"""Three real brokers in a line, seen by paho: one group, one session, one `$SYS`."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from tests.support.paho_client import V5, V311, Paho, connected
from tests.support.polling import eventually

pytestmark = pytest.mark.processes

TAKEN_OVER = 0x8E
HOUR = 3600


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMesh]:
    folder: Path = tmp_path_factory.mktemp("outside")
    with LocalMesh(folder, LocalMeshPlan(3, "linear", memory=False, sys_seconds=1)) as mesh:
        mesh.start()
        yield mesh


def ports(mesh: LocalMesh) -> list[int]:
    return [broker.port for broker in mesh.brokers]


def drained(client: Paho) -> list[str]:
    found: list[str] = []
    while not client.messages.empty():
        found.append(client.messages.get().payload.decode())
    return found


def warm_up(writer: Paho, topic: str, readers: list[Paho]) -> None:
    """Publishes until every reader has got something, and none comes any more."""
    got: set[int] = set()
    number = 0
    while len(got) < len(readers):
        writer.publish(topic, f"warm {number}".encode(), 1)
        number += 1
        assert number < 500, "some reader gets nothing"
        time.sleep(0.05)
        got |= {index for index, reader in enumerate(readers) if drained(reader)}
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < 1.0:
        if sum(len(drained(reader)) for reader in readers):
            quiet_since = time.monotonic()
        time.sleep(0.05)


def test_a_group_shares_across_brokers(mesh: LocalMesh) -> None:
    first, second, third = ports(mesh)
    with (
        connected(first, "member-1") as near,
        connected(third, "member-3", V311) as far,
        connected(second, "writer") as writer,
        connected(third, "own") as own,
    ):
        for member in (near, far):
            member.subscribe("$share/crew/jobs/#", qos=2)
        warm_up(writer, "jobs/warm", [near, far])
        sent = [f"job {number}" for number in range(60)]
        for number, payload in enumerate(sent):
            writer.publish(f"jobs/{number % 3}", payload.encode(), 1 + number % 2)
        got: list[list[str]] = [[], []]

        def all_came() -> bool:
            for taken, member in zip(got, (near, far), strict=True):
                taken += drained(member)
            return len(got[0]) + len(got[1]) >= len(sent)

        eventually(all_came)
        time.sleep(0.5)  # for what would come twice
        all_came()
        assert Counter(got[0] + got[1]) == Counter(sent)
        assert got[0]
        assert got[1]
        own.publish("jobs/mine", b"local", 1)
        assert [message.payload for message in far.take(1)] == [b"local"]
        assert drained(near) == []


@pytest.mark.parametrize("version", [V311, V5])
def test_a_session_follows_its_client(mesh: LocalMesh, version: object) -> None:
    first, second, third = ports(mesh)
    name = f"roamer-{version}"
    topic = f"for/{version}"
    expiry = HOUR if version == V5 else 0
    there = Paho(first, name, version, clean=False, expiry=expiry)  # type: ignore[arg-type]
    there.connect()
    there.subscribe(topic, qos=2)
    with connected(second, f"writer-{version}") as writer:
        warm_up(writer, topic, [there])
        there.close()
        kept = [f"kept {number}" for number in range(50)]
        for number, payload in enumerate(kept):
            writer.publish(topic, payload.encode(), 1 + number % 2)
        here = Paho(third, name, version, clean=False, expiry=expiry)  # type: ignore[arg-type]
        here.connect()
        assert here.session_present
        assert Counter(m.payload.decode() for m in here.take(len(kept))) == Counter(kept)
        fresh = [f"fresh {number}" for number in range(40)]
        for payload in fresh:
            writer.publish(topic, payload.encode(), 2)
        assert Counter(m.payload.decode() for m in here.take(len(fresh))) == Counter(fresh)
        time.sleep(0.5)  # for what would come twice
        assert drained(here) == []
        here.close()


def test_the_old_connection_is_told_who_took_it(mesh: LocalMesh) -> None:
    first, _, third = ports(mesh)
    for expiry in (0, HOUR):
        old = Paho(first, f"twin-{expiry}", expiry=expiry)
        old.connect()
        with connected(third, f"twin-{expiry}", clean=False, expiry=expiry):
            assert old.wait_for("disconnected").value == TAKEN_OVER
        old.client.loop_stop()


def test_a_killed_broker_keeps_the_session_and_hands_it_over_later(mesh: LocalMesh) -> None:
    first, second, third = ports(mesh)
    there = Paho(first, "patient", clean=False, expiry=HOUR)
    there.connect()
    there.subscribe("patient", qos=1)
    with connected(second, "patient-writer") as writer:
        warm_up(writer, "patient", [there])
        there.close()
        for number in range(5):
            writer.publish("patient", str(number).encode(), 1)
        eventually(lambda: mesh.links()[0].outward["queued"] == 0)
        mesh.brokers[0].kill()
        here = Paho(third, "patient", clean=False, expiry=HOUR)
        here.connect()
        assert not here.session_present  # it was not to be had in time
        mesh.brokers[0].start()
        mesh.wait()
        got = {message.payload.decode() for message in here.take(5)}
        assert got == {str(number) for number in range(5)}
        here.close()


def test_every_broker_shows_the_figures_of_all(mesh: LocalMesh) -> None:
    with connected(ports(mesh)[0], "operator") as operator:
        operator.subscribe("$SYS/mesh/broker/+/uptime")
        brokers: set[str] = set()

        def all_shown() -> bool:
            while not operator.messages.empty():
                brokers.add(operator.messages.get().topic.split("/")[3])
            return brokers == {broker.name for broker in mesh.brokers}

        eventually(all_shown)
