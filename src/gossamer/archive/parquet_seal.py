"""Turns a log file that is complete into a Parquet file, in a process of its own.

Every block's checksum is looked at here: what is sealed is what was written. Compressing takes the
processor for seconds; in the broker's process it would take the interpreter away from the event
loop again and again. A worker whose broker is gone gives its file no name: the next broker may have
sealed the same rows by then, and removed them again.

    python -m gossamer.archive.parquet_seal LOG FOLDER
"""

import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

import gossamer
from gossamer.archive.blocks import Parts, is_whole
from gossamer.archive.columns import Rows
from gossamer.archive.folder import ArchiveDamaged, ArchiveError, sync
from gossamer.archive.log import FileHeader, read_file_header
from gossamer.archive.reader import READ_BYTES, headers
from gossamer.archive.schema import SCHEMA
from gossamer.archive.sealed_segment import (
    FORMAT,
    FORMAT_KEY,
    TIMES_KEY,
    TOPICS_KEY,
    UNFINISHED,
    open_folder,
    sealed_name,
)

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
    rows = _ParquetOutput(files, f"{folder}/{log.stem}-{os.getpid()}{UNFINISHED}")
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
            yield Rows(start.broker, parts).batch(SCHEMA)
            parts, size = [], 0
    if end != len(data):
        raise ArchiveDamaged(log, "its end")
    if parts:
        yield Rows(start.broker, parts).batch(SCHEMA)


class _ParquetOutput:
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
            sync(self.path)

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


# Below every process that serves somebody.
NICENESS: Final = 10


class SealingWorker:
    """One process at a time; `stop` ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._changing = threading.Lock()

    def seal(self, log: Path, folder: str) -> str:
        """The path of the sealed file. ArchiveError says what went wrong."""
        with self._changing:
            if self._stopped:
                raise ArchiveError("sealing has been stopped")
            process = _start(log, folder)
            self._process = process
        out, errors = process.communicate()
        if process.returncode:
            lines = errors.strip().splitlines()
            raise ArchiveError(lines[-1] if lines else f"the worker ended by {process.returncode}")
        return out.strip()

    def stop(self) -> None:
        with self._changing:
            self._stopped = True
            if self._process is not None and self._process.poll() is None:
                self._process.terminate()


def _start(log: Path, folder: str) -> "subprocess.Popen[str]":
    package = str(Path(gossamer.__file__).parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "gossamer.archive.parquet_seal", str(log), folder],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def main(log: str, folder: str) -> None:
    os.nice(NICENESS)
    gc.disable()  # a short life, many small objects, and no cycles among them
    pa.set_cpu_count(1)
    parent = os.getppid()
    files, path = open_folder(folder)
    print(seal(Path(log), files, path, is_wanted=lambda: os.getppid() == parent))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (ArchiveError, OSError, pa.ArrowException) as error:
        sys.exit(str(error))
