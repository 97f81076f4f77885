"""The wall clock of a live broker is set, and a broker is started with one that is far off."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.broker.timers import Timer
from gossamer.net.clock import SAME, Clock
from gossamer.net.local.ports import free_port
from gossamer.wire.packets import V5, Connect, Disconnect, Publish, Request, Subscribe, Will
from gossamer.wire.properties import Properties
from tests.support.live import RawClient, live
from tests.support.logs import log_of
from tests.support.polling import eventually
from tests.support.processes import scrubbed, stop, wait_for_port

DAY = 86_400.0


class Wall:
    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def test_the_clock_goes_on_whatever_the_wall_shows() -> None:
    wall, passed = [1000.0], [50.0]
    clock = Clock(None, lambda: wall[0], lambda: passed[0])
    assert (clock.now(), clock.offset) == (1000.0, 0.0)
    passed[0] += 10.0
    wall[0] += 10.0
    assert (clock.now(), clock.look(), clock.offset) == (1010.0, 0.0, 0.0)
    wall[0] += DAY
    assert (clock.now(), clock.look(), clock.offset) == (1010.0, DAY, DAY)
    assert clock.look() == 0.0
    wall[0] -= 2 * DAY
    assert (clock.look(), clock.offset) == (-2 * DAY, -DAY)
    wall[0] += DAY + SAME / 2
    clock.look()
    assert clock.offset == 0.0
    assert Clock(70.0, lambda: wall[0], lambda: passed[0]).now() == 70.0


@pytest.mark.parametrize("step", [DAY, -DAY])
def test_a_step_cuts_nobody_and_stops_no_timer(step: float) -> None:
    wall = Wall()
    with live(clock=Clock(None, wall)) as broker, log_of("gossamer.net.server") as said:
        port = broker.port()
        awake, silent, watcher = (RawClient.to(port) for _ in range(3))
        properties = Properties()
        properties.session_expiry = 3600
        delayed = Properties()
        delayed.will_delay = 1800
        will = Will("will", b"gone", 0, False, delayed)
        awake.login(client_id="awake", keep_alive=60)
        watcher.login(client_id="watcher")
        watcher.subscribe("will")
        away = RawClient.to(port)
        away.login(Connect("away", V5, True, 0, None, None, will, properties))
        away.close()
        eventually(lambda: broker.ask(lambda: "away" in broker.broker.core.expiries))
        wall.ahead = step
        eventually(lambda: broker.ask(lambda: broker.broker.core.wall_offset != 0.0))
        assert any("forward" in line if step > 0 else "back" in line for line in said)
        # A timer that is set after the step fires: this client is silent for too long.
        silent.login(client_id="silent", keep_alive=1)
        told = silent.expect(Disconnect)
        assert told.reason == 0x8D
        awake.publish("will", b"I am here")
        assert watcher.expect(Publish).payload == b"I am here"
        assert broker.ask(lambda: "away" in broker.broker.core.sessions)


@pytest.mark.faults
def test_a_tick_that_fails_is_followed_by_others() -> None:
    class Bad(Timer):
        def fire(self, now: float) -> float:
            raise RuntimeError("a duty that fails")

    with live() as broker:
        broker.ask(lambda: broker.broker.core.timers.add(1.0, Bad()))
        eventually(lambda: broker.ask(lambda: broker.broker.core.faults.total > 0))
        silent = RawClient.to(broker.port())
        silent.login(client_id="silent", keep_alive=1)
        assert silent.expect(Disconnect).reason == 0x8D


PROGRAM = """
import sys, time
ahead, real = float(sys.argv.pop(1)), time.time
time.time = lambda: real() + ahead
from gossamer.cli.main import main
main()
"""


@contextmanager
def started(folder: Path, ahead: float) -> Iterator[tuple[int, Path]]:
    """A broker whose wall clock is `ahead` seconds ahead of ours; its port and its log."""
    port = free_port()
    log = folder / "log"
    arguments = ("serve", "--port", str(port), "--data", str(folder / "data"))
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, repr(ahead), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            env=scrubbed(),
        )
        try:
            wait_for_port(port, process)
            yield port, log
        finally:
            assert stop(process) == 0


def lasting(port: int, client_id: str, clean: bool) -> tuple[RawClient, bool]:
    properties = Properties()
    properties.session_expiry = 3600
    client = RawClient.to(port)
    answer = client.login(Connect(client_id, V5, clean, 0, None, None, None, properties))
    return client, answer.session_present


@pytest.mark.parametrize("ahead", [-time.time(), 74 * 365 * DAY], ids=["1970", "2100"])
def test_a_start_with_the_clock_far_off_destroys_nothing(tmp_path: Path, ahead: float) -> None:
    with started(tmp_path, 0.0) as (port, _):
        client, _ = lasting(port, "c", True)
        client.subscribe("t", qos=1)
        client.close()
        writer = RawClient.to(port)
        writer.login(client_id="w")
        properties = Properties()
        properties.message_expiry = 3600
        writer.publish("t", b"kept", qos=1, packet_id=1, retain=True, properties=properties)
        assert writer.read() is not None
    with started(tmp_path, ahead) as (port, log):
        client, is_present = lasting(port, "c", False)
        assert is_present
        assert client.expect(Publish).payload == b"kept"
        client.close()
        assert "ignored for expiry" in log.read_text()
    with started(tmp_path, 0.0) as (port, log):
        client, is_present = lasting(port, "c", False)
        assert is_present
        assert client.expect(Publish).payload == b"kept"  # not acknowledged before
        client.send(b"\xe0\x00")
        reader = RawClient.to(port)
        reader.login(client_id="r")
        reader.send(Subscribe(1, [Request("t", 0)]))
        answers = [reader.read(), reader.read()]  # in either order
        assert [one.payload for one in answers if isinstance(one, Publish)] == [b"kept"]
