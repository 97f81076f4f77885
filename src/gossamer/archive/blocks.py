"""Blocks of rows as bytes, and back: what one transaction archived, by column, behind a checked
header.

Numbers are little-endian. A block is its header, its sizes, its columns of numbers (the widest
first), its texts and its payloads, filled up to a multiple of eight. The checksum covers everything
after itself. Nothing here knows of Arrow: writing a block must cost the broker next to nothing.
"""

import struct
import sys
import zlib
from array import array
from collections.abc import Iterable
from typing import Final

import numpy as np

from gossamer.archive.collector import Block

MAGIC: Final = b"GBLK"

# magic, checksum, length of the body, first offset, least and greatest time, rows, flags
HEADER: Final = struct.Struct("<4sIQQqqII")
CHECKED: Final = 8  # where the checksum's range starts
# runs, topics, sources, extras, bytes of all payloads
SIZES: Final = struct.Struct("<IIIIQ")
ALIGNMENT: Final = 8

# The store's transaction of the same number decides whether this block counts.
JOINT: Final = 0x01
# The next block belongs to the same transaction.
CONTINUED: Final = 0x02


class Header:
    """What can be known of a block without reading its body."""

    __slots__ = ("checksum", "first", "flags", "length", "max_time", "min_time", "rows")

    def __init__(self, data: bytes | memoryview, position: int = 0) -> None:
        """ValueError if no block starts here."""
        fields: tuple[bytes, int, int, int, int, int, int, int]
        fields = HEADER.unpack_from(data, position)
        magic, self.checksum, self.length, self.first = fields[:4]
        self.min_time, self.max_time, self.rows, self.flags = fields[4:]
        if magic != MAGIC:
            raise ValueError("no block starts here")

    @property
    def size(self) -> int:
        """Of the whole block."""
        return HEADER.size + self.length

    @property
    def next(self) -> int:
        """The offset after its last row."""
        return self.first + self.rows


def encode(block: Block, first: int, *, is_joint: bool, is_last: bool) -> list[bytes]:
    """The block as pieces to be written one after the other."""
    rows = block.rows
    lengths, payloads = _payloads(block)
    topics = block.topics
    publishers = [client.encode() for client, _ in block.sources]
    users = [user.encode() for _, user in block.sources]
    texts = [*topics, *publishers, *users, *block.extras]
    pieces = [
        SIZES.pack(
            len(block.run_starts), len(topics), len(publishers), len(block.extras), block.size
        ),
        _numbers("q", block.run_times),
        _numbers("I", lengths),
        _numbers("I", block.run_starts),
        _numbers("I", block.run_topics),
        _numbers("I", block.run_sources),
        _numbers("I", block.extra_rows),
        _numbers("I", map(len, texts)),
        bytes(block.run_flags),
        *texts,
    ]
    head = b"".join(pieces)
    body = b"".join(payloads)
    length = len(head) + len(body)
    fill = bytes(-(HEADER.size + length) % ALIGNMENT)
    length += len(fill)
    times = block.run_times
    flags = (JOINT if is_joint else 0) | (0 if is_last else CONTINUED)
    unchecked = HEADER.pack(MAGIC, 0, length, first, min(times), max(times), rows, flags)
    checksum = zlib.crc32(fill, zlib.crc32(body, zlib.crc32(head, zlib.crc32(unchecked[CHECKED:]))))
    header = HEADER.pack(MAGIC, checksum, length, first, min(times), max(times), rows, flags)
    return [header + head, body, fill] if fill else [header + head, body]


def is_whole(data: bytes | memoryview, position: int, header: Header) -> bool:
    """Whether the block there is as it was written."""
    end = position + header.size
    return end <= len(data) and zlib.crc32(data[position + CHECKED : end]) == header.checksum


def _payloads(block: Block) -> tuple[list[int], list[bytes]]:
    """How long each is, and all of them in order; those of packets of one size are one piece."""
    lengths: list[int] = []
    payloads: list[bytes] = []
    at = 0
    packets = zip(block.packet_pieces, block.packet_sizes, block.packet_headers, strict=True)
    for index, size, header in packets:
        singles = block.pieces[at:index]
        lengths += map(len, singles)
        payloads += singles
        piece = block.pieces[index]
        lengths += [size - header] * (len(piece) // size)
        # By numpy, as long as the rows are: a slice of each packet would cost several times that.
        payloads.append(np.frombuffer(piece, np.uint8).reshape(-1, size)[:, header:].tobytes())
        at = index + 1
    singles = block.pieces[at:]
    lengths += map(len, singles)
    return lengths, payloads + singles


def _numbers(kind: str, values: Iterable[int]) -> bytes:
    numbers = array(kind, values)
    if sys.byteorder != "little":
        numbers.byteswap()
    return numbers.tobytes()


TIME_BYTES = 8
NUMBER_BYTES = 4


class Parts:
    """One block's columns as they lie in its bytes: found, not yet decoded. `data` holds the block
    at `start`.

    A block may hold a single row, and then this is most of what reading it costs: columns of
    numbers stay bytes until those of many blocks are joined. They are copies, not views: a view is
    one more object that the garbage collector walks over again and again.
    """

    __slots__ = (
        "extra_rows",
        "extras",
        "first",
        "lengths",
        "payloads",
        "publishers",
        "rows",
        "run_flags",
        "run_sources",
        "run_starts",
        "run_times",
        "run_topics",
        "runs",
        "topics",
        "users",
    )

    def __init__(self, data: bytes, start: int, header: Header) -> None:
        self.first = header.first
        self.rows = header.rows
        at = start + HEADER.size
        runs, topics, sources, extras, payload_bytes = SIZES.unpack_from(data, at)
        self.runs: int = runs
        at += SIZES.size
        run_bytes = NUMBER_BYTES * runs
        self.run_times = data[at : (at := at + TIME_BYTES * runs)]
        self.lengths = data[at : (at := at + NUMBER_BYTES * self.rows)]
        self.run_starts = data[at : (at := at + run_bytes)]
        self.run_topics = data[at : (at := at + run_bytes)]
        self.run_sources = data[at : (at := at + run_bytes)]
        self.extra_rows = data[at : (at := at + NUMBER_BYTES * extras)]
        texts = topics + 2 * sources + extras
        sizes: tuple[int, ...] = struct.unpack_from(f"<{texts}I", data, at)
        at += NUMBER_BYTES * texts
        self.run_flags = data[at : (at := at + runs)]
        found: list[bytes] = []
        for size in sizes:
            found.append(data[at : (at := at + size)])
        self.topics = found[:topics]
        self.publishers = found[topics : topics + sources]
        self.users = found[topics + sources : topics + 2 * sources]
        self.extras = found[topics + 2 * sources :]
        self.payloads = data[at : at + payload_bytes]
