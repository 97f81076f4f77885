"""Sealed segments on an object store: a server that speaks S3, on this machine."""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.fs
import pytest

pytest.importorskip("moto.server")

from moto.server import ThreadedMotoServer

from gossamer.archive.archive import Archive
from gossamer.archive.catalog import now_micros
from gossamer.archive.folder import ArchiveError
from gossamer.archive.sealed_segment import SealedSegment, open_folder
from gossamer.archive.segment_lifecycle import Upkeep
from tests.support.archives import BROKER, Row, keep_up, read, settings, write
from tests.support.object_store import ENVIRONMENT

BUCKET = "lake"
OLD = 1_000_000  # microseconds: long ago


@pytest.fixture(scope="module")
def uri() -> Iterator[str]:
    before = dict(os.environ)
    os.environ.update(ENVIRONMENT)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    options = f"scheme=http&endpoint_override=127.0.0.1%3A{port}&region=us-east-1"
    files, _ = open_folder(f"s3://{BUCKET}?{options}&allow_bucket_creation=true")
    files.create_dir(BUCKET)
    yield f"s3://{BUCKET}/archive?{options}"
    server.stop()
    os.environ.clear()
    os.environ.update(before)


def names(uri: str) -> list[str]:
    files, folder = open_folder(uri)
    selector = pa.fs.FileSelector(f"{folder}/{BROKER}", allow_not_found=True)
    return sorted(info.base_name for info in files.get_file_info(selector))


@pytest.mark.processes
def test_a_worker_seals_into_a_bucket(uri: str, tmp_path: Path) -> None:
    archive = Archive(settings(tmp_path, sealed_uri=uri))
    write(archive, [Row(topic=f"t/{number % 3}", payload=b"%d" % number) for number in range(500)])
    before = read(archive)
    archive.roll(is_forced=True)
    Upkeep(archive).round()
    write(archive, [Row(payload=b"newer")])
    assert names(uri) == [f"{0:020}-{499:020}.parquet"]
    assert not list((tmp_path / BROKER).glob("*.parquet"))
    assert isinstance(archive.catalog.segments[0], SealedSegment)
    assert read(archive)[:500] == before
    assert len(read(archive, ["t/1"])) == 167
    archive.close()
    again = Archive(settings(tmp_path, sealed_uri=uri))
    assert [row["offset"] for row in read(again)] == list(range(501))
    again.close()


def test_retention_removes_objects(uri: str, tmp_path: Path) -> None:
    elsewhere = uri.replace("/archive?", "/other?")
    archive = Archive(settings(tmp_path, sealed_uri=elsewhere, retention_seconds=3600.0))
    write(archive, [Row(time=OLD)])
    keep_up(archive)
    write(archive, [Row(time=now_micros())])
    keep_up(archive)
    assert names(elsewhere) == [f"{1:020}-{1:020}.parquet"]
    assert archive.catalog.earliest == 1
    archive.close()


def test_a_bucket_that_is_not_there(uri: str, tmp_path: Path) -> None:
    nowhere = uri.replace(f"s3://{BUCKET}/", "s3://nowhere/")
    with pytest.raises(ArchiveError, match="nowhere/archive/b1 cannot be used"):
        Archive(settings(tmp_path, sealed_uri=nowhere))
