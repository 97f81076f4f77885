"""The benchmark of Spark, as small as it can be."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from gossamer_lab.bench.spark import archives, parts
from gossamer_lab.bench.spark.results import (
    COLUMNS,
    Comparison,
    Latency,
    RunCost,
    SparkResults,
    compare,
    latency_line,
    rows,
    save,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_every_place_and_sink_is_read(spark: "SparkSession", tmp_path: Path) -> None:
    found = list(parts.measure_reading(spark, tmp_path, 2_500, repeat=1))
    assert [one.title for one in found] == [
        "the log to no-op",
        "the log to Parquet",
        "sealed segments to no-op",
        "sealed segments to Parquet",
        "sealed segments, by read() to no-op",
        "sealed segments, by read() to Parquet",
        "sealed segments, by the broker to no-op",
        "sealed segments, by the broker to Parquet",
    ]
    assert all(one.rate > 0 for one in found)
    assert spark.read.parquet(str(tmp_path / "written")).count() == 2_500


def test_windows_by_hand_say_the_same(spark: "SparkSession", tmp_path: Path) -> None:
    found = list(parts.measure_windows(spark, tmp_path, 2_000, 20, repeat=1))
    assert [one.title.split()[1] for one in found] == list(parts.FUNCTIONS)


def test_other_results_are_not_compared(spark: "SparkSession", tmp_path: Path) -> None:
    archives.fill(tmp_path, 100, 5, archives.numbers(), seals=True)
    source = spark.read.parquet(archives.sealed_files(tmp_path))
    hourly = parts.by_hand(source, "MAX")
    with pytest.raises(parts.OtherResult):
        parts.check(hourly, hourly.where("topic not like '%/0003/%'"))
    with pytest.raises(parts.OtherResult):
        parts.check(hourly, hourly.selectExpr("time", "topic", "value + 1 value"))


def test_every_message_is_timed(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "WARM_UP_SECONDS", 0.0)
    with archives.serving(tmp_path) as (broker, replay):
        found = parts.measure_latency(spark, f"mqtt://127.0.0.1:{broker.port}", replay, 0.1)
    assert (found.messages, found.lost) == (10, 0)
    assert 0 < found.p50 <= found.p99


def test_runs_take_turns_and_the_first_does_not_count() -> None:
    order: list[str] = []
    found = compare(
        "t",
        10,
        lambda: order.append("ours"),
        lambda: order.append("theirs"),
        repeat=2,
        wanted=0.5,
    )
    assert order == ["ours", "theirs"] * 3
    assert (found.title, found.rows, found.wanted) == ("t", 10, 0.5)


def test_a_report(tmp_path: Path) -> None:
    slow = Comparison("slow", 1_000, RunCost(2.0, 4.0), RunCost(1.0, 1.0), 0.8)
    results = SparkResults([slow], Latency(100, 0, 0.4, 0.9))
    assert rows(results) == [["slow", "500", "1,000", "0.50", "0.25", "0.80", "MISSED"]]
    assert latency_line(Latency(100, 0, 0.4, 0.9)).endswith(": ok")
    assert latency_line(Latency(100, 1, 0.4, 0.9)).endswith(": MISSED")
    as_json, as_markdown = save(results, tmp_path)
    kept = json.loads(as_json.read_text())
    assert kept["comparisons"][0]["ours"] == {"wall": 2.0, "processor": 4.0}
    assert as_markdown.read_text().count("\n| ") == 3
    assert "| ".join(list(COLUMNS)[:2]) in as_markdown.read_text().replace(" |", "|")
