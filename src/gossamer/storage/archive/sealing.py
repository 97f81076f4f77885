"""Turns a log file that is complete into a Parquet file.

Every block's checksum is looked at here: what is sealed is what was written.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from gossamer.storage.archive.blocks import is_whole
from gossamer.storage.archive.columns import Rows
from gossamer.storage.archive.errors import ArchiveDamaged, ArchiveError
from gossamer.storage.archive.log import FileHeader, read_file_header
from gossamer.storage.archive.log_reading import READ_BYTES, headers, select
from gossamer.storage.archive.parts import Parts
from gossamer.storage.archive.schema import SCHEMA
from gossamer.storage.archive.sealed import (
    FORMAT,
    FORMAT_KEY,
    TIMES_KEY,
    TOPICS_KEY,
    UNFINISHED,
    sealed_name,
)
from gossamer.storage.archive.selection import Selection

ROW_GROUP_ROWS: Final = 131_072
ROW_GROUP_BYTES: Final = 64 * 1024 * 1024
# Longest list of topics in a footer; past it only the statistics help to skip a file.
MOST_TOPICS_BYTES: Final = 64 * 1024
COMPRESSION_LEVEL: Final = 3
# Columns whose values come again: a dictionary makes them small. Payloads seldom do.
WITH_DICTIONARY: Final = [
    name for name in SCHEMA.names if name not in ("offset", "time", "payload", "correlation_data")
]


def seal(
    log: Path,
    files: pa.fs.FileSystem,
    folder: str,
    is_wanted: Callable[[], bool] = lambda: True,
) -> str:
    """Writes the rows of a complete log as Parquet; the path of the file, which is there whole or
    not at all. `is_wanted` is asked before it gets its name."""
    data = log.read_bytes()
    header = read_file_header(data)
    rows = _Writing(files, f"{folder}/{log.stem}-{os.getpid()}{UNFINISHED}")
    try:
        next_offset = header.first
        for batch in _batches(log, data, header):
            rows.add(batch)
            next_offset += batch.num_rows
        if next_offset == header.first:
            raise ArchiveError(f"{log} has no rows to seal")
        rows.finish()
        if not is_wanted():
            raise ArchiveError("nobody waits for the sealed file any more")
    except BaseException:
        rows.abandon()
        raise
    path = f"{folder}/{sealed_name(header.first, next_offset - 1)}"
    files.move(rows.path, path)
    return path


def _batches(log: Path, data: bytes, start: FileHeader) -> Iterator[pa.RecordBatch]:
    everything = Selection()
    parts: list[Parts] = []
    size = 0
    end = start.size
    view = memoryview(data)
    for position, header in headers(data, start.size):
        if not is_whole(view, position, header):
            raise ArchiveDamaged(log, f"the rows from offset {header.first} on")
        parts.append(Parts(data, position, header))
        size += header.size
        end = position + header.size
        if size >= READ_BYTES:
            batch = select(Rows(start.broker, parts), everything)
            assert batch is not None
            yield batch
            parts, size = [], 0
    if end != len(data):
        raise ArchiveDamaged(log, "its end")
    if parts:
        batch = select(Rows(start.broker, parts), everything)
        assert batch is not None
        yield batch


class _Writing:
    """A Parquet file in the making."""

    def __init__(self, files: pa.fs.FileSystem, path: str) -> None:
        self.path = path
        self._files = files
        self._out = files.open_output_stream(path)
        self._writer = pq.ParquetWriter(
            self._out,
            SCHEMA,
            compression="zstd",
            compression_level=COMPRESSION_LEVEL,
            use_dictionary=WITH_DICTIONARY,
            write_statistics=True,
            write_page_checksum=True,
        )
        self._waiting: list[pa.RecordBatch] = []
        self._topics: set[str] | None = set()
        self._times: list[int] = []

    def add(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        times = batch.column("time").cast(pa.int64()).to_numpy()
        self._times = [
            min([int(times.min()), *self._times[:1]]),
            max([int(times.max()), *self._times[1:]]),
        ]
        if self._topics is not None:
            self._topics.update(batch.column("topic").unique().to_pylist())
            if sum(map(len, self._topics)) > MOST_TOPICS_BYTES:
                self._topics = None
        rows = sum(waiting.num_rows for waiting in self._waiting)
        if rows >= ROW_GROUP_ROWS or sum(w.nbytes for w in self._waiting) >= ROW_GROUP_BYTES:
            self._write_group()

    def finish(self) -> None:
        """Everything is written, and on disk where the filesystem is a local one."""
        self._write_group()
        footer = {FORMAT_KEY: str(FORMAT), TIMES_KEY: json.dumps(self._times)}
        if self._topics is not None:
            footer[TOPICS_KEY] = json.dumps(sorted(self._topics))
        self._writer.add_key_value_metadata(footer)
        self._writer.close()
        self._out.close()
        if isinstance(self._files, pa.fs.LocalFileSystem):
            descriptor = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def abandon(self) -> None:
        self._writer.close()
        self._out.close()
        if self._files.get_file_info(self.path).type == pa.fs.FileType.File:
            self._files.delete_file(self.path)

    def _write_group(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting)
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
            self._waiting = []
