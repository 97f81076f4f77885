"""Sealed segments: Parquet files on a local folder or any filesystem that pyarrow knows.

A file's name says which offsets it holds; its footer has what lets a reader skip it, and its row
groups have statistics on offset, time and topic.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from gossamer.archive.folder import ArchiveError, ArchiveTooNew
from gossamer.archive.log import DIGITS
from gossamer.archive.row_group import RowGroup
from gossamer.archive.selection import Selection

SUFFIX: Final = ".parquet"
UNFINISHED: Final = ".unfinished"
_NAME: Final = re.compile(rf"(\d{{{DIGITS}}})-(\d{{{DIGITS}}})\.parquet")

# The footer's entries of our own.
FORMAT_KEY: Final = b"gossamer.format"  # of the columns and the footer; 1 where it is not stated
FORMAT: Final = 1
TIMES_KEY: Final = b"gossamer.times"  # JSON: least and greatest, in microseconds
TOPICS_KEY: Final = b"gossamer.topics"  # JSON: every topic, where that is not too long


def sealed_name(first: int, last: int) -> str:
    return f"{first:0{DIGITS}}-{last:0{DIGITS}}{SUFFIX}"


def parse_name(name: str) -> tuple[int, int] | None:
    """The first and the last offset; None for a file that is none of ours."""
    found = _NAME.fullmatch(name)
    return (int(found[1]), int(found[2])) if found is not None else None


class SealedSegment:
    """One Parquet file; its footer is read when it is first needed."""

    def __init__(
        self, files: pa.fs.FileSystem, path: str, first: int, last: int, size: int
    ) -> None:
        self.files = files
        self.path = path
        self.first = first
        self.end = last + 1
        self.size = size
        self._footer: Any = None
        self._starts: list[int] = []

    @property
    def footer(self) -> Any:
        if self._footer is None:
            try:
                with self.files.open_input_file(self.path) as file:
                    self._footer = pq.read_metadata(file)
            except FileNotFoundError:
                raise
            except (OSError, pa.ArrowException) as error:
                raise ArchiveError(f"{self.path} cannot be read: {error}") from error
            self.check_format()
        return self._footer

    def check_format(self) -> None:
        """ArchiveTooNew if a later version has sealed it."""
        stated = (self.footer.metadata or {}).get(FORMAT_KEY, b"1")
        if not stated.isdigit() or int(stated) > FORMAT:
            found = int(stated) if stated.isdigit() else 0
            self._footer = None
            raise ArchiveTooNew(self.path, found, FORMAT)

    @property
    def times(self) -> tuple[int, int]:
        """The least and the greatest."""
        least, greatest = json.loads(self.footer.metadata[TIMES_KEY])
        return int(least), int(greatest)

    @property
    def group_starts(self) -> list[int]:
        """The first offset of each row group."""
        if not self._starts:
            footer = self.footer
            where = footer.schema.to_arrow_schema().names.index("offset")
            self._starts = [
                int(footer.row_group(number).column(where).statistics.min)
                for number in range(footer.num_row_groups)
            ]
        return self._starts

    def may_have(self, selection: Selection) -> bool:
        """False if no row of it can be wanted."""
        if selection.has_times and not selection.meets_times(*self.times):
            return False
        if selection.has_topics:
            topics = self.footer.metadata.get(TOPICS_KEY)
            return topics is None or any(map(selection.wants_topic, json.loads(topics)))
        return True

    def read(self, selection: Selection) -> Iterator[pa.RecordBatch]:
        """The selected rows, in order."""
        if not self.may_have(selection):
            return
        groups = self.row_groups(selection)
        if not groups:
            return
        needed = needed_columns(selection)
        # Topics are asked about once each: they come as numbers of distinct ones.
        coded = ["topic"] if selection.has_topics else None
        with self.files.open_input_file(self.path) as source:
            file = pq.ParquetFile(source, metadata=self.footer, read_dictionary=coded)
            for number in groups:
                for batch in RowGroup(file, number).batches(needed):
                    found = _select(batch, selection)
                    if found is not None:
                        yield found

    def row_groups(self, selection: Selection) -> list[int]:
        """Those that can have wanted rows."""
        footer = self.footer
        names = footer.schema.to_arrow_schema().names
        where = {name: names.index(name) for name in ("offset", "time", "topic")}
        return [
            number
            for number in range(footer.num_row_groups)
            if _may_have(footer.row_group(number), where, selection)
        ]


def _may_have(group: Any, where: dict[str, int], selection: Selection) -> bool:
    offsets = group.column(where["offset"]).statistics
    if offsets.min >= selection.end or offsets.max < selection.start:
        return False
    times = group.column(where["time"]).statistics
    if selection.has_times and not selection.meets_times(_micros(times.min), _micros(times.max)):
        return False
    topics = group.column(where["topic"]).statistics
    return topics is None or not topics.has_min_max or selection.may_want(topics.min, topics.max)


def _micros(moment: Any) -> int:
    return int(pa.scalar(moment, pa.timestamp("us", "UTC")).value)


def needed_columns(selection: Selection) -> list[str]:
    """Those asked for and those that decide."""
    needed = [*selection.schema.names, "offset"]
    needed += ["topic"] if selection.has_topics else []
    needed += ["time"] if selection.has_times else []
    return list(dict.fromkeys(needed))


def _select(batch: pa.RecordBatch, selection: Selection) -> pa.RecordBatch | None:
    offsets = batch.column("offset").to_numpy()
    low = int(np.searchsorted(offsets, selection.start))
    high = int(np.searchsorted(offsets, selection.end))
    batch = batch.slice(low, high - low)
    codes, names, times = None, [], None
    if selection.has_topics:
        topics = batch.column("topic").dictionary_encode()
        codes, names = topics.indices.to_numpy(), topics.dictionary.to_pylist()
    if selection.has_times:
        times = batch.column("time").cast(pa.int64()).to_numpy()
    mask = selection.mask(codes, names, times)
    if not batch.num_rows or (mask is not None and not mask.any()):
        return None
    if mask is not None:
        batch = batch.filter(pa.array(mask))
    columns = [batch.column(field.name).cast(field.type) for field in selection.schema]
    return pa.RecordBatch.from_arrays(columns, schema=selection.schema)


def open_folder(uri: str) -> tuple[pa.fs.FileSystem, str]:
    """Where sealed segments live: the filesystem and the folder in it that a URI or a local path
    names."""
    if "://" not in uri:
        return pa.fs.LocalFileSystem(), str(Path(uri).absolute())
    try:
        files, folder = pa.fs.FileSystem.from_uri(uri)
    except (OSError, pa.ArrowException) as error:
        raise ArchiveError(f"{uri} cannot be used for sealed segments: {error}") from error
    return files, folder.rstrip("/")
