"""The lake: what is in it after batches, interruptions, late readings and compaction."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.archive_brokers import archiving, endpoint, publish
from tests.support.live import LiveBroker

pytest.importorskip("pyspark")

from gossamer.spark import table as lake_table
from gossamer.spark.lake.tables import LakeTable
from gossamer.spark.pipelines.pipeline import PipelineError, PipelineSettings
from gossamer.spark.pipelines.run import BatchDone, PipelineRun, find

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Readings state their own time, so that windows do not depend on when the test runs.
NOON = (datetime.now(UTC) - timedelta(days=2)).replace(hour=12, minute=0, second=0, microsecond=0)


def reading(value: object, minutes: float) -> bytes:
    at = NOON + timedelta(minutes=minutes)
    return json.dumps({"v": value, "ts": at.timestamp()}).encode()


def settings(lake: Path, *brokers: LiveBroker, **more: Any) -> PipelineSettings:
    fields: dict[str, Any] = {"is_once": True, "event_field": "/ts", **more}
    return PipelineSettings(endpoint(*brokers), str(lake), **fields)


def run(spark: "SparkSession", asked: PipelineSettings) -> list[BatchDone]:
    steps: list[BatchDone] = []
    PipelineRun(spark, find("lake"), asked).follow(steps.append)
    return steps


def rows(spark: "SparkSession", lake: Path, table: str, *columns: str) -> list[tuple[Any, ...]]:
    frame = lake_table(spark, f"{lake}/{table}")
    return sorted(tuple(row) for row in frame.select(*columns).collect())


def windows(spark: "SparkSession", lake: Path, level: str) -> list[tuple[Any, ...]]:
    frame = lake_table(spark, f"{lake}/gold/{level}").where("field = '/v'")
    start = f"cast((unix_micros(start) - {int(NOON.timestamp() * 1e6)}) / 60e6 as int) as minute"
    found = frame.selectExpr(
        "topic", start, "count", "others", "min", "max", "avg", "first", "last"
    )
    return sorted(tuple(row) for row in found.collect())


def test_from_messages_to_aggregates(spark: "SparkSession", tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with archiving(tmp_path, "b1") as broker:
        publish(broker, [("t", reading(value, minutes)) for value, minutes in
                         [(1, 0), (5, 0.5), (3, 1), ("off", 16), (7, 61)]])  # fmt: skip
        publish(broker, [("t", b"{"), ("t", b'{"v": 1, "ts": 0}'), ("image", b"\xff\xd8")])
        assert [step.rows for step in run(spark, settings(lake, broker))] == [8]
        assert windows(spark, lake, "minute") == [
            ("t", 0, 2, 0, 1.0, 5.0, 3.0, 1.0, 5.0),
            ("t", 1, 1, 0, 3.0, 3.0, 3.0, 3.0, 3.0),
            ("t", 16, 0, 1, None, None, None, None, None),
            ("t", 61, 1, 0, 7.0, 7.0, 7.0, 7.0, 7.0),
        ]
        assert windows(spark, lake, "quarter")[0] == ("t", 0, 3, 0, 1.0, 5.0, 3.0, 1.0, 3.0)
        assert [row[1] for row in windows(spark, lake, "quarter")] == [0, 15, 60]
        assert windows(spark, lake, "hour") == [
            ("t", 0, 3, 1, 1.0, 5.0, 3.0, 1.0, 3.0),
            ("t", 60, 1, 0, 7.0, 7.0, 7.0, 7.0, 7.0),
        ]
        assert windows(spark, lake, "day") == [("t", -720, 4, 1, 1.0, 7.0, 4.0, 1.0, 7.0)]
        assert rows(spark, lake, "silver/aside", "offset", "reason") == [
            (5, "it is not JSON"),
            (6, "its event time is implausible"),
            (7, "it is not UTF-8"),
        ]
        assert len(rows(spark, lake, "bronze/messages", "offset")) == 8

        # Two hours later a reading comes that is older than the watermark: gold is corrected.
        publish(broker, [("t", reading(9, 0.9)), ("t", reading(4, 120))])
        run(spark, settings(lake, broker))
        assert windows(spark, lake, "minute")[0] == ("t", 0, 3, 0, 1.0, 9.0, 5.0, 1.0, 9.0)
        assert windows(spark, lake, "day") == [("t", -720, 6, 1, 1.0, 9.0, 29 / 6, 1.0, 4.0)]
        assert rows(spark, lake, "gold/corrections", "topic", "field", "readings", "batch") == [
            ("t", "/ts", 1, 1),
            ("t", "/v", 1, 1),
        ]
        assert rows(spark, lake, "batches", "batch", "messages", "readings", "aside", "late") == [
            (0, 8, 10, 3, 0),
            (1, 2, 4, 0, 2),
        ]


# Whose commit is the last thing that is done, or the first that is not.
INTERRUPTED = [
    ("silver/readings", "before"),
    ("silver/readings", "after"),
    ("silver/aside", "after"),
    ("gold/quarter", "after"),
    ("batches", "after"),
]


def test_an_interrupted_batch_leaves_no_trace(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    commit = LakeTable._commit
    with archiving(tmp_path, "b1") as broker:
        publish(broker, [("t", reading(value, value)) for value in range(10)])
        publish(broker, [("t", b"{")])
        for failing, when in INTERRUPTED:

            def interrupted(
                table: LakeTable, *told: Any, failing: str = failing, when: str = when
            ) -> None:
                if table.name != failing or when == "after":
                    commit(table, *told)
                if table.name == failing:
                    raise OSError("the power is gone")

            monkeypatch.setattr(LakeTable, "_commit", interrupted)
            with pytest.raises(PipelineError, match="the power is gone"):
                run(spark, settings(lake, broker))
            monkeypatch.setattr(LakeTable, "_commit", commit)
        run(spark, settings(lake, broker))
    assert [row[1] for row in windows(spark, lake, "minute")] == list(range(10))
    assert [row[2] for row in windows(spark, lake, "day")] == [10]
    assert len(rows(spark, lake, "bronze/messages", "offset")) == 11
    assert len(rows(spark, lake, "silver/readings", "offset")) == 20
    assert len(rows(spark, lake, "silver/aside", "offset")) == 1
    assert rows(spark, lake, "batches", "batch") == [(0,)]


def test_what_cannot_run(spark: "SparkSession", tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with archiving(tmp_path, "b1") as broker:
        with pytest.raises(PipelineError, match="the field of the event time"):
            run(spark, settings(lake, broker, event_field="a..b"))
        with pytest.raises(PipelineError, match="unknown option"):
            run(spark, settings(lake, broker, source={"colour": "red"}))
        run(spark, settings(lake, broker))
        checkpoint = lake / "_checkpoints" / "lake"
        checkpoint.rename(tmp_path / "elsewhere")
        with pytest.raises(PipelineError, match=r"the checkpoint .* is gone"):
            run(spark, settings(lake, broker))
    with pytest.raises(PipelineError, match="pipelines are lake, geo, insight"):
        find("pond")
