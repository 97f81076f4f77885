"""A broker on real sockets measures its event loop: what it shows of that, and what it logs.

Nothing is slow here: the clock that the broker measures with jumps by more than any real turn of a
busy machine takes.
"""

import asyncio
import gc
import json
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gossamer.broker.broker import Broker
from gossamer.broker.loop_turns import CLIENT, COLLECTOR, LINK, QUEUE, TIMER, LoopTurns
from gossamer.broker.policy import Permissions
from gossamer.broker.settings import Settings
from gossamer.broker.sys_topics import statistics
from gossamer.broker.timers import Timer
from gossamer.cli import main
from gossamer.net.admin.metrics import exposition
from gossamer.net.clock import Clock
from gossamer.net.event_loop import GcSchedule
from gossamer.net.transport import ConnectionPolicy, SocketSink
from gossamer.net.turns import Host
from gossamer.session.identity import Identity
from gossamer.session.journal import Journal
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Acknowledgement, Connect, Publish
from tests.support.admin_service import TOKEN, admin_port
from tests.support.live import LiveBroker, RawClient, live
from tests.support.logs import log_of
from tests.support.polling import PATIENCE, eventually

LOGGER = "gossamer.broker.loop_turns"
# More than lies between two lines of the log.
JUMP = 20.0


class Skewed:
    """The monotonic clock, and what a test adds."""

    def __init__(self) -> None:
        self.skew = 0.0

    def __call__(self) -> float:
        return time.perf_counter() + self.skew


class SlowTimer(Timer):
    def __init__(self, clock: Skewed) -> None:
        self.clock = clock

    def fire(self, now: float) -> float:
        self.clock.skew += JUMP
        return 0.0


class SlowRules(Permissions):
    """They take their time to think about one topic."""

    def __init__(self, clock: Skewed) -> None:
        super().__init__()
        self.clock = clock
        self.restricts = True

    def may_publish(self, client: Identity, topic: str) -> bool:
        if topic == "slow":
            self.clock.skew += JUMP
        return True


@pytest.fixture
def skewed() -> Skewed:
    return Skewed()


@pytest.fixture
def broker(skewed: Skewed) -> Iterator[LiveBroker]:
    with live(clock=Clock(None, time.time, skewed)) as made:
        yield made


def turns_of(broker: LiveBroker) -> LoopTurns:
    return broker.broker.core.turns


def test_a_slow_timer_is_named(broker: LiveBroker, skewed: Skewed) -> None:
    turns = turns_of(broker)
    with log_of(LOGGER) as said:
        broker.ask(lambda: broker.broker.core.timers.add(1.0, SlowTimer(skewed)))
        eventually(lambda: turns.worst().seconds >= JUMP)
        worst = broker.ask(turns.worst)
    assert (worst.kind, worst.about) == (TIMER, "SlowTimer")
    assert any("by the timer SlowTimer" in line for line in said)
    assert turns.long[TIMER].count >= 1


def test_a_slow_chunk_of_a_client_is_named(broker: LiveBroker, skewed: Skewed) -> None:
    turns = turns_of(broker)
    broker.ask(lambda: broker.broker.set_permissions(SlowRules(skewed), broker.clock.now()))
    client = RawClient.to(broker.port())
    assert client.login(client_id="plant\n7", keep_alive=0).reason == 0
    with log_of(LOGGER) as said:
        client.publish("slow", qos=1, packet_id=1)
        client.expect(Acknowledgement)
        eventually(lambda: turns.worst().seconds >= JUMP)
        worst = broker.ask(turns.worst)
    assert (worst.kind, worst.about) == (CLIENT, "plant\n7")
    assert any(r"by input of client 'plant\n7'" in line for line in said)
    client.close()


def test_the_admin_api_and_the_command_show_it(
    broker: LiveBroker,
    skewed: Skewed,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = turns_of(broker)
    broker.ask(lambda: broker.broker.core.timers.add(1.0, SlowTimer(skewed)))
    eventually(lambda: turns.worst().seconds >= JUMP)
    port = admin_port(broker)
    view = asked(port, "/v1/loop")
    assert view["worst_held_by"] == "the timer SlowTimer"
    assert view["worst_ms"] >= JUMP * 1e3
    assert view["turns"] > view["long_turns"] >= 1
    [timer] = [one for one in view["entries"] if one["held_by"] == TIMER]
    assert timer["long_turns"] >= 1
    assert timer["longest_ms"] >= JUMP * 1e3
    monkeypatch.setenv("GOSSAMER_ADMIN_TOKEN", TOKEN)
    assert main.run(["ctl", "loop", "--url", f"http://127.0.0.1:{port}"]) == 0
    shown = capsys.readouterr().out
    assert "ms, the timer SlowTimer" in shown
    assert "longest_ms" in shown
    assert main.run(["ctl", "loop", "--json", "--url", f"http://127.0.0.1:{port}"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["held_by"] for line in lines} == set(turns.long)


def asked(port: int, path: str) -> Any:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
    response = connection.getresponse()
    assert response.status == 200
    return json.loads(response.read())


class Wire(asyncio.Transport):
    """A socket that takes everything."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("192.0.2.1", 5) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def write(self, data: Any) -> None:
        pass


def test_every_call_of_the_loop_is_one_turn() -> None:
    loop = asyncio.new_event_loop()
    host = Host(Broker(Settings(), Journal(), 0.0), loop, lambda: None)
    sink = SocketSink(host, ConnectionPolicy("test"))

    def turns() -> int:
        assert not host.turns.is_open
        return host.turns.buckets()[-1][1]

    sink.connection_made(Wire())
    assert turns() == 1
    sink.data_received(encode(Connect("c"), V5))
    assert turns() == 2
    sink.data_received(encode(Publish("t", b"x"), V5) * 1_000)
    assert turns() == 3
    sink.connection_lost(None)
    while sink.connection is not None:  # what is left of the chunk is handled in its turns
        loop.call_soon(loop.stop)
        loop.run_forever()
    assert turns() >= 4
    assert host.turns.seconds > 0.0
    loop.close()


def test_the_metrics_have_a_histogram() -> None:
    broker = Broker(Settings(), Journal(), 0.0)
    turns = broker.core.turns
    for seconds in (0.000_05, 0.000_1, 0.3):
        turns.begin(1.0)
        if turns.end(1.0 + seconds):
            turns.name(1.0 + seconds, LINK, "b")
    turns.collected(2.0, 2.25, 2)
    text = exposition(broker.core).decode()
    assert "# TYPE gossamer_loop_turn_seconds histogram" in text
    assert 'gossamer_loop_turn_seconds_bucket{le="0.000064"} 1.0' in text
    assert 'gossamer_loop_turn_seconds_bucket{le="0.000128"} 2.0' in text
    assert 'gossamer_loop_turn_seconds_bucket{le="8.388608"} 4.0' in text
    assert 'gossamer_loop_turn_seconds_bucket{le="+Inf"} 4.0' in text
    assert "gossamer_loop_turn_seconds_count 4.0" in text
    assert 'gossamer_loop_long_turns_total{held_by="link"} 1.0' in text
    assert f'gossamer_loop_long_turns_total{{held_by="{COLLECTOR}"}} 1.0' in text
    assert f'gossamer_loop_long_turns_total{{held_by="{QUEUE}"}} 0.0' in text
    found = {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found["gossamer_loop_turn_seconds_sum"] == pytest.approx(0.550_15)
    assert found["gossamer_loop_worst_turn_seconds"] == pytest.approx(0.3)
    assert found["gossamer_collector_runs_total"] == 1
    assert found["gossamer_collector_seconds_total"] == pytest.approx(0.25)
    shown = statistics(broker.core, 1.0)
    assert (shown["loop/worst_milliseconds"], shown["loop/long_turns"]) == ("300", "2")


def test_runs_of_the_collector_are_noted_until_the_end() -> None:
    loop = asyncio.new_event_loop()
    broker = Broker(Settings(), Journal(), 0.0)
    turns = broker.core.turns
    before = list(gc.callbacks)
    schedule = GcSchedule(loop)
    schedule.note_runs(Host(broker, loop, lambda: None).collector_ran)
    gc.collect()
    assert turns.collector_runs >= 1
    assert turns.collector_seconds > 0.0
    schedule.stop()
    noted = turns.collector_runs
    gc.collect()
    assert turns.collector_runs == noted
    assert gc.callbacks == before
    loop.close()
