"""Streams over the archive: limits, ends, brokers that come and go, and offsets that are gone."""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive_brokers import archiving, endpoint, forget, publish, replay_port
from tests.support.live import LiveBroker

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows

from gossamer.archive.client import Address
from gossamer.spark import behind
from gossamer.spark.source.archives import OffsetRange, Replay, SegmentSize, SourceError
from gossamer.spark.source.source_options import read_source_options
from gossamer.spark.source.stream_reader import GossamerStreamReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def stream(*brokers: LiveBroker, **options: str) -> GossamerStreamReader:
    return GossamerStreamReader(read_source_options({"brokers": endpoint(*brokers), **options}))


def numbered(numbers: range) -> list[tuple[str, bytes]]:
    return [("t", str(number).encode()) for number in numbers]


def ranges(parts: list[object]) -> list[tuple[int, int]]:
    return [(part.start, part.end) for part in parts if isinstance(part, OffsetRange)]


def test_where_a_stream_begins(tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as one, archiving(tmp_path, "b2") as two:
        publish(one, numbered(range(5)))
        for starting, begins in {
            "earliest": {"b1": 0, "b2": 0},
            "latest": {"b1": 5, "b2": 0},
            '{"b1": 3, "b2": 0}': {"b1": 3, "b2": 0},
            "1999-01-01T00:00:00Z": {"b1": 0, "b2": 0},
            "2999-01-01T00:00:00Z": {"b1": 5, "b2": 0},
        }.items():
            assert stream(one, two, starting=starting).initialOffset() == begins
        assert stream(one, two).initialOffset() == {"b1": 5, "b2": 0}


def test_a_batch_has_no_more_rows_than_allowed(tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as one, archiving(tmp_path, "b2") as two:
        publish(one, numbered(range(10)))
        publish(two, numbered(range(3)))
        limited = stream(one, two, maxRowsPerTrigger="8", rowsPerPartition="2")
        limit = limited.getDefaultReadLimit()
        assert isinstance(limit, ReadMaxRows)
        first = limited.latestOffset({"b1": 0, "b2": 0}, limit)
        assert first == {"b1": 5, "b2": 3}
        parts = ranges(list(limited.partitions({"b1": 0, "b2": 0}, first)))
        assert parts == [(0, 2), (2, 4), (4, 5), (0, 2), (2, 3)]
        assert limited.latestOffset(first, limit) == {"b1": 10, "b2": 3}
        assert isinstance(stream(one).getDefaultReadLimit(), ReadAllAvailable)


def test_a_batch_takes_no_more_bytes_than_allowed(tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as one, archiving(tmp_path, "b2") as two:
        publish(one, [("t", bytes(1000))] * 20)
        publish(two, [("t", bytes(1000))] * 2)
        limited = stream(one, two, maxBytesPerTrigger="8k")
        limit = limited.getDefaultReadLimit()
        assert isinstance(limit, ReadMaxBytes)
        first = limited.latestOffset({"b1": 0, "b2": 0}, limit)
        assert first["b2"] == 2
        assert 4 <= first["b1"] <= 6
        both = stream(one, two, maxBytesPerTrigger="8k", maxRowsPerTrigger="3")
        assert sum(both.latestOffset({"b1": 0, "b2": 0}, both.getDefaultReadLimit()).values()) == 3
        tiny = stream(one, two, maxBytesPerTrigger="1")
        assert tiny.latestOffset({"b1": 3, "b2": 2}, limit) == {"b1": 4, "b2": 2}
        assert limited.latestOffset({"b1": 0, "b2": 0}, ReadAllAvailable()) == {"b1": 20, "b2": 2}


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 9000)), min_size=1, max_size=4),
    st.integers(0, 200),
    st.integers(1, 200),
    st.integers(0, 20_000),
)
def test_rows_within_so_many_bytes(
    segments: list[tuple[int, int]], start: int, length: int, most: int
) -> None:
    sizes: list[SegmentSize] = []
    for rows, size in segments:
        first = sizes[-1].end if sizes else 0
        sizes.append(SegmentSize(first, first + rows, size))
    end = sizes[-1].end
    start = min(start, end - 1)
    replay = Replay(
        Address("a"),
        read_source_options({"brokers": "a"}),
        "b",
        0,
        end,
        sizes=tuple(sizes),
    )
    until = min(start + length, end)
    rows = replay.rows_in(start, until, most)
    assert 1 <= rows <= until - start
    if rows > 1:
        assert replay.bytes_between(start, start + rows) <= most
    if start + rows < until:  # one more would be too much, but for what rounding leaves
        assert replay.bytes_between(start, start + rows + 1) + len(sizes) >= most


def test_how_far_a_query_is_behind() -> None:
    def progress(*sources: tuple[str | None, str | None]) -> Any:
        found = [SimpleNamespace(latestOffset=latest, endOffset=end) for latest, end in sources]
        return SimpleNamespace(sources=found)

    ours = ('{"b1": 10, "b2": 5, "b3": 1}', '{"b1": 4, "b2": 5}')
    assert behind(progress(ours)) == {"b1": 6, "b2": 0}
    others = [("7", "3"), ('{"topic": {"0": 3}}', '{"topic": {"0": 1}}'), (None, None), ("x", "y")]
    assert behind(progress(*others)) == behind(None) == {}


def test_available_now_ends_where_the_archives_were(tmp_path: Path) -> None:
    everything = ReadAllAvailable()
    with archiving(tmp_path, "b1") as broker:
        publish(broker, numbered(range(4)))
        bounded = stream(broker)
        bounded.prepareForTriggerAvailableNow()
        publish(broker, numbered(range(4, 9)))
        assert bounded.latestOffset({"b1": 0}, ReadMaxRows(3)) == {"b1": 3}
        assert bounded.latestOffset({"b1": 3}, everything) == {"b1": 4}
        assert bounded.latestOffset({"b1": 4}, everything) == {"b1": 4}
        assert stream(broker).latestOffset({"b1": 4}, everything) == {"b1": 9}


def test_brokers_come_and_go(tmp_path: Path) -> None:
    everything = ReadAllAvailable()
    with archiving(tmp_path, "b1") as one, archiving(tmp_path, "b2") as two:
        publish(one, numbered(range(4)))
        publish(two, numbered(range(6)))
        forget(two)
        publish(two, numbered(range(6, 8)))
        joined = stream(one, two).latestOffset({"b1": 2}, everything)
        assert joined == {"b1": 2, "b2": 6}, "it enters with the earliest row it has"
        assert ranges(list(stream(one, two).partitions({"b1": 2}, joined))) == []
        assert stream(one, two).latestOffset(joined, everything) == {"b1": 4, "b2": 8}
        left = stream(two).latestOffset({"b1": 2, "b2": 6}, everything)
        assert left == {"b1": 2, "b2": 8}, "it keeps its place"
        assert stream(one, two).latestOffset(left, everything) == {"b1": 4, "b2": 8}
        with pytest.raises(SourceError, match="rows of broker 'b1'.*list it until they are read"):
            stream(two).partitions({"b1": 2}, {"b1": 4})


def test_a_range_is_read_the_same_again(tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as broker:
        publish(broker, numbered(range(10)))
        reading = stream(broker)
        [part] = reading.partitions({"b1": 2}, {"b1": 9})
        first = [batch.to_pylist() for batch in reading.read(part)]
        archive = broker.server.archive
        assert archive is not None
        archive.roll(is_forced=True)
        publish(broker, numbered(range(10, 12)))
        assert [batch.to_pylist() for batch in stream(broker).read(part)] == first


def started(spark: "SparkSession", broker: str, folder: Path, **options: str) -> "StreamingQuery":
    source = spark.readStream.format("gossamer").options(
        brokers=broker, starting="earliest", columns="offset,payload", **options
    )
    writer = source.load().writeStream.format("parquet").trigger(availableNow=True)
    places = {"path": str(folder / "lake"), "checkpointLocation": str(folder / "checkpoint")}
    return writer.options(**places).start()


def test_a_stream_whose_offsets_are_gone(spark: "SparkSession", tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as broker:
        publish(broker, numbered(range(3)))
        started(spark, endpoint(broker), tmp_path).awaitTermination()
        publish(broker, numbered(range(3, 6)))
        forget(broker)
        publish(broker, numbered(range(6, 8)))
        query = started(spark, endpoint(broker), tmp_path)
        with pytest.raises(Exception, match=r"offsets 3 to 5 .*earliest is 6.*onDataLoss"):
            query.awaitTermination()
        started(spark, endpoint(broker), tmp_path, onDataLoss="warn").awaitTermination()
    found = spark.read.parquet(str(tmp_path / "lake")).collect()
    assert sorted(row.offset for row in found) == [0, 1, 2, 6, 7]


def test_spark_says_what_is_wrong(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(Exception, match="unknown option 'broker'; there are brokers, filter"):
        spark.read.format("gossamer").options(broker="x").load()
    with archiving(tmp_path, "b1") as broker:
        gone = f"127.0.0.1:{replay_port(broker)}"
    with pytest.raises(Exception, match="no archive at 127.0.0.1.*tried for 0.2 s.*start the"):
        spark.read.format("gossamer").options(brokers=gone, retrySeconds="0.2").load().collect()
    query = started(spark, gone, tmp_path, retrySeconds="0.2")
    with pytest.raises(Exception, match="no archive at 127.0.0.1.*tried for 0.2 s"):
        query.awaitTermination()
