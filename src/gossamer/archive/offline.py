"""Looks at an archive's files without a broker, and mends them where they are damaged."""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from gossamer.archive.blocks import Header
from gossamer.archive.catalog import Catalog, Segment, find_logs, find_sealed, refuse_newer
from gossamer.archive.folder import (
    FOLDER_NAME,
    ArchiveDamaged,
    ArchiveError,
    ArchiveTooNew,
    lock,
    sync,
)
from gossamer.archive.log import FileHeader, LogFile, file_header, log_name, read_file_header
from gossamer.archive.reader import ArchiveReader
from gossamer.archive.recovery import Scan, log_of, whole_blocks
from gossamer.archive.schema import SCHEMA
from gossamer.archive.sealed_segment import SealedSegment, open_folder


def broker_folders(folder: Path) -> list[Path]:
    """The folders of single brokers: this one, or those in it or in the archive of a data folder.
    ArchiveError if there are none."""
    candidates = (folder, *sorted(folder.glob("*/")), *sorted(folder.glob(f"{FOLDER_NAME}/*/")))
    found = [one for one in candidates if _is_archive(one)]
    if not found:
        raise ArchiveError(
            f"there is no archive in {folder}: name the folder in [archive], or the broker's data "
            "folder"
        )
    return found


def _is_archive(folder: Path) -> bool:
    return any(folder.glob("*.log")) or any(folder.glob("*.parquet"))


def open_reader(folder: Path, uri: str = "") -> ArchiveReader:
    """Every whole row in the files of one broker. `uri` is where its sealed segments are, if not
    beside its logs."""
    segments: list[Segment] = [*_sealed(folder, uri)]
    covered = {segment.first for segment in segments}
    scans = [Scan(path) for path in find_logs(folder) if int(path.stem) not in covered]
    segments += [log_of(scan) for scan in scans]
    end = max((one.end for one in segments), default=0)
    # A catalog ends with a log that is written; here it is none, and is never opened.
    segments.append(LogFile(folder / log_name(end), end, 0, 0))
    segments = [one for one in segments if one.end > one.first or one is segments[-1]]
    return ArchiveReader(Catalog(segments), scans[0].header.broker if scans else folder.name)


def verify(folder: Path, uri: str = "") -> list[str]:
    """Reads everything; what is wrong, each with the file's name."""
    problems: list[str] = []
    ends: list[tuple[str, int, int]] = []
    for segment in _sealed(folder, uri):
        problems += _problems_of(segment)
        ends.append((segment.path, segment.first, segment.end))
    sealed = {first for _, first, _ in ends}
    for path in find_logs(folder):
        try:
            scan = Scan(path)
        except ArchiveDamaged as error:
            problems.append(str(error))
            continue
        if scan.end < scan.size:
            what = "in the middle" if scan.has_more else "at its end"
            problems.append(f"{path}: damaged {what}, after offset {scan.next - 1}")
        if scan.header.first not in sealed:
            ends.append((str(path), scan.header.first, scan.next))
    ends.sort(key=lambda one: one[1])
    problems += [
        f"{path}: ends before offset {end}, and the next segment begins with {first}"
        for (path, _, end), (_, first, _) in pairwise(ends)
        if end != first
    ]
    return problems


def repair(folder: Path, uri: str = "") -> list[str]:
    """Sets damaged files aside and keeps every whole row of damaged logs; what was done.

    The damaged rows leave a gap: readers are told that those offsets are lost.
    """
    done: list[str] = []
    descriptor = lock(folder)
    try:
        segments = _sealed(folder, uri)
        refuse_newer(find_logs(folder), [])
        for segment in segments:
            refuse_newer([], [segment])
        for segment in segments:
            if _problems_of(segment):
                kept = f"{segment.path}.damaged"
                segment.files.move(segment.path, kept)
                lost = f"the offsets {segment.first} to {segment.end - 1} are lost"
                done.append(f"{segment.path} is now {kept}: {lost}")
        for path in find_logs(folder):
            if _is_damaged(path):
                done.append(_split(path))
    finally:
        os.close(descriptor)
    return done


def _sealed(folder: Path, uri: str) -> list[SealedSegment]:
    files, place = open_folder(f"{uri.rstrip('/')}/{folder.name}" if uri else str(folder))
    return find_sealed(files, place)


def _problems_of(segment: SealedSegment) -> list[str]:
    try:
        segment.check_format()
        offsets = segment.first
        with segment.files.open_input_file(segment.path) as source:
            file = pq.ParquetFile(source, page_checksum_verification=True)
            if not file.schema_arrow.equals(SCHEMA):
                return [f"{segment.path}: its columns are not those of an archive"]
            for batch in file.iter_batches():
                if batch.column("offset")[0].as_py() != offsets:
                    return [f"{segment.path}: offset {offsets} is not where it should be"]
                offsets += batch.num_rows
    except ArchiveTooNew:
        raise
    except (OSError, pa.ArrowException, ArchiveError) as error:
        return [f"{segment.path}: cannot be read: {error}"]
    if offsets != segment.end:
        return [f"{segment.path}: has {offsets - segment.first} rows, and its name says otherwise"]
    return []


def _is_damaged(path: Path) -> bool:
    try:
        scan = Scan(path)
    except ArchiveDamaged:
        return True
    return scan.end < scan.size


def _split(path: Path) -> str:
    """A log for each stretch of whole blocks in the damaged one."""
    data = path.read_bytes()
    kept = path.with_name(f"{path.name}.damaged")
    os.rename(path, kept)
    try:
        header = read_file_header(data)
    except ValueError:
        header = FileHeader(path.parent.name, int(path.stem), int(path.stem), 0)
    rows = 0
    ended = header.ended
    for blocks in _stretches(data):
        first = blocks[0][1].first
        start = file_header(FileHeader(header.broker, first, ended, header.created))
        with (path.parent / log_name(first)).open("wb") as file:
            file.write(start)
            file.writelines(data[at : at + block.size] for at, block in blocks)
            os.fsync(file.fileno())
        ended = blocks[-1][1].next
        rows += sum(block.rows for _, block in blocks)
    sync(path.parent)
    return f"{path} is now {kept}; {rows} rows of it were saved"


def _stretches(data: bytes) -> Iterator[list[tuple[int, Header]]]:
    """Runs of whole blocks whose offsets follow each other, each with where it starts."""
    run: list[tuple[int, Header]] = []
    for position, header in whole_blocks(data, memoryview(data)):
        if run and header.first != run[-1][1].next:
            yield run
            run = []
        run.append((position, header))
    if run:
        yield run
