"""What holds for every packet and for any bytes at all."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.wire.codec import decode, encode
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import V5, V311, Packet
from tests.support.packet_bytes import said
from tests.support.packet_strategies import packets

versions = st.sampled_from([V311, V5])
versions_and_packets = versions.flatmap(
    lambda version: st.tuples(st.just(version), packets(version))
)


@given(versions_and_packets)
def test_what_was_encoded_decodes_to_the_same(case: tuple[int, Packet]) -> None:
    version, packet = case
    data = encode(packet, version)
    assert packet_length(data, 0) == len(data)
    assert said(decode(data[0], data[header_length(data, 0) :], version)) == said(packet)


def _may_only_refuse(head: int, body: bytes, version: int) -> None:
    refusal = None
    try:
        packet = decode(head, body, version)
    except ProtocolError as error:
        refusal = error
    if refusal is None:
        again = encode(packet, version)
        assert packet_length(again, 0) == len(again)
    else:
        assert 0x80 <= refusal.reason <= 0xA2
        assert refusal.text


@given(st.integers(0, 255), st.binary(max_size=200), versions)
def test_any_bytes_are_read_or_refused(head: int, body: bytes, version: int) -> None:
    _may_only_refuse(head, body, version)


@given(versions_and_packets, st.data())
def test_a_packet_with_a_few_bytes_changed_is_read_or_refused(
    case: tuple[int, Packet], data: st.DataObject
) -> None:
    version, packet = case
    good = encode(packet, version)
    head = good[0]
    body = bytearray(good[header_length(good, 0) :])
    for _ in range(data.draw(st.integers(1, 3))):
        if body:
            body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    _may_only_refuse(head, bytes(body[: data.draw(st.integers(0, len(body)))]), version)


def _hostile(kind: str) -> tuple[int, bytes]:
    """Bodies of half a megabyte that are as dear to hold as a body of that kind can be."""
    size = 500_000
    if kind == "claims a huge property block":
        return 0x30, b"\0\1a\xff\xff\xff\x7f" + bytes(size)
    if kind == "tiny user properties":
        block = b"\x26\0\0\0\0" * (size // 5)
        length = len(block)
        prefix = bytes([length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14])
        return 0x30, b"\0\1a" + prefix + block
    return 0x82, b"\0\1\0" + b"\0\1a\0" * (size // 4)


@pytest.mark.parametrize(
    ("kind", "times"),
    [
        ("claims a huge property block", 2),
        ("tiny user properties", 2),
        ("tiny subscriptions", 100),
    ],
)
def test_memory_is_bounded_by_what_was_sent(kind: str, times: int) -> None:
    head, body = _hostile(kind)
    tracemalloc.start()
    try:
        _may_only_refuse(head, body, V5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(body) * times
