"""One block's columns as they lie in its bytes: found, not yet decoded.

A block may hold a single row, and then this is most of what reading it costs: columns of numbers
stay bytes until those of many blocks are joined. They are copies, not views: a view is one more
object that the garbage collector walks over again and again.
"""

import struct

from gossamer.storage.archive.blocks import HEADER, SIZES, Header

TIME_BYTES = 8
NUMBER_BYTES = 4


class Parts:
    """`data` holds the block at `start`."""

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
