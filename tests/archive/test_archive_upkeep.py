"""The upkeep: rolling, sealing by a worker, other filesystems, retention, a disk that is full."""

import errno
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from gossamer.archive import archive as archive_module
from gossamer.archive import log as log_module
from gossamer.archive.archive import Archive, ArchiveFull, ArchiveOnlyStore
from gossamer.archive.catalog import now_micros
from gossamer.archive.collector import MOST_BLOCK_BYTES, Collector
from gossamer.archive.folder import ArchiveError
from gossamer.archive.parquet_seal import SealingWorker, seal
from gossamer.archive.sealed_segment import TIMES_KEY, TOPICS_KEY, SealedSegment
from gossamer.archive.segment_lifecycle import Upkeep
from gossamer.broker.archive_port import MOST_WAITING_BYTES
from tests.support.archives import BROKER, Row, keep_up, read, seal_here, settings, write
from tests.support.polling import eventually

OLD = 1_000_000  # microseconds: long ago


def full_disk(descriptor: int, data: bytes) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_log_is_rolled_by_size(tmp_path: Path) -> None:
    archive = Archive(settings(tmp_path, segment_bytes=1000))
    for _ in range(20):
        write(archive, [Row(payload=bytes(100))])
    assert len(archive.catalog.segments) > 2
    assert [row["offset"] for row in read(archive)] == list(range(20))
    archive.close()


def test_a_log_is_rolled_by_age(tmp_path: Path) -> None:
    archive = Archive(settings(tmp_path, segment_seconds=1e-9))
    archive.roll()
    assert len(archive.catalog.segments) == 1, "an empty log need not be replaced"
    write(archive, [Row()])
    archive.roll()
    assert len(archive.catalog.segments) == 2
    archive.close()


def _size(segment: object) -> int:
    assert isinstance(segment, SealedSegment)
    return segment.size


@pytest.mark.processes
def test_a_worker_seals(tmp_path: Path) -> None:
    archive = Archive(settings(tmp_path))
    rows = [Row(topic=f"t/{number % 3}", payload=b"%d" % number) for number in range(1000)]
    write(archive, rows)
    before = read(archive)
    archive.roll(is_forced=True)
    Upkeep(archive).round()
    sealed = archive.catalog.segments[0]
    assert isinstance(sealed, SealedSegment)
    assert Path(sealed.path).name == f"{0:020}-{999:020}.parquet"
    assert read(archive) == before
    footer = pq.read_metadata(sealed.path)
    assert footer.row_group(0).column(0).compression == "ZSTD"
    assert json.loads(footer.metadata[TOPICS_KEY]) == ["t/0", "t/1", "t/2"]
    assert json.loads(footer.metadata[TIMES_KEY]) == [OLD, OLD]
    assert not list((tmp_path / BROKER).glob("*.log"))[1:], "only the current log is left"
    archive.close()


def test_a_worker_says_why_it_failed(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="No such file"):
        SealingWorker().seal(tmp_path / "none.log", str(tmp_path))
    stopped = SealingWorker()
    stopped.stop()
    with pytest.raises(ArchiveError, match="stopped"):
        stopped.seal(tmp_path / "none.log", str(tmp_path))


def test_a_worker_without_its_broker_leaves_nothing(tmp_path: Path) -> None:
    archive = Archive(settings(tmp_path))
    write(archive, [Row()])
    archive.close()
    log = next((tmp_path / BROKER).glob("*.log"))
    with pytest.raises(ArchiveError, match="nobody waits"):
        seal(log, pa.fs.LocalFileSystem(), str(tmp_path), is_wanted=lambda: False)
    assert not list(tmp_path.glob("*.parquet"))
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.processes
def test_the_keeper_works_by_itself(tmp_path: Path) -> None:
    archive = Archive(settings(tmp_path, segment_seconds=1e-9))
    write(archive, [Row()])
    keeper = Upkeep(archive, seal_here)
    keeper.start()
    eventually(lambda: isinstance(archive.catalog.segments[0], SealedSegment))
    keeper.stop()
    archive.close()


def test_sealed_files_on_another_filesystem(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    changes = {"sealed_uri": elsewhere.as_uri()}
    archive = Archive(settings(tmp_path / "here", **changes))
    write(archive, [Row(), Row()])
    keep_up(archive)
    write(archive, [Row()])
    assert [path.name for path in (elsewhere / BROKER).iterdir()] == [
        f"{0:020}-{1:020}.parquet",
    ]
    assert len(read(archive)) == 3
    archive.close()
    again = Archive(settings(tmp_path / "here", **changes))
    assert len(read(again)) == 3
    again.close()


def test_retention_by_age_spares_what_is_new(tmp_path: Path) -> None:
    archive = Archive(settings(tmp_path, retention_seconds=3600.0))
    now = now_micros()
    for time in (OLD, OLD, now, OLD):
        write(archive, [Row(time=time)])
        archive.roll(is_forced=True)
    keep_up(archive, roll=False)
    assert archive.catalog.earliest == 2, "an old row behind a new one makes no gap"
    assert len(read(archive)) == 2
    assert len(list((tmp_path / BROKER).glob("*.parquet"))) == 2
    archive.close()


def test_retention_by_size_keeps_the_newest(tmp_path: Path) -> None:
    archive = Archive(settings(tmp_path))
    for _ in range(6):
        write(archive, [Row(payload=bytes(1000))])
        keep_up(archive)
    total = sum(_size(segment) for segment in archive.catalog.segments[:-1])
    archive.close()
    limited = Archive(settings(tmp_path, retention_bytes=total // 2))
    keep_up(limited, roll=False)
    assert 2 < limited.catalog.earliest < 6
    assert limited.next == 6
    assert len(read(limited)) == 6 - limited.catalog.earliest
    limited.close()


def test_a_full_disk_is_waited_out_where_everything_must_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = Archive(settings(tmp_path))
    write(archive, [Row(payload=b"1")])
    Row(payload=b"2").collect(archive.collector)
    blocks = archive.collector.take()
    with monkeypatch.context() as patch:
        patch.setattr(log_module, "_write_all", full_disk)
        with pytest.raises(ArchiveFull), archive.transaction(blocks, is_joint=False):
            pass
    assert archive.collector.is_required
    assert not archive.collector.accepts
    assert not Row(payload=b"lost").collect(archive.collector)
    with archive.transaction(blocks, is_joint=False):
        pass
    assert archive.collector.accepts
    assert [row["payload"] for row in read(archive)] == [b"1", b"2"]
    archive.close()


def test_a_full_disk_drops_rows_where_the_broker_must_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    archive = Archive(settings(tmp_path, on_full="drop"))
    write(archive, [Row(payload=b"1")])
    with monkeypatch.context() as patch:
        patch.setattr(log_module, "_write_all", full_disk)
        write(archive, [Row(payload=b"2"), Row(payload=b"3")])
    assert "2 messages are not archived" in caplog.text
    collector = archive.collector
    assert not collector.is_required
    assert (collector.accepts, collector.unwritten, collector.dropped) == (False, 2, 0)
    write(archive, [Row(payload=b"4")])
    assert collector.dropped == 1
    monkeypatch.setattr(archive_module, "RETRY_SECONDS", 0.0)
    archive.tick()
    write(archive, [Row(payload=b"5")])
    assert "3 messages are missing" in caplog.text
    assert [(row["offset"], row["payload"]) for row in read(archive)] == [(0, b"1"), (1, b"5")]
    archive.close()


def test_a_torn_write_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive(settings(tmp_path, on_full="drop"))
    write(archive, [Row()])
    size = archive.catalog.current.end, archive.catalog.current.position
    whole = log_module._write_all

    def half(descriptor: int, data: bytes) -> None:
        whole(descriptor, data[: len(data) // 2])
        full_disk(descriptor, data)

    monkeypatch.setattr(log_module, "_write_all", half)
    write(archive, [Row()])
    log = archive.catalog.current
    assert (log.next, log.path.stat().st_size) == size
    archive.close()


def test_qos_0_does_not_fill_the_memory(tmp_path: Path) -> None:
    collector = Collector()
    payload = bytes(1 << 20)
    taken = sum(Row(payload=payload, qos=0).collect(collector) for _ in range(200))
    assert taken == (MOST_WAITING_BYTES >> 20) + 1
    assert collector.dropped == 200 - taken
    assert Row(payload=payload, qos=1).collect(collector), "what is acknowledged is kept"
    blocks = collector.take()
    assert all(block.size <= MOST_BLOCK_BYTES + len(payload) for block in blocks)
    assert sum(block.rows for block in blocks) == taken + 1


def test_a_broker_without_a_store_waits_for_its_archive(tmp_path: Path) -> None:
    alone = ArchiveOnlyStore(settings(tmp_path))
    committed: list[int] = []
    alone.start(committed.append, lambda error: None)
    assert alone.journal.durable
    Row().collect(alone.archive.collector)
    alone.journal.dirty = True
    number = alone.journal.batch
    alone.end_turn()
    eventually(lambda: committed == [number])
    assert alone.archive.next == 1
    Row().collect(alone.archive.collector)
    alone.journal.dirty = True
    alone.close()
    again = Archive(settings(tmp_path))
    assert again.next == 2
    again.close()
