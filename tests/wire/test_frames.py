"""Where packets end: the fixed header, and a stream that arrives in any pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import (
    VARINT_MAX,
    PacketStream,
    encode_varint,
    frame,
    header_length,
    packet_length,
)
from gossamer.wire.reasons import MALFORMED_PACKET, PACKET_TOO_LARGE
from gossamer.wire.scalars import Reader


@pytest.mark.parametrize(
    ("data", "length"),
    [
        ("", 0),
        ("30", 0),
        ("30 00", 2),
        ("30 7f", 129),
        ("30 80", 0),
        ("30 80 01", 131),
        ("30 ff 7f", 3 + 16_383),
        ("30 ff ff", 0),
        ("30 80 80 01", 4 + 16_384),
        ("30 ff ff ff", 0),
        ("30 ff ff ff 7f", 5 + VARINT_MAX),
    ],
)
def test_length_is_known_once_the_header_is_there(data: str, length: int) -> None:
    assert packet_length(bytes.fromhex(data), 0) == length
    assert packet_length(b"\xff\xff" + bytes.fromhex(data), 2) == length


@pytest.mark.parametrize("data", ["30 80 00", "30 ff 80 00", "30 80 80 80 00", "30 ff ff ff 80"])
def test_a_length_too_long_or_padded_is_malformed(data: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        packet_length(bytes.fromhex(data), 0)
    assert caught.value.reason == MALFORMED_PACKET


@given(st.integers(0, VARINT_MAX))
def test_varints_come_back(number: int) -> None:
    data = encode_varint(number)
    reader = Reader(data, 0, len(data))
    assert reader.varint("number") == number
    assert reader.at == len(data)
    assert packet_length(b"\x30" + data, 0) == 1 + len(data) + number
    assert header_length(b"\x30" + data, 0) == 1 + len(data)


@pytest.mark.parametrize("number", [-1, VARINT_MAX + 1])
def test_what_does_not_fit_is_not_encoded(number: int) -> None:
    with pytest.raises(ValueError):
        encode_varint(number)


@given(
    st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=300)), max_size=8),
    st.lists(st.integers(1, 200), min_size=1),
)
def test_a_stream_gives_the_same_packets_in_whatever_pieces_it_comes(
    packets: list[tuple[int, bytes]], sizes: list[int]
) -> None:
    data = b"".join(frame(head, body) for head, body in packets)
    stream = PacketStream()
    read: list[tuple[int, bytes]] = []
    at = 0
    turn = 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        read += stream.feed(data[at : at + size])
        at += size
        turn += 1
    assert read == packets


def test_a_packet_over_the_limit_is_refused_by_its_header() -> None:
    stream = PacketStream(max_packet_size=100)
    assert stream.feed(frame(0x30, bytes(98))) == [(0x30, bytes(98))]
    with pytest.raises(ProtocolError) as caught:
        stream.feed(b"\x30\x63")
    assert caught.value.reason == PACKET_TOO_LARGE
