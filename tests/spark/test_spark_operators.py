"""One language, two engines: random histories give the same rows in Spark as in the broker."""

import json
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.plus.encodings import CBOR, as_json
from gossamer.plus.operators.windows import SessionWindow, SlidingWindow, Window
from gossamer.plus.plan import PlusError
from gossamer.plus.registry import DEFAULT_WINDOWS
from gossamer.plus.time_zones import zone_of
from gossamer.plus.vocabulary import Vocabulary
from tests.support.cbor_writer import cbor
from tests.support.histories import END_OF_TIME, Row, engine_results, history
from tests.support.spark_frames import frame_of, in_files

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gossamer.spark import subscribe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "STDDEV", "MEDIAN", "P95", "FIRST", "LAST")
SECONDS_90 = Window("SHORT", 90.0)
BERLIN = zone_of("Europe/Berlin")
WINDOWS = (
    SECONDS_90,
    SlidingWindow("SLIDE", 3_600.0, 600.0),
    SlidingWindow("WEEK", 604_800.0, 86_400.0, BERLIN),
    SessionWindow("VISIT", 300.0),
    Window("DAY", 86_400.0, BERLIN),
    Window("SHIFT", 28_800.0, zone_of("America/Sao_Paulo")),
    Window("LESSON", 2_700.0, zone_of("Asia/Kathmandu")),
)

RULES = (
    "$GT;3/#",
    "$LTE;30$GTE;-12.75$NEQ;5/+/+",
    "$EQ;30/+/x",
    "$CONTAINS;ho/a/#",
    "$EQ;hot/b/+",
    "$NEQ;5;t$EQ;ok;s/#",
    "$EQ;null;t/#",
    "$CONTAINS;1;t/#",
    "$CONTAINS;x;d/#",
    "$GT;0;d.l.1/#",
    "$GT;0;%2F0%2Ft/#",
)
# Each function once over time, and once over topics.
TEMPORAL = (
    *(
        f"${over_topics}$QUARTERHOURLY{over_time}/+/+"
        for over_topics, over_time in zip(FUNCTIONS, reversed(FUNCTIONS), strict=True)
    ),
    "$GT;1$HOURLYAVG;;t/#",
    "$CONTAINS;5$SHORTMAX/+/x",
    "$SUM;RPT/a%2Fx;b%2Fy;x",
    "$MAX$SHORTSUM/a%2Fx;b%2Fy",
    "$GT;0/a%25/+",
    "$SHORTMAX/a%25/#",
    "$LT;1e5$AVG;RPT$GT;-1e5$DAILYSUM/+/+",
)
OF_OTHER_WINDOWS = (
    "$SLIDEAVG/+/+",
    "$GT;1$SUM$SLIDELAST/+/+",
    "$WEEKCOUNT/#",
    "$VISITSUM;;t/#",
    "$VISITLAST/+/x",
    "$SUM$DAYMAX/+/+",
    "$SHIFTCOUNT/#",
    "$LESSONMIN/#",
    "$VISITMAX$CHANGED;1/#",
)
SPATIAL = (
    "$STDDEV/+/+",
    "$AVG;RPT$GT;0/#",
    "$SUM;RPT;t$EQ;ok;s/+/+",
    "$GT;10$FIRST$NEQ;5/a;b/x",
)
# Each sequence alone, with rules, with each other, inside of aggregates and around them.
SEQUENCES = (
    "$CHANGED;2/#",
    "$CHANGED;;s/+/+",
    "$EVERY;5min/#",
    "$ABSENT;10min$GT;0/#",
    "$GT;0$RATE;1h/+/+",
    "$DELTA;;t/#",
    "$EVERY;2min$CHANGED;1$DELTA/#",
    "$SUM;RPT$ABSENT;15min/+/+",
    "$AVG$EVERY;5min/+/x",
    "$SUM$HOURLYSUM$DELTA/+/+",
    "$CHANGED;5$AVG/+/+",
    "$GT;0$DELTA$QUARTERHOURLYMAX/+/+",
    "$SUM;RPT;t$BY;s/+/+/+",
)


def same_rows(
    spark: "SparkSession", filters: tuple[str, ...], rows: list[Row], until: float = END_OF_TIME
) -> list[tuple[str, list[object], list[object]]]:
    """Those filters for which Spark and the broker differ, in one job."""
    source = frame_of(spark, rows)
    results = [
        subscribe(spark, filter, source, windows=WINDOWS).withColumn("filter", F.lit(filter))
        for filter in filters
    ]
    found = collected(reduce(DataFrame.union, results))
    vocabulary = Vocabulary((*DEFAULT_WINDOWS, *WINDOWS))
    differences: list[tuple[str, list[object], list[object]]] = []
    for filter in filters:
        here = sorted(row[1:] for row in found if row[0] == filter)
        there = sorted(engine_results(rows, filter, vocabulary, until=until))
        if here != there:
            missing = [row for row in here if row not in there]
            differences.append((filter, list[object](missing[:3]), list[object](there[:3])))
    return differences


def collected(frame: DataFrame) -> list[tuple[str, float, str, bytes]]:
    rows = frame.withColumn("micros", F.unix_micros("time")).collect()
    return [(row.filter, row.micros / 1e6, row.topic, bytes(row.payload)) for row in rows]


@pytest.mark.parametrize(
    "filters",
    [RULES, TEMPORAL, OF_OTHER_WINDOWS, SPATIAL],
    ids=["rules", "temporal", "windows", "spatial"],
)
def test_same_rows_as_the_broker(spark: "SparkSession", filters: tuple[str, ...]) -> None:
    assert same_rows(spark, filters, history(7, 160)) == []


@pytest.mark.parametrize("filter", SEQUENCES)
def test_sequences_give_the_same_rows(spark: "SparkSession", filter: str) -> None:
    """What falls due after the last message is not in a history, but the windows that it is in."""
    rows = history(11, 160)
    last = rows[-1]["time"].timestamp()
    is_over_time = "HOURLY" in filter
    assert same_rows(spark, (filter,), rows, END_OF_TIME if is_over_time else last) == []


EXTREMES = {
    "a/far": ("1e308", "-1e308", "1.7e308"),
    "a/one": ("1.7976931348623157e308",),
    "a/mixed": ("1e200", "3", "-2.5e199", "0.1"),
    "a/wide": ("1e153", "1e150", "7e152"),
    "a/small": ("5e-324", "1e-310", "0"),
}


def test_extreme_magnitudes_give_the_same_rows(spark: "SparkSession") -> None:
    payloads = [(topic, text) for topic, texts in EXTREMES.items() for text in texts]
    rows = history(5, len(payloads))
    for row, (topic, text) in zip(rows, payloads, strict=True):
        row["topic"], row["payload"], row["time"] = topic, text.encode(), rows[0]["time"]
    assert same_rows(spark, ("$DAILYSTDDEV/a/+", "$DAILYMAX/a/+"), rows) == []


def test_streams_give_the_same_rows(spark: "SparkSession", tmp_path: Path) -> None:
    rows = history(3, 80)
    vocabulary = Vocabulary((*DEFAULT_WINDOWS, *WINDOWS))
    stream = in_files(spark, rows, tmp_path / "in", files=2)
    filters = (
        "$AVG;RPT$QUARTERHOURLYSUM/+/+",
        "$SUM;RPT/+/x",
        "$EVERY;5min$CHANGED;1/+/x",
        "$DAYCOUNT/#",
        "$VISITSUM/+/+",
    )
    for at, filter in enumerate(filters):
        query = (
            subscribe(spark, filter, stream, windows=WINDOWS)
            .withColumn("filter", F.lit(filter))
            .writeStream.format("memory")
            .queryName(f"results{at}")
            .option("checkpointLocation", str(tmp_path / f"checkpoint{at}"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        found = sorted(row[1:] for row in collected(spark.table(f"results{at}")))
        assert found == sorted(engine_results(rows, filter, vocabulary))


def test_a_processor_runs_on_the_executors(spark: "SparkSession") -> None:
    def count_letters(payload: bytes) -> bytes | None:
        if payload == b"poison":
            raise ValueError("no image")
        return str(len(payload)).encode() if payload else None

    rows = history(1, 3)
    for row, payload in zip(rows, (b"four", b"poison", b""), strict=True):
        row["topic"], row["payload"] = "gate/image", payload
    found = subscribe(
        spark,
        "$GT;3$CNTPPL/+/image",
        frame_of(spark, rows),
        processors={"CNTPPL": count_letters},
    ).collect()
    assert [(row.topic, bytes(row.payload), row.value) for row in found] == [
        ("$GT;3$CNTPPL/gate/image", b"4", 4.0)
    ]


def test_encoded_payloads_give_the_same_rows_as_json(spark: "SparkSession") -> None:
    rows = history(13, 80)
    coded = []
    for row in rows:
        try:
            value: object = json.loads(row["payload"])
        except ValueError:
            value = row["payload"].decode("latin-1")
        if isinstance(value, int) and abs(value) >= 1 << 64:
            value = str(value)
        payload = cbor(value)
        row["payload"] = as_json(payload, CBOR)
        coded.append({**row, "payload": payload})
    source = frame_of(spark, coded)
    filters = ("$SUM/+/+", "$AVG;;t$EQ;ok;s/#", "$HOURLYMAX;;t/+/+", "$SUM$HOURLYSUM/+/+")
    found = collected(
        reduce(
            DataFrame.union,
            [
                subscribe(spark, one, source, payloads={"#": CBOR}).withColumn("filter", F.lit(one))
                for one in filters
            ],
        )
    )
    for filter in filters:
        here = sorted(row[1:] for row in found if row[0] == filter)
        assert here == sorted(engine_results(rows, filter, Vocabulary())), filter
        assert here
    passed = subscribe(spark, "$GT;0/a/#", source, payloads={"a/#": CBOR}).collect()
    assert {bytes(row.payload) for row in passed} <= {row["payload"] for row in coded}
    assert passed
    with pytest.raises(PlusError, match="plain text and JSON only"):
        subscribe(spark, "$CHANGED/a/#", source, payloads={"a/#": CBOR})


def test_any_frame_with_topic_payload_and_time_will_do(spark: "SparkSession") -> None:
    frame = spark.createDataFrame(
        [("a/t", "3"), ("b/t", "5"), ("a", "7")], "topic string, payload string"
    )
    timed = frame.withColumn("time", F.timestamp_seconds(F.lit(1_000_000)))
    assert [row.value for row in subscribe(spark, "a/#", timed).orderBy("value").collect()] == [
        3,
        7,
    ]
    summed = subscribe(spark, "$SUM;RPT$DAILYMAX/+/t", timed).collect()
    assert [(row.topic, row.value) for row in summed] == [("$SUM;RPT$DAILYMAX/a;b/t", 8.0)]


def test_what_is_refused(spark: "SparkSession") -> None:
    frame = spark.createDataFrame([("a", "1")], "topic string, payload string")
    with pytest.raises(ValueError, match="no column 'time'"):
        subscribe(spark, "a", frame)
    timed = frame.withColumn("time", F.current_timestamp())
    with pytest.raises(PlusError, match="operator 1, \\$NOPE"):
        subscribe(spark, "$NOPE/a", timed)
    with pytest.raises(PlusError, match="both kinds of quotes"):
        subscribe(spark, "$GT;1;a'b\"c/a", timed)
