"""Blocks to Arrow: many blocks become one record batch, and only the columns that are asked for.

The work for a row is done by numpy and Arrow; Python's is for each block, each distinct topic and
publisher, and each message that has properties.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from gossamer.geo.errors import GlpError
from gossamer.geo.glp import POSITION, PREFIX
from gossamer.geo.glp import parse as parse_glp
from gossamer.session.archive import RETAIN_FLAG
from gossamer.storage.archive.blocks import HEADER, SIZES, Header
from gossamer.storage.archive.schema import SCHEMA
from gossamer.wire.packets import PUBLISH
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import read_properties
from gossamer.wire.scalars import Reader

Number = np.dtype("<u4")
Time = np.dtype("<i8")

# Names that brokers use among themselves; no client sees them, and no reader does.
OWN_PREFIX: Final = "gossamer-"
ANY_NUMBER: Final = 1 << 30


class Parts:
    """One block's columns as they lie in its bytes."""

    __slots__ = (
        "extra_lengths",
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
        "topics",
        "users",
    )

    def __init__(self, data: memoryview, header: Header) -> None:
        """`data` is the whole block."""
        self.first = header.first
        self.rows = header.rows
        runs, topics, sources, extras = SIZES.unpack_from(data, HEADER.size)
        at = _Cursor(data, HEADER.size + SIZES.size)
        self.run_times = at.numbers(Time, runs)
        self.lengths = at.numbers(Number, self.rows)
        self.run_starts = at.numbers(Number, runs)
        self.run_topics = at.numbers(Number, runs)
        self.run_sources = at.numbers(Number, runs)
        self.extra_rows = at.numbers(Number, extras)
        extra_lengths = at.numbers(Number, extras).tolist()
        topic_lengths = at.numbers(Number, topics).tolist()
        publisher_lengths = at.numbers(Number, sources).tolist()
        user_lengths = at.numbers(Number, sources).tolist()
        self.run_flags = at.numbers(np.dtype("u1"), runs)
        self.topics = at.pieces(topic_lengths)
        self.publishers = at.pieces(publisher_lengths)
        self.users = at.pieces(user_lengths)
        self.extras = at.pieces(extra_lengths)
        self.payloads = data[at.position : at.position + int(self.lengths.sum(dtype=np.int64))]

    def run_lengths(self) -> Any:
        return np.diff(self.run_starts, append=np.array([self.rows], Number)).astype(np.int64)


class _Cursor:
    def __init__(self, data: memoryview, position: int) -> None:
        self.data = data
        self.position = position

    def numbers(self, kind: "np.dtype[Any]", count: int) -> Any:
        found = np.frombuffer(self.data, kind, count, self.position)
        self.position += count * kind.itemsize
        return found

    def pieces(self, lengths: list[int]) -> list[bytes]:
        found = []
        for length in lengths:
            found.append(bytes(self.data[self.position : self.position + length]))
            self.position += length
        return found


class Rows:
    """The rows of several consecutive blocks; a column is made when it is asked for."""

    def __init__(self, broker: str, parts: Sequence[Parts]) -> None:
        self._broker = broker
        self._parts = parts
        self._counts = _joined([part.run_lengths() for part in parts])
        self.first = parts[0].first
        self.count = sum(part.rows for part in parts)
        self._properties: _Extras | None = None

    def topic_codes(self) -> tuple[Any, list[str]]:
        """For each row the number of its topic, and the topics."""
        codes, names = self._coded(
            [part.topics for part in self._parts], [part.run_topics for part in self._parts]
        )
        return codes, [name.decode() for name in names]

    def times(self) -> Any:
        """Microseconds."""
        return np.repeat(_joined([part.run_times for part in self._parts]), self._counts)

    def offsets(self) -> Any:
        return np.arange(self.first, self.first + self.count, dtype=np.int64)

    def column(self, name: str) -> pa.Array:
        if name in _COLUMNS:
            return _COLUMNS[name](self)
        if self._properties is None:
            self._properties = _Extras(self._parts)
        return self._properties.column(name, self.count)

    def _broker_column(self) -> pa.Array:
        return pa.repeat(pa.scalar(self._broker, pa.string()), self.count)

    def _topic_column(self) -> pa.Array:
        codes, names = self.topic_codes()
        return decoded(codes, names)

    def _payload_column(self) -> pa.Array:
        ends = np.zeros(self.count + 1, np.int32)
        np.cumsum(_joined([part.lengths for part in self._parts]), out=ends[1:])
        parts = self._parts
        data = parts[0].payloads if len(parts) == 1 else b"".join(part.payloads for part in parts)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.binary(), self.count, buffers)

    def _flags(self) -> Any:
        return np.repeat(_joined([part.run_flags for part in self._parts]), self._counts)

    def _source_column(self, names: list[list[bytes]]) -> pa.Array:
        codes, found = self._coded(names, [part.run_sources for part in self._parts])
        return decoded(codes, [name.decode() or None for name in found])

    def _coded(self, names: list[list[bytes]], codes: list[Any]) -> tuple[Any, list[bytes]]:
        """The blocks' own numbers for their names, as numbers for all names together."""
        known: dict[bytes, int] = {}
        common = [
            np.array([known.setdefault(name, len(known)) for name in own], np.int32)[code]
            for own, code in zip(names, codes, strict=True)
        ]
        return np.repeat(_joined(common), self._counts), list(known)


_COLUMNS: Final[dict[str, Callable[[Rows], pa.Array]]] = {
    "broker": Rows._broker_column,
    "offset": lambda rows: pa.array(rows.offsets()),
    "time": lambda rows: pa.array(rows.times()).cast(SCHEMA.field("time").type),
    "topic": Rows._topic_column,
    "payload": Rows._payload_column,
    "qos": lambda rows: pa.array((rows._flags() & 3).astype(np.int8)),
    "retain": lambda rows: pa.array(rows._flags() & RETAIN_FLAG != 0),
    "publisher": lambda rows: rows._source_column([part.publishers for part in rows._parts]),
    "user": lambda rows: rows._source_column([part.users for part in rows._parts]),
}


class _Extras:
    """The columns that only messages with properties have values in."""

    def __init__(self, parts: Sequence[Parts]) -> None:
        rows = []
        records = []
        base = 0
        for part in parts:
            if part.extras:
                rows.append(part.extra_rows.astype(np.int64) + base)
                records += [_record(extra) for extra in part.extras]
            base += part.rows
        self._rows = _joined(rows) if rows else None
        self._records = records

    def column(self, name: str, count: int) -> pa.Array:
        kind = SCHEMA.field(name).type
        if self._rows is None:
            return pa.nulls(count, kind)
        values = pa.array([record.get(name) for record in self._records], kind)
        where = np.full(count, -1, np.int64)
        where[self._rows] = np.arange(len(self._records))
        return values.take(pa.array(where, mask=where < 0))


def _record(extra: bytes) -> dict[str, Any]:
    reader = Reader(extra, 0, len(extra))
    properties = read_properties(reader, PUBLISH, ANY_NUMBER)
    return {} if properties is None else _fields(properties)


def _fields(properties: Properties) -> dict[str, Any]:
    geo = [pair for pair in properties.user if pair[0].startswith(PREFIX)]
    plain = {
        name: value for name, value in properties.user if not name.startswith((PREFIX, OWN_PREFIX))
    }
    fields: dict[str, Any] = {
        "content_type": properties.content_type,
        "format_indicator": properties.payload_format,
        "response_topic": properties.response_topic,
        "correlation_data": properties.correlation_data,
        "expiry": properties.message_expiry,
        "user_properties": list(plain.items()) or None,
    }
    if geo:
        fields["glp"] = json.dumps(geo, ensure_ascii=False)
        fields["lat"], fields["lon"] = _position(geo)
    return fields


def _position(geo: list[tuple[str, str]]) -> tuple[float | None, float | None]:
    """Where the publisher says it is; nowhere, if that cannot be read."""
    said = [pair for pair in geo if pair[0] == POSITION]
    try:
        glp = parse_glp(said)
    except GlpError:
        return None, None
    if glp is None or glp.position is None:
        return None, None
    return glp.position.lat, glp.position.lon


def decoded(codes: Any, names: Sequence[str | None]) -> pa.Array:
    """Numbers of names as the names."""
    return pa.array(names, pa.string()).take(pa.array(codes))


def _joined(arrays: Sequence[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
