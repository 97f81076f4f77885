"""A broker killed without a word while clients publish: what it acknowledged is in the archive."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

from gossamer.archive.client import Address, Credentials, Request, describe, read
from gossamer.net.local.ports import free_port
from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    Acknowledgement,
    Publish,
)
from gossamer.wire.properties import Properties
from tests.support.archives import rows_of
from tests.support.live import RawClient
from tests.support.polling import eventually
from tests.support.processes import PATIENCE_SECONDS, command, stop, wait_for_port

KILLS = 3
WINDOW = 20

CONFIGURATION = """
[[listener]]
port = {port}
[store]
folder = "data"
[archive]
replay_port = {replay}
segment_size = "64 KiB"
"""


class Killed:
    """A broker on one folder that is killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.port, self.replay = free_port(), free_port()
        self._file = folder / "gossamer.toml"
        self._file.write_text(CONFIGURATION.format(port=self.port, replay=self.replay))
        self._log = folder / "log"
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                command("serve", "--config", str(self._file)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ},
            )
        wait_for_port(self.port, process)
        return process

    def kill(self) -> None:
        stop(self.process, signal.SIGKILL)
        self.process = self._start()

    def stop(self) -> None:
        assert stop(self.process) == 0, self._log.read_text()


class Publisher(threading.Thread):
    """Publishes until told to stop, over broken connections too."""

    def __init__(self, port: int, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.port = port
        self.ending = threading.Event()
        self.sent: list[bytes] = []
        self.acknowledged: list[bytes] = []

    def run(self) -> None:
        while not self.ending.is_set():
            with contextlib.suppress(OSError, AssertionError):
                self.publish()

    def connected(self) -> RawClient:
        def reached() -> RawClient | None:
            with contextlib.suppress(OSError):
                return RawClient(socket.create_connection(("127.0.0.1", self.port), 5))
            return None

        client = eventually(reached)
        forever = Properties()
        forever.session_expiry = 0xFFFFFFFF
        client.login(client_id=self.name, clean_start=False, properties=forever)
        return client

    def publish(self) -> None:
        raise NotImplementedError

    def next_payload(self) -> bytes:
        self.sent.append(f"{self.name}/{len(self.sent)}".encode())
        return self.sent[-1]


class AtLeastOnce(Publisher):
    """A window of QoS 1 publications; what was not acknowledged is let go."""

    def publish(self) -> None:
        client = self.connected()
        while not self.ending.is_set():
            window = {number: self.next_payload() for number in range(1, WINDOW + 1)}
            for number, payload in window.items():
                client.send(Publish(f"t/{number}", payload, 1, packet_id=number))
            while window:
                answer = client.expect(Acknowledgement)
                assert answer.kind == PUBACK
                self.acknowledged.append(window.pop(answer.packet_id))


class ExactlyOnce(Publisher):
    """One QoS 2 publication at a time, sent again until it is released."""

    def __init__(self, port: int, name: str) -> None:
        super().__init__(port, name)
        self.number = 0
        self.payload = b""  # not acknowledged yet, b"" for none
        self.is_received = False  # whether it is the PUBREL that is sent again

    def publish(self) -> None:
        client = self.connected()
        while not self.ending.is_set() or self.payload:
            is_again = bool(self.payload)
            if not is_again:
                self.number = self.number % 100 + 1
                self.payload = self.next_payload()
            if not self.is_received:
                client.send(Publish("u", self.payload, 2, packet_id=self.number, dup=is_again))
                self.wait_for(client, PUBREC)
                self.is_received = True
            client.send(Acknowledgement(PUBREL, self.number))
            self.wait_for(client, PUBCOMP)
            self.acknowledged.append(self.payload)
            self.payload, self.is_received = b"", False

    def wait_for(self, client: RawClient, kind: int) -> None:
        answer = client.expect(Acknowledgement)
        assert (answer.kind, answer.packet_id) == (kind, self.number)

    def run(self) -> None:
        while not self.ending.is_set() or self.payload:
            with contextlib.suppress(OSError, AssertionError):
                self.publish()


def test_what_was_acknowledged_survives_kills(tmp_path: Path) -> None:
    chance = random.Random(8)
    broker = Killed(tmp_path)
    clients = [AtLeastOnce(broker.port, "one"), AtLeastOnce(broker.port, "two")]
    careful = ExactlyOnce(broker.port, "three")
    for client in (*clients, careful):
        client.start()
    address = Address("127.0.0.1", broker.replay, timeout=PATIENCE_SECONDS)
    seen: dict[int, bytes] = {}
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.2, 0.6))
        with contextlib.suppress(Exception):  # it may not have had the time to listen
            for batch in read(address, Credentials(), Request(columns=["offset", "payload"])):
                seen.update((row["offset"], row["payload"]) for row in rows_of([batch]))
        broker.kill()
    for client in (*clients, careful):
        client.ending.set()
        client.join(PATIENCE_SECONDS)
        assert not client.is_alive()
    told = describe(address, Credentials())
    rows = rows_of(list(read(address, Credentials(), Request())))
    broker.stop()
    assert [row["offset"] for row in rows] == list(range(told["next"]))
    found = Counter(row["payload"] for row in rows)
    assert found.keys() <= {payload for one in (*clients, careful) for payload in one.sent}
    for client in clients:
        assert client.acknowledged
        assert set(client.acknowledged) <= found.keys()
        assert {found[payload] for payload in client.acknowledged} == {1}
    assert careful.acknowledged
    assert {found[payload] for payload in careful.acknowledged} == {1}
    assert careful.acknowledged == [row["payload"] for row in rows if row["topic"] == "u"]
    assert seen.items() <= {row["offset"]: row["payload"] for row in rows}.items()
