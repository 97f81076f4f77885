"""Sealed segments as files that a reader may take past the replay service.

Whoever may read a file may read all of it, so the service names files only to a login that may
read everything, positions too. Whether a file can be reached from here, and is the one that was
meant, is looked up: another machine may have another archive under the same path.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import pyarrow as pa

from gossamer.archive.folder import ArchiveError, below
from gossamer.archive.sealed_segment import SealedSegment, open_folder

# What a reader says of files, if it does not name their place: look for them where the service
# says that they are, or leave them alone.
AUTO: Final = "auto"
NEVER: Final = "never"
# The place of a file that cannot be reached, as far as is known.
NOWHERE: Final = ""


@dataclass(frozen=True)
class SegmentFile:
    """One of them: the rows with offsets in [first, end)."""

    place: str  # its folder: a local path or a URI
    name: str
    first: int
    end: int
    size: int
    times: tuple[int, int]  # the least and the greatest, in microseconds
    groups: tuple[int, ...]  # the first offsets of its row groups

    @property
    def path(self) -> str:
        return below(self.place, self.name)

    @property
    def is_local(self) -> bool:
        return "://" not in self.place

    def pieces(self, rows: int) -> Iterator[tuple[int, int]]:
        """Its offsets in ranges of whole row groups, of so many rows or a little more."""
        start = self.first
        for group in self.groups:
            if group - start >= rows:
                yield start, group
                start = group
        yield start, self.end

    def open(self) -> SealedSegment:
        files, folder = open_folder(self.place)
        return SealedSegment(files, f"{folder}/{self.name}", self.first, self.end - 1, self.size)

    def find(self) -> SealedSegment | None:
        """The file, if this process can read it and it is the one that was told of."""
        if self.place == NOWHERE or (self.is_local and not os.access(self.path, os.R_OK)):
            return None
        try:
            segment = self.open()
            is_this = segment.times == self.times and segment.group_starts == list(self.groups)
        except (OSError, ArchiveError, pa.ArrowException, KeyError, ValueError):
            return None
        return segment if is_this else None


def files_told(answer: Mapping[str, Any], files: str) -> tuple[SegmentFile, ...]:
    """Of an answer to `describe`, in the order of their offsets. None where the login may not read
    everything, and none from an earlier version. `files` is `AUTO`, `NEVER`, or the place under
    which the brokers' folders are found: of an object store it takes more than a name to know
    whether it can be reached."""
    told = answer.get("files")
    if files == NEVER or not isinstance(told, str):
        return ()
    place = below(files, str(answer["broker"]))
    if files == AUTO:
        place = NOWHERE if "://" in told else told
    return tuple(
        SegmentFile(
            place,
            str(segment["file"]),
            int(segment["first"]),
            int(segment["last"]) + 1,
            int(segment["bytes"]),
            (int(segment["min_time"]), int(segment["max_time"])),
            tuple(map(int, segment["groups"])),
        )
        for segment in answer["segments"]
        if "file" in segment
    )


def shown_place(uri: str) -> str:
    """A place as others are told of it: without what may be secret in it."""
    if "://" not in uri:
        return uri
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
