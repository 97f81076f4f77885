"""Rows as publications: what arrives, how often, and what cannot be sent."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.archive_brokers import archiving, endpoint
from tests.support.live import LiveBroker

pytest.importorskip("pyspark")

from pyspark.sql.types import StructType

from gossamer.archive.client import Address, Credentials, Request, read
from gossamer.spark.sink.exactly_once import Part, publish_once
from gossamer.spark.sink.publisher import Row, SinkError, publish_rows
from gossamer.spark.sink.sink_options import SinkOptions, check_schema, read_sink_options
from tests.support.archive_brokers import replay_port

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def url(broker: LiveBroker) -> str:
    return f"mqtt://127.0.0.1:{broker.port()}"


def settings(broker: LiveBroker) -> SinkOptions:
    return read_sink_options({"url": url(broker), "retrySeconds": "20"})


def archived(broker: LiveBroker) -> list[Row]:
    address = Address("127.0.0.1", replay_port(broker))
    return [row for batch in read(address, Credentials(), Request()) for row in batch.to_pylist()]


def rows(count: int) -> list[Row]:
    return [{"topic": f"out/{n % 7}", "payload": str(n)} for n in range(count)]


def test_a_frame_is_published(spark: "SparkSession", tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as broker:
        frame = spark.range(1200).selectExpr(
            "concat('out/', id % 7) topic",
            "cast(id as string) payload",
            "map('unit', 'W') user_properties",
            "60 expiry",
            "'text/plain' content_type",
            "id = 3 retain",
            "current_timestamp() time",
        )
        frame.write.format("gossamer").option("url", url(broker)).mode("append").save()
        found = archived(broker)
        assert sorted(int(row["payload"]) for row in found) == list(range(1200))
        assert {(row["qos"], row["expiry"], row["content_type"]) for row in found} == {
            (1, 60, "text/plain")
        }
        assert [row["payload"] for row in found if row["retain"]] == [b"3"]
        assert dict(found[0]["user_properties"]) == {"unit": "W"}


def test_a_batch_that_is_written_again_arrives_once(spark: "SparkSession", tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as broker:
        publish_rows(iter(rows(20)), settings(broker))
        checkpoint = tmp_path / "checkpoint"

        def run() -> None:
            stream = (
                spark.readStream.format("gossamer")
                .options(brokers=endpoint(broker), filter="out/#", starting="earliest")
                .load()
            )
            query = (
                stream.selectExpr("concat('again/', topic) topic", "payload", "time")
                .writeStream.format("gossamer")
                .options(url=url(broker), delivery="once", checkpointLocation=str(checkpoint))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()

        run()
        # A driver that dies before it notes that the batch is done writes it again.
        for note in (checkpoint / "commits").iterdir():
            note.unlink()
        run()
        again = [row for row in archived(broker) if row["topic"].startswith("again/")]
        assert sorted(int(row["payload"]) for row in again) == list(range(20))


def test_once(tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as broker:
        part = Part("query", 0, 0)
        many = rows(2500)  # more than the broker takes unreleased on one connection
        publish_once(many[:1700], part, settings(broker))
        publish_once(many[:1700][::-1], part, settings(broker))
        assert len(archived(broker)) == 1700
        publish_once(many[1700:], Part("query", 0, 1), settings(broker))
        publish_once(many[:10], Part("query", 1, 0), settings(broker))
        publish_once(many[:10], Part("query", 1, 0), settings(broker))
        assert len(archived(broker)) == 2510
        # The batch before is done with: the broker does not know its rows any more.
        publish_once(many[:3], part, settings(broker))
        assert len(archived(broker)) == 2513


def test_who_cannot_be_reached(tmp_path: Path) -> None:
    nowhere = read_sink_options({"url": "mqtt://127.0.0.1:1", "retrySeconds": "0.2"})
    with pytest.raises(SinkError, match="mqtt://127.0.0.1:1: .*tried for 0.2 s"):
        publish_rows(iter(rows(1)), nowhere)
    with pytest.raises(SinkError, match="mqtt://127.0.0.1:1: .*tried for 0.2 s"):
        publish_once(rows(1), Part("q", 0, 0), nowhere)


@pytest.mark.parametrize("topic", ["a/+", "", None, "a\0b"])
def test_topics_that_nobody_can_publish_to(topic: str | None, tmp_path: Path) -> None:
    with (
        archiving(tmp_path, "b1") as broker,
        pytest.raises(SinkError, match="no message can go to"),
    ):
        publish_rows(iter([{"topic": topic, "payload": b""}]), settings(broker))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "option url is missing"),
        ({"url": "ftp://x"}, "unknown scheme"),
        ({"url": "x", "qos": "3"}, "option qos: '3' is none of 0, 1, 2"),
        ({"url": "x", "delivery": "twice"}, "option delivery: 'twice' is none of at-least-once"),
        ({"url": "x", "delivery": "once"}, "option key is missing"),
        ({"url": "x", "topic": "t"}, "unknown option 'topic'"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, str], complaint: str) -> None:
    with pytest.raises(ValueError) as problem:
        read_sink_options(options, needs_key=True)
    assert complaint in str(problem.value)


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ("topic string", "no column 'payload'"),
        ("topic string, payload string, price double", "no message has a 'price'"),
        ("topic int, payload string", "column topic is a int"),
    ],
)
def test_columns_that_no_message_has(columns: str, complaint: str) -> None:
    schema = StructType.fromDDL(columns)
    assert isinstance(schema, StructType)
    with pytest.raises(ValueError, match=complaint):
        check_schema(schema)
