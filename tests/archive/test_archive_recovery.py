"""After a crash: torn ends are cut and told, the store's word counts, damage is an error."""

import logging
from pathlib import Path

import pytest

from gossamer.archive.archive import Archive
from gossamer.archive.blocks import HEADER
from gossamer.archive.collector import Block, Collector
from gossamer.archive.folder import ArchiveDamaged, ArchiveError, ArchiveInUse
from gossamer.archive.log import LogFile, create_log, log_name
from tests.support.archives import BROKER, Row, keep_up, read, seal_here, settings, write

ROWS = [Row(payload=b"one"), Row(topic="t/2", payload=b"two"), Row(payload=b"three", user="ann")]


def reopened(folder: Path, committed: int | None = None) -> Archive:
    return Archive(settings(folder), committed)


def log_of(folder: Path, first: int = 0) -> Path:
    return folder / BROKER / log_name(first)


def filled(folder: Path, transactions: int = 2, *, is_joint: bool = False) -> bytes:
    """A log of so many transactions of three rows each."""
    archive = reopened(folder)
    for _ in range(transactions):
        write(archive, ROWS, is_joint=is_joint)
    archive.close()
    return log_of(folder).read_bytes()


def test_an_archive_goes_on_where_it_was(tmp_path: Path) -> None:
    filled(tmp_path)
    archive = reopened(tmp_path)
    assert archive.next == 6
    write(archive, ROWS)
    assert [row["offset"] for row in read(archive)] == list(range(9))
    archive.close()


def test_a_tail_torn_at_any_byte_is_cut(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = filled(tmp_path, 2)
    one = len(filled(tmp_path / "short", 1))
    for size in range(one, len(whole)):
        caplog.clear()
        log_of(tmp_path).write_bytes(whole[:size])
        archive = reopened(tmp_path)
        assert archive.next == 3
        assert [row["payload"] for row in read(archive)] == [row.payload for row in ROWS]
        assert bool(caplog.records) == (size > one), "a cut is told, and nothing else is"
        write(archive, ROWS[:1])
        archive.close()
        again = reopened(tmp_path)
        assert [row["offset"] for row in read(again)] == [0, 1, 2, 3]
        again.close()


@pytest.mark.parametrize("garbage", [b"\0" * 500, b"GBLK" + b"\xff" * 200, b"x"])
def test_a_tail_of_something_else_is_cut(tmp_path: Path, garbage: bytes) -> None:
    log_of(tmp_path).parent.mkdir(parents=True)
    whole = filled(tmp_path)
    log_of(tmp_path).write_bytes(whole + garbage)
    archive = reopened(tmp_path)
    assert archive.next == 6
    archive.close()
    assert log_of(tmp_path).read_bytes() == whole


def test_damage_in_the_middle_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    whole = filled(tmp_path, 3)
    first = len(filled(tmp_path / "short", 1))
    for position in range(first, len(filled(tmp_path / "two", 2)), 7):
        damaged = bytearray(whole)
        damaged[position] ^= 0x55
        log_of(tmp_path).write_bytes(damaged)
        with pytest.raises(ArchiveDamaged, match=r"0\.log is damaged.*archive verify"):
            reopened(tmp_path)
        assert log_of(tmp_path).read_bytes() == damaged


def test_a_damaged_header_is_an_error(tmp_path: Path) -> None:
    whole = bytearray(filled(tmp_path, 20))
    whole[14] ^= 1
    log_of(tmp_path).write_bytes(whole)
    with pytest.raises(ArchiveDamaged, match="header"):
        reopened(tmp_path)


def test_a_transaction_of_several_blocks_counts_whole_or_not_at_all(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    log = LogFile(log_of(tmp_path), 0, 0, log_of(tmp_path).stat().st_size)
    log.next = 3
    log.open()
    blocks: list[Block] = []
    for row in ROWS:
        collector = Collector()
        row.collect(collector)
        blocks += collector.take()
    log.append(blocks, is_joint=False)
    log.close()
    whole = log_of(tmp_path).read_bytes()
    archive = reopened(tmp_path)
    assert archive.next == 6
    archive.close()
    log_of(tmp_path).write_bytes(whole[:-1])
    archive = reopened(tmp_path)
    assert archive.next == 3
    archive.close()


@pytest.mark.parametrize(
    ("committed", "rows"),
    [
        (9, 9),  # the store has everything
        (6, 6),  # it lacks the last transaction: nobody was told of it
        (3, 9),  # it has lost one that it had: the log knows better
        (None, 9),  # it knows nothing of an archive
    ],
)
def test_the_store_decides_on_the_last_transaction_that_it_shares(
    tmp_path: Path, committed: int | None, rows: int
) -> None:
    filled(tmp_path, 3, is_joint=True)
    archive = reopened(tmp_path, committed)
    assert archive.next == len(read(archive)) == rows
    archive.close()


def test_a_transaction_of_its_own_counts_without_the_store(tmp_path: Path) -> None:
    archive = reopened(tmp_path)
    write(archive, ROWS, is_joint=True)
    write(archive, ROWS)
    archive.close()
    archive = reopened(tmp_path, 3)
    assert archive.next == 6
    archive.close()


def test_a_store_that_cannot_commit_takes_the_rows_back(tmp_path: Path) -> None:
    archive = reopened(tmp_path)
    write(archive, ROWS)
    ROWS[0].collect(archive.collector)
    blocks = archive.collector.take()
    transaction = archive.transaction(blocks, is_joint=True)
    assert transaction.__enter__() == 4
    assert archive.next == 3, "nobody may read what is not safe"
    error = OSError("the store is full")
    assert not transaction.__exit__(OSError, error, None)
    assert archive.next == 3
    with archive.transaction(blocks, is_joint=True):
        pass
    assert [row["offset"] for row in read(archive)] == [0, 1, 2, 3]
    archive.close()


def test_offsets_are_never_given_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    filled(tmp_path)
    log_of(tmp_path).unlink()
    archive = reopened(tmp_path, 6)
    write(archive, ROWS)
    assert [row["offset"] for row in read(archive)] == [6, 7, 8]
    archive.close()
    log_of(tmp_path, 6).unlink()
    archive = reopened(tmp_path / "new", 6)
    assert archive.next == 6
    archive.close()


def test_rows_that_the_log_has_lost_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled(tmp_path)
    archive = reopened(tmp_path, 10)
    assert "lost the offsets 6 to 9" in caplog.text
    write(archive, ROWS)
    assert [row["offset"] for row in read(archive, start=10)] == [10, 11, 12]
    archive.close()
    archive = reopened(tmp_path, 10)  # the gap is known, and no reason not to start
    assert archive.next == 13
    archive.close()


def test_a_log_that_was_being_created_is_made_again(tmp_path: Path) -> None:
    filled(tmp_path)
    for torn in (b"", b"GOSSARC1\0\0"):
        log_of(tmp_path, 6).write_bytes(torn)
        archive = reopened(tmp_path)
        write(archive, ROWS[:1])
        archive.close()
    archive = reopened(tmp_path)
    assert len(read(archive)) == 8
    archive.close()


def test_a_complete_log_must_reach_the_next(tmp_path: Path) -> None:
    whole = filled(tmp_path)
    create_log(tmp_path / BROKER, BROKER, 6, 0, 6).close()
    log_of(tmp_path).write_bytes(whole[:-1])
    with pytest.raises(ArchiveDamaged, match="3 to 5"):
        reopened(tmp_path)


def test_a_log_that_is_sealed_already_is_removed(tmp_path: Path) -> None:
    whole = filled(tmp_path)
    archive = reopened(tmp_path)
    keep_up(archive)
    before = read(archive)
    archive.close()
    log_of(tmp_path).write_bytes(whole)  # the broker died before it could remove it
    (tmp_path / BROKER / "0-1.unfinished").write_bytes(b"half")
    archive = reopened(tmp_path)
    assert read(archive) == before
    assert not log_of(tmp_path).exists()
    assert not list((tmp_path / BROKER).glob("*.unfinished"))
    archive.close()


def test_what_is_damaged_is_not_sealed(tmp_path: Path) -> None:
    filled(tmp_path)
    archive = reopened(tmp_path)
    archive.roll(is_forced=True)
    data = bytearray(log_of(tmp_path).read_bytes())
    data[-HEADER.size] ^= 1
    log_of(tmp_path).write_bytes(data)
    with pytest.raises(ArchiveError, match="damaged"):
        seal_here(log_of(tmp_path), str(tmp_path / BROKER))
    assert not list((tmp_path / BROKER).glob("*.parquet"))
    assert not list((tmp_path / BROKER).glob("*.unfinished"))
    archive.close()


def test_one_process_writes(tmp_path: Path) -> None:
    archive = reopened(tmp_path)
    with pytest.raises(ArchiveInUse, match="in use"):
        reopened(tmp_path)
    archive.close()
    reopened(tmp_path).close()


def test_nothing_is_said_about_a_clean_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled(tmp_path)
    with caplog.at_level(logging.WARNING):
        reopened(tmp_path, 6).close()
    assert not caplog.records
