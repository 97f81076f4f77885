"""`gossamer.spark.read`: sealed segments as files, the rest from brokers, and each row once."""

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.archive.segment_lifecycle import Upkeep
from tests.support.archive_brokers import archiving, endpoint, publish, replay_port
from tests.support.archives import seal_here
from tests.support.live import LiveBroker
from tests.support.replays import NOBODY, guarded
from tests.support.replays import publish as publish_as

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame
from pyspark.sql.datasource import InputPartition

from gossamer.archive import parquet_seal
from gossamer.archive.client import Address, Credentials, ReplayError, describe, fetch
from gossamer.archive.segment_bytes import FetchedFile
from gossamer.archive.segment_files import AUTO, NEVER, SegmentFile, files_told, shown_place
from gossamer.spark import read
from gossamer.spark.source import archives
from gossamer.spark.source.archives import OffsetRange, SourceError, cut, rows_of
from gossamer.spark.source.batch_reader import GossamerReader
from gossamer.spark.source.source_options import read_source_options
from gossamer.spark.source.stream_reader import GossamerStreamReader
from tests.support.histories import history

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def seal(broker: LiveBroker) -> None:
    """Everything that was published so far."""
    archive = broker.server.archive
    assert archive is not None
    archive.roll(is_forced=True)
    Upkeep(archive, seal_here).round()


def numbered(topic: str, numbers: range) -> list[tuple[str, bytes]]:
    return [(topic, str(number).encode()) for number in numbers]


def payloads(frame: DataFrame) -> list[int]:
    return sorted(int(row.payload) for row in frame.select("payload").collect())


def files_of(frame: DataFrame) -> int:
    return len(frame.inputFiles())


def test_files_and_tail_are_one_frame(spark: "SparkSession", tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as one, archiving(tmp_path, "b2") as two:
        brokers = endpoint(one, two)
        assert payloads(read(spark, brokers=brokers)) == []
        publish(one, numbered("a/x", range(10)), {"unit": "°C"})
        seal(one)
        publish(one, numbered("a/y", range(10, 15)))
        seal(one)
        frame = read(spark, brokers=endpoint(one))
        assert (payloads(frame), files_of(frame)) == (list(range(15)), 2)
        publish(one, numbered("a/x", range(15, 18)))
        publish(two, numbered("b/x", range(18, 20)))
        frame = read(spark, brokers=brokers)
        assert (payloads(frame), files_of(frame)) == (list(range(20)), 2)
        by_broker = read(spark, brokers=brokers, files=NEVER)
        assert files_of(by_broker) == 0
        assert frame.schema == by_broker.schema
        assert sorted(frame.collect()) == sorted(by_broker.collect())
        seal(one)  # what the frame reads was settled before
        publish(two, numbered("b/x", range(20, 22)))
        assert payloads(frame) == list(range(20))
        bounds = {"starting": '{"b1": 5, "b2": 1}', "ending": '{"b1": 16, "b2": 2}'}
        between = read(spark, brokers=brokers, **bounds)
        assert payloads(between) == [*range(5, 16), 19]
        topics = read(spark, brokers=brokers, filter="a/y\n+/x", columns="payload,topic")
        assert topics.columns == ["topic", "payload"]
        assert payloads(topics.where("topic <> 'b/x'")) == list(range(18))
        assert payloads(read(spark, brokers=brokers, starting="2999-01-01T00:00:00Z")) == []


@pytest.mark.parametrize("filter", ["#", "$GT;3/#", "$LTE;30$NEQ;5/+/+\na/b", "a/#", "$other/#"])
def test_files_have_what_the_broker_would_send(
    spark: "SparkSession", tmp_path: Path, filter: str
) -> None:
    with archiving(tmp_path, "b1") as broker:
        messages = [(row["topic"], row["payload"]) for row in history(11, 60)]
        publish(broker, [*messages, ("$other/x", b"4"), ("a/b", b"")])
        seal(broker)
        frame = read(spark, brokers=endpoint(broker), filter=filter)
        told = read(spark, brokers=endpoint(broker), filter=filter, files=NEVER)
        assert (files_of(frame), files_of(told)) == (1, 0)
        assert sorted(frame.collect()) == sorted(told.collect())


def test_rows_come_once_while_segments_are_sealed(spark: "SparkSession", tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as broker:
        for turn in range(6):
            publish(broker, numbered("t", range(turn * 10, turn * 10 + 10)))
            frame = read(spark, brokers=endpoint(broker))
            if turn % 2:
                seal(broker)
            assert payloads(frame) == list(range(turn * 10 + 10))
            assert payloads(read(spark, brokers=endpoint(broker))) == list(range(turn * 10 + 10))


@given(
    st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), max_size=4),
    st.integers(0, 20),
    st.integers(0, 60),
    st.integers(1, 12),
)
def test_ranges_are_cut_where_files_are(
    segments: list[list[int]], start: int, length: int, rows: int
) -> None:
    """`segments` are rows of the row groups of one file after the other, with a gap before each."""
    files: list[SegmentFile] = []
    at = 0
    for groups in segments:
        first = at + groups[0]
        starts = [first + sum(groups[:number]) for number in range(len(groups))]
        at = first + sum(groups)
        files.append(SegmentFile("/a", str(first), first, at, 1, (0, 0), tuple(starts)))
    whole = OffsetRange(Address("a"), start, start + length, ("#",))
    parts = list(cut(whole, rows, files))
    offsets = [offset for part in parts for offset in range(part.start, part.end)]
    assert offsets == list(range(start, start + length))
    for part in parts:
        file = part.file
        held = {one.name for one in files if one.first < part.end and one.end > part.start}
        assert held == ({file.name} if file is not None else set())
        assert file is None or part.start in (start, *file.groups)


def test_the_format_reads_files_too(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with archiving(tmp_path, "b1") as broker:
        publish(broker, numbered("a/x", range(10)), {"unit": "°C"})
        seal(broker)
        publish(broker, numbered("a/y", range(10, 15)))
        reader = spark.read.format("gossamer").options(brokers=endpoint(broker))
        rows = reader.load().collect()
        assert sorted(int(row.payload) for row in rows) == list(range(15))
        assert sorted(rows) == sorted(reader.option("files", NEVER).load().collect())
        options = read_source_options({"brokers": endpoint(broker), "columns": "payload,topic"})
        first, second = GossamerReader(options).partitions()
        assert isinstance(first, OffsetRange)
        assert (first.start, first.end, first.file is None) == (0, 10, False)
        stream = GossamerStreamReader(options)
        assert stream.partitions({"b1": 0}, {"b1": 15}) == [first, second]
        assert [part.file for part in ranges(stream.partitions({"b1": 10}, {"b1": 12}))] == [None]
        monkeypatch.setattr(archives, "read_range", None)  # the broker is not asked
        (batch,) = rows_of(first, options)
        assert batch.schema.names == ["topic", "payload"]
        assert batch.column("payload").to_pylist() == [b"%d" % number for number in range(10)]


def test_who_cannot_reach_a_file_gets_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_seal, "ROW_GROUP_ROWS", 10)
    monkeypatch.setattr(parquet_seal, "READ_BYTES", 1)
    with archiving(tmp_path, "b1") as broker:
        for turn in range(5):
            publish(broker, numbered("a/x", range(turn * 10, turn * 10 + 10)))
        publish(broker, [("$other/x", b"-1")])
        seal(broker)
        asked = {"brokers": endpoint(broker), "rowsPerPartition": "20"}
        options = read_source_options(asked)
        told = describe(options.addresses[0], NOBODY, files=True)
        parts = ranges(GossamerReader(options).partitions())
        assert len(told["segments"][0]["groups"]) > len(parts) > 1
        monkeypatch.setattr(SegmentFile, "find", lambda file: None)
        for part in parts:
            passed = pa.Table.from_batches(rows_of(part, options))
            assert passed.equals(pa.Table.from_batches(rows_of(replace(part, file=None), options)))
            assert passed.num_rows
        # A part of the file is for the broker to pick.
        picking = read_source_options({**asked, "columns": "payload"})
        monkeypatch.setattr(archives, "fetch", None)
        picked = [batch for part in parts for batch in rows_of(part, picking)]
        assert sum(batch.num_rows for batch in picked) == 50
        whole = fetch(options.addresses[0], NOBODY, 0, 0, 51)
        assert whole[1][-1][0] + len(whole[1][-1][1]) == whole[0]  # with the end of the file
        for first, problem in ((1, "no sealed segment begins with"), (51, "no sealed segment")):
            with pytest.raises(ReplayError, match=problem):
                fetch(options.addresses[0], NOBODY, first, 0, 51)


def test_a_part_that_was_not_fetched_is_an_error() -> None:
    file = FetchedFile(10, [(2, b"cde"), (8, b"ij")])
    file.seek(-2, io.SEEK_END)
    assert (file.read(), file.tell(), file.read(5)) == (b"ij", 10, b"")
    file.seek(3)
    assert file.read(2) == b"de"
    with pytest.raises(OSError, match="bytes 5 to 6 of the segment were not fetched"):
        file.read(2)


def ranges(parts: list[InputPartition]) -> list[OffsetRange]:
    return [part for part in parts if isinstance(part, OffsetRange)]


def test_files_elsewhere(spark: "SparkSession", tmp_path: Path) -> None:
    """The folder is somewhere else for readers, and what lies there may be another archive."""
    with archiving(tmp_path / "one", "b1") as one, archiving(tmp_path / "two", "b1") as two:
        publish(one, numbered("t", range(3)))
        publish(two, numbered("t", range(3)))
        seal(one)
        seal(two)
        answers = [
            describe(Address("127.0.0.1", replay_port(broker)), Credentials(), files=True)
            for broker in (one, two)
        ]
        (file,) = files_told(answers[0], AUTO)
        assert file.find() is not None
        (moved,) = files_told(answers[0], str(tmp_path / "two"))
        assert moved.find() is None
        assert files_told(answers[0], NEVER) == ()
        (far,) = files_told(answers[0], "s3://lake/archive?region=eu-1")
        assert far.path == f"s3://lake/archive/b1/{file.name}?region=eu-1"
        frame = read(spark, brokers=endpoint(one), files=str(tmp_path / "one"))
        assert (payloads(frame), files_of(frame)) == ([0, 1, 2], 1)
    with pytest.raises(ValueError, match="option files: 'here' is none of auto, never"):
        read(spark, brokers="127.0.0.1", files="here")


def test_a_file_that_is_gone_is_an_error(spark: "SparkSession", tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as broker:
        publish(broker, numbered("t", range(3)))
        seal(broker)
        frame = read(spark, brokers=endpoint(broker))
        archive = broker.server.archive
        assert archive is not None
        (path,) = (tmp_path / "b1").glob("*.parquet")
        path.unlink()
        with pytest.raises(Exception, match="FILE_NOT_EXIST|does not exist"):
            frame.collect()


def test_places_are_shown_without_secrets() -> None:
    assert shown_place("/a/b?c") == "/a/b?c"
    assert shown_place("s3://key:secret@lake/archive?region=eu") == "s3://lake/archive"


def test_files_are_told_to_whom_everything_is_readable(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Ann may not read everything; and where positions are guarded, files have too much for Bob."""
    with guarded(tmp_path) as broker:
        publish_as(broker, ("a/1", b"1"), ("a/secret", b"2"), username="bob", password=b"bob")
        seal(broker)
        service = broker.server.archive_service
        assert service is not None
        assert service.replay is not None
        address = Address("127.0.0.1", service.replay.port)
        permissions = broker.broker.core.permissions
        for user in ("ann", "bob"):
            told = describe(address, Credentials(user, user), files=True)
            assert "files" not in told
            assert "file" not in told["segments"][0]
            with pytest.raises(ReplayError, match="for those who may read everything"):
                fetch(address, Credentials(user, user), 0, 0, 2)
        permissions.guards_positions = False
        for user, is_told in (("ann", False), ("bob", True)):
            assert ("files" in describe(address, Credentials(user, user), files=True)) == is_told
        brokers = f"127.0.0.1:{address.port}"
        ann = read(spark, brokers=brokers, filter="a/#", user="ann", password="ann")
        assert (payloads(ann), files_of(ann)) == ([1], 0)
        with pytest.raises(SourceError, match="see the options user, password and token"):
            read(spark, brokers=brokers, user="ann", password="bob")
