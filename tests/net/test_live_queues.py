"""Long queues of a real broker process: killed while they wait and while they are sent, bounded in
memory, and refused to publishers where the configuration says so."""

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.net.local.ports import free_port
from gossamer.wire import reasons
from gossamer.wire.packets import (
    PUBACK,
    V5,
    V311,
    Acknowledgement,
    Connect,
    Pingreq,
    Pingresp,
    Publish,
)
from gossamer.wire.properties import Properties
from tests.support.live import RawClient
from tests.support.processes import command, scrubbed, stop, wait_for_port

MANY = 6_000
WINDOW = 500


class Process:
    """`gossamer serve` on a folder that outlives it."""

    def __init__(self, folder: Path, limits: str = "") -> None:
        self.port = free_port()
        self._file = folder / "gossamer.toml"
        self._file.write_text(
            f"[[listener]]\nport = {self.port}\n"
            f'[store]\nfolder = "{folder / "data"}"\nsync = "normal"\n[limits]\n{limits}\n'
        )
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            command("serve", "--config", str(self._file)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=scrubbed(),
        )
        wait_for_port(self.port, self.process)

    def kill(self) -> None:
        stop(self.process, signal.SIGKILL)
        self.start()

    def resident(self) -> int:
        """MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        assert found is not None
        return int(found[1]) // 1024

    def client(self, name: str, version: int = V5, lasts: bool = True) -> RawClient:
        client = RawClient.to(self.port, version)
        properties = None
        if version == V5 and lasts:
            properties = Properties()
            properties.session_expiry = 1000
        assert client.login(Connect(name, version, not lasts, properties=properties)).reason == 0
        return client


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Process]:
    made = Process(tmp_path)
    yield made
    stop(made.process)


def away(broker: Process) -> None:
    client = broker.client("away")
    client.subscribe("t", qos=1)
    client.close()


def publish(broker: Process, first: int, last: int, size: int = 0) -> None:
    """Returns when all are acknowledged."""
    writer = broker.client("writer", V311, lasts=False)
    sent = first
    acknowledged = first
    while acknowledged < last:
        while sent < last and sent - acknowledged < WINDOW:
            payload = str(sent).encode().ljust(size)
            writer.send(Publish("t", payload, 1, packet_id=sent % 60_000 + 1))
            sent += 1
        writer.expect(Acknowledgement)
        acknowledged += 1
    writer.close()


def read(client: RawClient, count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        message = client.expect(Publish)
        found.append(int(message.payload))
        client.send(Acknowledgement(PUBACK, message.packet_id))
    return found


def test_a_long_queue_survives_kills(broker: Process) -> None:
    away(broker)
    publish(broker, 0, MANY)
    broker.kill()
    reader = broker.client("away")
    received = read(reader, 2_500)
    broker.kill()
    publish(broker, MANY, MANY + 100)
    reader = broker.client("away")
    while not received or received[-1] != MANY + 99:
        received += read(reader, 1)
    assert list(dict.fromkeys(received)) == list(range(MANY + 100))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see memory")
def test_what_waits_is_not_in_memory(broker: Process) -> None:
    away(broker)
    publish(broker, 0, 5_000, size=1_000)
    few = broker.resident()
    publish(broker, 5_000, 40_000, size=1_000)
    # Of 35 MB, a cache of the file's pages (16 MiB at most) is all that comes to it.
    assert broker.resident() - few < 25
    assert read(broker.client("away"), 40_000) == list(range(40_000))


def test_publishers_are_refused_where_the_configuration_says_so(tmp_path: Path) -> None:
    broker = Process(tmp_path, 'queue_bytes = "12 KiB"\nqueue_full = "refuse"')
    try:
        away(broker)
        new = broker.client("new", V5)
        for number in range(3):
            new.send(Publish("t", str(number).encode().ljust(3_500), 1, packet_id=number + 1))
            assert new.expect(Acknowledgement).reason == reasons.SUCCESS
        new.send(Publish("t", b"3".ljust(3_500), 1, packet_id=9))
        assert new.expect(Acknowledgement).reason == reasons.QUOTA_EXCEEDED
        old = broker.client("old", V311)
        old.send(Publish("t", b"4".ljust(3_500), 1, packet_id=7))
        old.send(Pingreq())
        old.expect(Pingresp)  # it is there, and has no acknowledgement
        assert read(broker.client("away"), 4) == [0, 1, 2, 4]
        assert old.expect(Acknowledgement).packet_id == 7
    finally:
        stop(broker.process)
