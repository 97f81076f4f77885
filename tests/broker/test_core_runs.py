"""Runs of plain packets between clients of both versions: everybody gets each message, whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, V311, Publish
from tests.support.memory import World

# Payloads that bring the remaining length to where it needs one more byte, in either version.
TOPIC = "a/topic"
HEADER = 2 + len(TOPIC)
EDGES = [limit - HEADER + step for limit in (0x80, 0x4000) for step in (-3, -2, -1, 0, 1)]


@pytest.mark.parametrize("version", [V311, V5])
@pytest.mark.parametrize("size", [0, 1, 64, *EDGES])
def test_a_run_reaches_both_versions(version: int, size: int) -> None:
    world = World()
    readers = [world.client(f"reader {number}", number) for number in (V311, V5)]
    for reader in readers:
        reader.subscribe("a/+")
    writer = world.client("writer", version)
    payloads = [bytes([65 + number]) * size for number in range(3)]
    writer.send(*(Publish(TOPIC, payload) for payload in payloads))
    for reader in readers:
        assert [(m.topic, m.payload) for m in reader.messages()] == [
            (TOPIC, payload) for payload in payloads
        ]


@given(
    version=st.sampled_from([V311, V5]),
    sent=st.lists(
        st.tuples(st.sampled_from(["a/1", "a/2", "b"]), st.binary(max_size=4)), max_size=20
    ),
    cut=st.integers(1, 200),
)
def test_runs_of_any_kind(version: int, sent: list[tuple[str, bytes]], cut: int) -> None:
    """Payloads that look like heads do not matter, nor where the chunks end."""
    world = World()
    readers = [world.client(f"reader {number}", number) for number in (V311, V5)]
    for reader in readers:
        reader.subscribe("a/#", "b")
    writer = world.client("writer", version)
    head = encode(Publish("a/1", b""), version)
    stream = b"".join(encode(Publish(topic, head + payload), version) for topic, payload in sent)
    for start in range(0, len(stream), cut):
        writer.send_bytes(stream[start : start + cut])
    for reader in readers:
        assert [(m.topic, m.payload) for m in reader.messages()] == [
            (topic, head + payload) for topic, payload in sent
        ]
