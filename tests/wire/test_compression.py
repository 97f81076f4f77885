"""The compressed stream: whatever is given comes out, in parts; and what is none is refused."""

import random

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from gossamer.wire.compression import (
    COMPRESSED_AT_ONCE,
    READ_AT_ONCE,
    WINDOW_BITS,
    Compressor,
    Decompressor,
)
from gossamer.wire.errors import ProtocolError

NOISE = random.Random(7).randbytes(300_000)


def taken(compressor: Compressor) -> list[bytes]:
    found = []
    while compressor.waiting:
        found.append(compressor.take())
    return found


def read(decompressor: Decompressor) -> bytes:
    found = []
    while decompressor.has_more():
        part = decompressor.read()
        assert len(part) <= READ_AT_ONCE
        found.append(part)
    return b"".join(found)


@given(st.lists(st.binary(max_size=200) | st.sampled_from([b"a" * 70_000, b"reading;" * 40])))
def test_each_piece_can_be_read_when_it_was_written(pieces: list[bytes]) -> None:
    compressor, decompressor = Compressor(b""), Decompressor()
    for piece in pieces:
        compressor.give(piece)
        for part in taken(compressor):
            decompressor.feed(part)
        assert read(decompressor) == piece
    assert compressor.saved == decompressor.saved


@given(st.integers(1, 50))
def test_it_may_arrive_in_any_pieces(size: int) -> None:
    compressor, decompressor = Compressor(b""), Decompressor()
    text = b"".join(b"sensor-%d is at %d degrees;" % (n % 7, n) for n in range(200))
    compressor.give(text)
    compressed = b"".join(taken(compressor))
    found = b""
    for start in range(0, len(compressed), size):
        decompressor.feed(compressed[start : start + size])
        found += read(decompressor)
    assert found == text


@pytest.mark.parametrize("size", [COMPRESSED_AT_ONCE + more for more in (-1, 0, 1)] + [300_000])
def test_what_is_long_is_compressed_in_parts(size: int) -> None:
    compressor, decompressor = Compressor(b""), Decompressor()
    compressor.give(NOISE[:size])
    compressor.give(b"and the next")
    parts = taken(compressor)
    assert len(parts) == -(-size // COMPRESSED_AT_ONCE) + 1
    for part in parts:
        decompressor.feed(part)
    assert read(decompressor) == NOISE[:size] + b"and the next"


def test_a_bomb_is_read_in_parts() -> None:
    decompressor = Decompressor()
    bomb = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: WINDOW_BITS})
    decompressor.feed(bomb.compress(bytes(100_000_000), bomb.FLUSH_BLOCK))
    for _ in range(10):
        assert decompressor.read() == bytes(READ_AT_ONCE)
        assert decompressor.has_more()


def framed(data: bytes, window_bits: int = WINDOW_BITS) -> bytes:
    return bytes(zstd.compress(data, options={zstd.CompressionParameter.window_log: window_bits}))


@pytest.mark.parametrize(
    "compressed",
    [
        b"\x30\x05\x00\x01a12",  # a packet
        b"\x28\xb5\x2f\xfd" + b"\xff" * 20,
        framed(b"all there is"),
        framed(NOISE, WINDOW_BITS + 1),
    ],
    ids=["plain", "damaged", "ended", "too much to remember"],
)
def test_what_is_no_such_stream_is_refused(compressed: bytes) -> None:
    decompressor = Decompressor()
    decompressor.feed(compressed)
    with pytest.raises(ProtocolError, match="compressed"):
        read(decompressor)
