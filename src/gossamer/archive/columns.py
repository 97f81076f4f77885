"""Blocks to Arrow: many blocks become one record batch, and only the columns that are asked for.

The work for a row is done by numpy and Arrow; Python's is for each block, each distinct topic and
publisher, and each message that has properties.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from gossamer.archive.blocks import Parts
from gossamer.archive.schema import SCHEMA
from gossamer.broker.archive_port import RETAIN_FLAG
from gossamer.geo.areas import GlpError
from gossamer.geo.glp import POSITION, PREFIX
from gossamer.geo.glp import parse as parse_glp
from gossamer.wire.packets import PUBLISH
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import read_properties
from gossamer.wire.scalars import Reader

NUMBER: Final = np.dtype("<u4")
TIME: Final = np.dtype("<i8")
FLAGS: Final = np.dtype("u1")

# Names that brokers use among themselves; no client sees them, and no reader does.
OWN_PREFIX: Final = "gossamer-"
ANY_NUMBER: Final = 1 << 30


class Rows:
    """The rows of several consecutive blocks; a column is made when it is asked for."""

    def __init__(self, broker: str, parts: Sequence[Parts]) -> None:
        self._broker = broker
        self._parts = parts
        self.first = parts[0].first
        self.count = sum(part.rows for part in parts)
        # How many runs, and which first row, each block has.
        self._runs = np.array([part.runs for part in parts])
        self._bases = _bases([part.rows for part in parts])
        starts = _joined([part.run_starts for part in parts], NUMBER).astype(np.int64)
        starts += np.repeat(self._bases, self._runs)
        self._counts = np.diff(starts, append=self.count)
        self._properties: _Extras | None = None

    def topic_codes(self) -> tuple[Any, list[str]]:
        """For each row the number of its topic, and the topics."""
        codes, names = self._coded(
            [part.topics for part in self._parts], [part.run_topics for part in self._parts]
        )
        return codes, [name.decode() for name in names]

    def times(self) -> Any:
        """Microseconds."""
        return np.repeat(_joined([part.run_times for part in self._parts], TIME), self._counts)

    def offsets(self) -> Any:
        return np.arange(self.first, self.first + self.count, dtype=np.int64)

    def batch(self, schema: pa.Schema) -> pa.RecordBatch:
        """All rows, as these columns."""
        columns = [self.column(name) for name in schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def column(self, name: str) -> pa.Array:
        if name in _COLUMNS:
            return _COLUMNS[name](self)
        if self._properties is None:
            self._properties = _Extras(self._parts, self._bases)
        return self._properties.column(name, self.count)

    def _broker_column(self) -> pa.Array:
        return pa.repeat(pa.scalar(self._broker, pa.string()), self.count)

    def _topic_column(self) -> pa.Array:
        codes, names = self.topic_codes()
        return decoded(codes, names)

    def _payload_column(self) -> pa.Array:
        ends = np.zeros(self.count + 1, np.int32)
        np.cumsum(_joined([part.lengths for part in self._parts], NUMBER), out=ends[1:])
        parts = self._parts
        data = parts[0].payloads if len(parts) == 1 else b"".join(part.payloads for part in parts)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.binary(), self.count, buffers)

    def _flags(self) -> Any:
        return np.repeat(_joined([part.run_flags for part in self._parts], FLAGS), self._counts)

    def _source_column(self, names: list[list[bytes]]) -> pa.Array:
        codes, found = self._coded(names, [part.run_sources for part in self._parts])
        return decoded(codes, [name.decode() or None for name in found])

    def _coded(self, names: list[list[bytes]], codes: list[bytes]) -> tuple[Any, list[bytes]]:
        """The blocks' own numbers for their names, as numbers for all names together."""
        known: dict[bytes, int] = {}
        common = np.array(
            [known.setdefault(name, len(known)) for own in names for name in own], np.int32
        )
        own_bases = np.repeat(_bases([len(own) for own in names]), self._runs)
        return np.repeat(common[_joined(codes, NUMBER) + own_bases], self._counts), list(known)


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

    def __init__(self, parts: Sequence[Parts], bases: Any) -> None:
        rows = _joined([part.extra_rows for part in parts], NUMBER).astype(np.int64)
        self._rows = rows + np.repeat(bases, [len(part.extras) for part in parts])
        self._records = [_record(extra) for part in parts for extra in part.extras]

    def column(self, name: str, count: int) -> pa.Array:
        kind = SCHEMA.field(name).type
        if not self._records:
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


def _joined(columns: Sequence[bytes], kind: "np.dtype[Any]") -> Any:
    """The numbers of all blocks, one after the other."""
    return np.frombuffer(columns[0] if len(columns) == 1 else b"".join(columns), kind)


def _bases(sizes: Sequence[int]) -> Any:
    """Where each block's share begins among those of all."""
    ends = np.cumsum(sizes, dtype=np.int64)
    return ends - sizes
