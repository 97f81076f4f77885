"""The generator against a real broker (Mosquitto), and its parts against plain loops."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.topics.names import matches
from gossamer.wire.codec import decode
from gossamer.wire.packets import Publish
from gossamer_lab.bench import harness, peers
from gossamer_lab.bench.load import packets
from gossamer_lab.bench.load.bursts import filter_of, topic_of
from gossamer_lab.bench.load.packets import AckReceiver
from gossamer_lab.bench.load.scenarios import BY_NAME, SCENARIOS
from gossamer_lab.bench.measurement import Measurement
from gossamer_lab.quantiles import quantile

TOPIC = "bench/pair/000"
PAYLOAD = b"x" * 64
V311 = 4


def acknowledgement(kind: int, packet_id: int) -> bytes:
    return bytes([kind, 2]) + packet_id.to_bytes(2, "big")


@given(
    sent=st.lists(
        st.tuples(st.sampled_from(["publish", "release"]), st.integers(1, 65535)), max_size=600
    ),
    cuts=st.lists(st.integers(1, 500), min_size=1, max_size=10),
)
def test_a_qos_2_receiver_answers_each_packet_once_whatever_the_chunks(
    sent: list[tuple[str, int]], cuts: list[int]
) -> None:
    stream, answers = b"", b""
    for what, packet_id in sent:
        if what == "publish":
            stream += packets.publish(TOPIC, PAYLOAD, 2, packet_id)
            answers += acknowledgement(packets.PUBREC, packet_id)
        else:
            stream += acknowledgement(packets.PUBREL, packet_id)
            answers += acknowledgement(packets.PUBCOMP, packet_id)
    size = len(packets.publish(TOPIC, PAYLOAD, 2, 1))
    side = AckReceiver(size, packets.packet_id_offset(TOPIC, size), packets.PUBCOMP)
    given_answers = b""
    position = turn = 0
    while position < len(stream):
        length = cuts[turn % len(cuts)]
        given_answers += side.feed(stream[position : position + length])
        position, turn = position + length, turn + 1
    assert given_answers == answers
    assert side.delivered == sum(what == "publish" for what, _ in sent)


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("size", [0, 64, 200, 20_000])
def test_the_generators_packets_are_mqtt(qos: int, size: int) -> None:
    packet = packets.publish(TOPIC, b"x" * size, qos, 7)
    length_bytes = next(i for i in range(1, 5) if not packet[i] & 0x80)
    decoded = decode(packet[0], packet[1 + length_bytes :], V311)
    assert isinstance(decoded, Publish)
    assert (decoded.topic, decoded.qos, len(decoded.payload)) == (TOPIC, qos, size)
    if qos and size <= 200:
        offset = packets.packet_id_offset(TOPIC, len(packet))
        assert packet[offset : offset + 2] == b"\x00\x07"


def test_a_topic_of_the_million_filters_matches_its_filter_and_no_other() -> None:
    numbers = [0, 1, 998, 999, 1000, 1001, 500_000, 999_999]
    for topic_number in numbers:
        found = [n for n in numbers if matches(filter_of(n), topic_of(topic_number))]
        assert found == [topic_number]


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([], 0.5, 0.0), ([3.0], 0.99, 3.0), ([float(i) for i in range(100)], 0.99, 99.0)],
)
def test_quantile(values: list[float], share: float, expected: float) -> None:
    assert quantile(values, share) == expected


def test_the_median_leaves_failures_out() -> None:
    runs = [
        Measurement(seconds=1, delivered=10),
        Measurement(failure="it broke"),
        Measurement(seconds=1, delivered=30),
        Measurement(seconds=1, delivered=20),
    ]
    assert harness.median(runs).delivered == 20
    assert harness.median(runs[1:2]).failure == "it broke"


@pytest.mark.parametrize("text", ["x", "=a:1", "x=", "x=host", "x=host:port"])
def test_a_wrong_peer_is_told_how_to_write_it(text: str) -> None:
    with pytest.raises(ValueError, match="NAME=HOST:PORT"):
        peers.parse(text)


def test_another_checkout_runs_its_own_sources(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no src/gossamer"):
        peers.checkout(tmp_path)
    package = tmp_path / "before" / "src" / "gossamer"
    package.mkdir(parents=True)
    peer = peers.checkout(tmp_path / "before")
    assert peer.name == "gossamer in before"
    assert peer.environment["PYTHONPATH"] == str(package.parent)
    assert peer.command is not None
    assert "--memory" in peer.command(1883, tmp_path)
    durable = peers.checkout(tmp_path / "before", durable=True)
    assert durable.command is not None
    assert "--data" in durable.command(1883, tmp_path)


def test_peers_by_address_and_by_command() -> None:
    assert peers.parse("far=example.org:1884").address == ("example.org", 1884)
    command = peers.parse("own=broker --port {port} -q").command
    assert command is not None
    assert command(77, Path()) == ["broker", "--port", "77", "-q"]


@pytest.mark.skipif(shutil.which("mosquitto") is None, reason="mosquitto is not installed")
@pytest.mark.parametrize("name", [s.name for s in SCENARIOS if s.name != "filters"])
def test_every_scenario_measures_mosquitto(name: str) -> None:
    peer = peers.mosquitto()
    assert peer is not None
    harness.allow_many_connections()
    result = harness.measure_once(BY_NAME[name], peer, 0.2, 0.01)
    assert (result.failure, result.lost) == ("", 0)
    assert result.broker_cpu_seconds > 0
    assert (result.bytes_per_connection is not None) == (name == "idle")


def test_a_broker_that_does_not_start_is_a_failure_with_its_last_words() -> None:
    peer = peers.parse("broken=sh -c 'echo no licence for {port} >&2; exit 3'")
    result = harness.measure_once(BY_NAME["burst-1-1"], peer, 0.1, 0.01)
    assert "broken did not start: no licence for" in result.failure
