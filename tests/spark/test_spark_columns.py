"""Columns against the core's functions: topics, numbers, times, on many inputs in one job each."""

import random
import struct
from itertools import product
from typing import TYPE_CHECKING

import pytest

from gossamer.plus import publication, values
from gossamer.topics.names import matches as core_matches
from tests.cases.payloads import ODD, PLAIN

pytest.importorskip("pyspark")

from pyspark.sql import functions as F

from gossamer.spark.compiler.topics import matches
from gossamer.spark.compiler.values import read_number, read_time, write_number

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILTERS = (
    "#", "+", "/", "+/+", "a", "a/#", "a/+", "+/b", "+/#", "a/+/#", "a/b/#", "/#", "$SYS/#",
    "$SYS/+", "a.b/+", "(a/#", "a\\\\E/+", "+/é",
)  # fmt: skip
TIMES = (
    "2018-05-24T15:36:25",
    "24/05/2018 15:36:25",
    "31/02/2018 15:36:25",
    "5/24/2018 15:36:25",
    "24/05/2018 15:36:25Z",
    "2031-05-24T15:36:25Z",
    "2099-12-31T23:59:59Z",
    "9999-12-31T23:59:59Z",
    "2031-05-24t15:36:25.123456789+02:30",
    "2031-05-24 15:36:60-00:30",
    "1970-01-01T00:00:00Z",
    "2031-02-29T00:00:00Z",
    "2032-02-29T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "2031-05-24T24:00:00Z",
    "2031-05-24T15:36:25",
    "2031-05-24T15:36:25Z\\n",
    "٢031-05-24T15:36:25Z",
    "soon",
    "",
)


def test_topics(spark: "SparkSession") -> None:
    levels = ("", "a", "b", "a.b", "$SYS", "(a", "a\\\\E", "é", "a\nb")
    topics = ["/".join(topic) for depth in (1, 2, 3) for topic in product(levels, repeat=depth)]
    frame = spark.createDataFrame([(topic,) for topic in topics], "topic string")
    columns = [
        matches((filter,), F.col("topic")).alias(str(at)) for at, filter in enumerate(FILTERS)
    ]
    for row in frame.select("topic", *columns).collect():
        found = [filter for at, filter in enumerate(FILTERS) if row[str(at)]]
        assert found == [filter for filter in FILTERS if core_matches(filter, row.topic)], row.topic


def test_numbers_are_written_as_the_broker_writes_them(spark: "SparkSession") -> None:
    draw = random.Random(5)
    bits = [struct.unpack("<d", draw.randbytes(8))[0] for _ in range(3000)]
    numbers = [
        *(number for number in bits if number - number == 0.0),
        *(draw.uniform(-1, 1) * 10.0 ** draw.randint(-8, 20) for _ in range(2000)),
        *(n * 2.0**-1074 for n in range(1, 60)),
        *(10.0**n for n in range(-30, 31)),
        0.0, 1e23, 2.0**-44, 123456789.0, 1e15, 1e16, 9.5e-5, 1.7976931348623157e308,
    ]  # fmt: skip
    frame = spark.createDataFrame([(number,) for number in numbers], "x double")
    for row in frame.select("x", write_number(F.col("x")).alias("text")).collect():
        assert row.text == values.write_number(row.x).decode()


def test_numbers_are_read_as_the_broker_reads_them(spark: "SparkSession") -> None:
    texts = [
        *PLAIN,
        *ODD,
        "1e308",
        "1e309",
        "0.1e1",
        "1.",
        ".5",
        "1d",
        "1f",
        "Infinity",
        "-1E+2",
        "١",
        "9" * 64,
        "9" * 65,
        "9" * 129,
        "0x1p3",
        "1_0",
    ]
    draw = random.Random(6)
    letters = "0019.-+eEdfxp \t"
    texts += ["".join(draw.choices(letters, k=draw.randint(1, 6))) for _ in range(2000)]
    frame = spark.createDataFrame([(text,) for text in texts], "text string")
    for row in frame.select("text", read_number(F.col("text")).alias("x")).collect():
        value = values.read_number(row.text.encode())
        assert row.x == (value if value - value == 0.0 else None), row.text


def test_times(spark: "SparkSession") -> None:
    frame = spark.createDataFrame([(text,) for text in TIMES], "text string")
    for row in frame.select("text", read_time(F.col("text")).alias("seconds")).collect():
        try:
            expected: float | None = publication.read_time(row.text)
        except ValueError:
            expected = None
        assert row.seconds == expected, row.text
