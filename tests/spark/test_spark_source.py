"""Archives as rows: histories, streams, brokers that come and go, and what is asked wrongly."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive_brokers import archiving, endpoint, forget, publish, replay_port
from tests.support.live import LiveBroker

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame

from gossamer.archive.client import Address, Credentials, Request
from gossamer.spark import subscribe
from gossamer.spark.source.archives import SourceError, find_replays, read_range
from gossamer.spark.source.source_options import SourceOptions, read_source_options
from gossamer.spark.source.stream_reader import shared_out

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOBODY = Credentials()


def history(spark: "SparkSession", *brokers: LiveBroker, **options: str) -> DataFrame:
    return spark.read.format("gossamer").options(brokers=endpoint(*brokers), **options).load()


def payloads(frame: DataFrame) -> list[str]:
    return sorted(row.payload.decode() for row in frame.select("payload").collect())


def numbered(topic: str, numbers: range) -> list[tuple[str, bytes]]:
    return [(topic, str(number).encode()) for number in numbers]


def test_a_history(spark: "SparkSession", tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as one, archiving(tmp_path, "b2") as two:
        publish(one, numbered("a/x", range(5)), {"unit": "°C"})
        publish(one, numbered("a/y", range(5, 8)))
        publish(two, numbered("b/x", range(8, 12)))
        every = history(spark, one, two)
        assert payloads(every) == sorted(str(number) for number in range(12))
        first = every.where("broker = 'b1' and offset = 0").collect()[0]
        assert (first.topic, first.qos, first.retain, first.publisher) == (
            "a/x",
            1,
            False,
            "publisher",
        )
        assert first.user_properties == {"unit": "°C"}
        named = history(spark, one, two, filter="a/x\nb/+", columns="topic,payload,offset,time")
        assert len(payloads(named)) == 9
        assert payloads(history(spark, one, starting='{"b1": 5}', ending='{"b1": 6}')) == ["5"]
        assert payloads(history(spark, one, starting="2999-01-01T00:00:00Z")) == []
        narrowed = every.where(
            "offset between 5 and 6 and topic in ('a/y', 'b/x') and broker <> 'b2' "
            "and time > timestamp'2020-01-01'"
        )
        assert payloads(narrowed) == ["5", "6"]
        assert payloads(every.where("time < timestamp'2021-01-01'")) == []
        summed = subscribe(spark, "$SUM$DAILYMAX/+/x", brokers=endpoint(one, two)).collect()
        assert [row.value for row in summed] == [15.0]


def test_a_stream_reads_every_row_once(spark: "SparkSession", tmp_path: Path) -> None:
    lake = tmp_path / "lake"

    def run(*brokers: LiveBroker) -> list[int]:
        stream = (
            spark.readStream.format("gossamer")
            .options(brokers=endpoint(*brokers), starting="earliest", maxRowsPerTrigger="4")
            .load()
        )
        query = (
            stream.writeStream.format("parquet")
            .options(path=str(lake), checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return [progress.numInputRows for progress in query.recentProgress]

    with archiving(tmp_path, "b1") as one:
        publish(one, numbered("t", range(10)))
        assert [rows for rows in run(one) if rows] == [4, 4, 2]
        publish(one, numbered("t", range(10, 12)))
        with archiving(tmp_path, "b2") as two:
            publish(two, numbered("t", range(12, 15)))
            run(one, two)
        publish(one, numbered("t", range(15, 16)))
        run(one)
    found = spark.read.parquet(str(lake))
    assert payloads(found) == sorted(str(number) for number in range(16))


def asking(*addresses: Address, **options: str) -> SourceOptions:
    brokers = ",".join(f"{address.host}:{address.port}" for address in addresses)
    return read_source_options({"brokers": brokers, "retrySeconds": "0", **options})


def test_what_retention_removed(spark: "SparkSession", tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as broker:
        publish(broker, numbered("t", range(4)))
        forget(broker)
        publish(broker, numbered("t", range(4, 6)))
        address = Address("127.0.0.1", replay_port(broker))
        with pytest.raises(SourceError, match=r"offsets 0 to 3 .* the earliest is 4"):
            list(read_range(address, Request(end=6), asking(address)))
        request = Request(end=6, columns=["payload"])
        rows = list(read_range(address, request, asking(address, onDataLoss="warn")))
        assert [row["payload"] for batch in rows for row in batch.to_pylist()] == [b"4", b"5"]
        assert payloads(history(spark, broker)) == ["4", "5"]
        lossy = history(spark, broker, starting='{"b1": 1}', onDataLoss="warn")
        assert payloads(lossy) == ["4", "5"]


def test_a_broker_that_restarts_is_waited_for(tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as broker:
        publish(broker, numbered("t", range(3)))
        port = replay_port(broker)
    address = Address("127.0.0.1", port)
    back = threading.Event()
    done = threading.Event()

    def restart() -> None:
        with archiving(tmp_path, "b1", port):
            back.set()
            done.wait(60)

    thread = threading.Thread(target=restart)
    thread.start()
    try:
        batches = list(read_range(address, Request(end=3), asking(address, retrySeconds="30")))
    finally:
        done.set()
        thread.join()
    assert sum(batch.num_rows for batch in batches) == 3


def test_two_brokers_of_one_name(tmp_path: Path) -> None:
    with archiving(tmp_path / "one", "same") as one, archiving(tmp_path / "two", "same") as two:
        addresses = [Address("127.0.0.1", replay_port(broker)) for broker in (one, two)]
        with pytest.raises(SourceError, match="both call themselves 'same'"):
            find_replays(asking(*addresses))


def test_nobody_there() -> None:
    with pytest.raises(SourceError, match=r"no archive at 127.0.0.1:1: .* correct the option"):
        find_replays(asking(Address("127.0.0.1", 1), retrySeconds="0.2"))


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("broker", "x", "unknown option 'broker'; there are brokers, filter"),
        ("brokers", "", "option brokers is missing"),
        ("brokers", "host:99999", "option brokers: 'host:99999' is not host:port"),
        ("filter", "a/#/b", "option filter: "),
        ("filter", "$AVG/a", "looks at several messages"),
        ("filter", "$CNTPPL/a", "everything in gossamer.spark.subscribe(spark, '$CNTPPL/a'"),
        ("filter", "", "option filter: is empty"),
        ("columns", "topic,nope", "option columns: no column nope"),
        ("starting", "soon", "option starting: 'soon' is none of earliest, latest"),
        ("starting", "{}", "the map of offsets is empty"),
        ("starting", '{"b1": -1}', "the offset of b1 is not a whole number"),
        ("maxRowsPerTrigger", "0", "option maxRowsPerTrigger: '0' is not a whole number over 0"),
        ("maxBytesPerTrigger", "64 MB", "'64 MB' is not a number of bytes over 0, such as"),
        ("onDataLoss", "ignore", "option onDataLoss: 'ignore' is none of fail, warn"),
        ("tls", "maybe", "option tls: 'maybe' is neither true nor false"),
        ("retrySeconds", "-1", "option retrySeconds: '-1' is not a number of seconds"),
    ],
)
def test_options_that_mean_nothing(option: str, value: str, complaint: str) -> None:
    with pytest.raises(ValueError) as problem:
        read_source_options({"brokers": "127.0.0.1", option: value})
    assert complaint in str(problem.value)


def test_options_in_any_case() -> None:
    settings = read_source_options(
        {
            "BROKERS": "[::1]:7, b.example",
            "maxrowspertrigger": "9",
            "filter": "a/#\nb, c",
            "tls": "TRUE",
        }
    )
    assert [(one.host, one.port, one.tls) for one in settings.addresses] == [
        ("::1", 7, True),
        ("b.example", 1885, True),
    ]
    assert (settings.max_rows, settings.filters) == (9, ("a/#", "b, c"))


@given(st.dictionaries(st.text(max_size=2), st.integers(1, 50), max_size=5), st.integers(1, 100))
def test_a_limit_is_shared_out(ahead: dict[str, int], rows: int) -> None:
    taken = shared_out(ahead, rows)
    assert sum(taken.values()) == min(rows, sum(ahead.values()))
    for name, share in taken.items():
        assert 0 <= share <= ahead[name]
        if share < ahead[name]:  # then nobody has much more
            assert all(other <= share + 1 for other in taken.values())
