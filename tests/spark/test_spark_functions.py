"""Operators and fences as functions: the examples of their docstrings, and in SQL."""

import doctest
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.geo.earth import Point, distance
from gossamer.topics.names import matches
from tests.support.archive_brokers import archiving, endpoint, publish

pytest.importorskip("pyspark")

from pyspark.sql import functions as F

from gossamer.spark import functions as g
from gossamer.spark.fences.areas import interest_of, read_area

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

YARD = {
    "type": "Polygon",
    "coordinates": [[[10.3, 43.7], [10.5, 43.7], [10.5, 43.8], [10.3, 43.8], [10.3, 43.7]]],
}
MESSAGES = [
    ("plant/1/temp", b'{"t": 21.5}', 43.72, 10.4),
    ("plant/2/temp", b'{"t": 35, "n": "x"}', 44.0, 10.4),
    ("office", b"on", None, None),
]


@pytest.fixture(scope="module")
def rows(spark: "SparkSession") -> "DataFrame":
    return spark.createDataFrame(
        [(topic, bytearray(payload), lat, lon) for topic, payload, lat, lon in MESSAGES],
        "topic string, payload binary, lat double, lon double",
    ).coalesce(1)


def test_the_examples(spark: "SparkSession", rows: "DataFrame") -> None:
    names = {"g": g, "F": F, "spark": spark, "rows": rows, "yard": YARD}
    found = doctest.testmod(g, extraglobs=names, report=False)
    assert found.attempted > 10
    assert found.failed == 0


@pytest.mark.parametrize("filter", ["#", "plant/+/temp", "plant/#", "office", "+/1/#", "$SYS/#"])
def test_topics_match_as_in_the_core(rows: "DataFrame", filter: str) -> None:
    found = rows.where(g.matches("topic", filter)).collect()
    assert [row.topic for row in found] == [one[0] for one in MESSAGES if matches(filter, one[0])]


def test_sql(spark: "SparkSession", rows: "DataFrame") -> None:
    rows.createOrReplaceTempView("things")
    g.register(spark, court=YARD)
    query = """
        select count_if(gossamer_matches(topic, 'plant/+/temp')) as plants,
               count_if(gossamer_within(lat, lon, 'court')) as inside,
               max(gossamer_distance(lat, lon, 43.72D, 10.4D)) as metres
        from things
    """
    [row] = spark.sql(query).collect()
    assert (row.plants, row.inside) == (2, 1)
    assert row.metres == distance(Point(44.0, 10.4), Point(43.72, 10.4))
    [row] = spark.sql("select gossamer_average(lat) as mean from things").collect()
    assert row["mean"] == (43.72 + 44.0) / 2


def test_an_archive_is_a_view_of_sql(spark: "SparkSession", tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as broker:
        publish(broker, [("plant/1/temp", b"21"), ("plant/2/temp", b"23"), ("office", b"5")])
        where = f"using gossamer options (brokers '{endpoint(broker)}')"
        spark.sql(f"create temporary view archived {where}")
        query = "select topic from archived where gossamer_matches(topic, 'plant/#') order by topic"
        try:
            g.register(spark)
            found = [row.topic for row in spark.sql(query).collect()]
        finally:
            spark.sql("drop view archived")
    assert found == ["plant/1/temp", "plant/2/temp"]


def test_places_are_inside_as_in_the_core(spark: "SparkSession") -> None:
    area = [("gpl_circleStatic", "1;km;1;43.72;10.40;5")]
    region = interest_of(read_area(area)).region
    places = [(43.6 + 0.01 * y, 10.2 + 0.02 * x) for y in range(20) for x in range(20)]
    frame = spark.createDataFrame([*places, (None, 1.0), (99.0, 1.0)], "lat double, lon double")
    found = sorted(
        (row.lat, row.lon) for row in frame.where(g.within("lat", "lon", area)).collect()
    )
    assert found == sorted(place for place in places if region.contains(Point(*place)))


def test_groups(rows: "DataFrame") -> None:
    found = rows.groupBy().agg(
        g.total(g.number("payload", "t")).alias("sum"),
        g.average(g.number("payload", "t")).alias("mean"),
        g.deviation(g.number("payload", "t")).alias("spread"),
    )
    assert [tuple(row) for row in found.collect()] == [(56.5, 28.25, 6.75)]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="no fence that was defined"):
        g.within("lat", "lon", "nowhere")
    with pytest.raises(ValueError, match="NOPE"):
        g.passes("payload", "$NOPE;1")
    with pytest.raises(ValueError, match="#"):
        g.matches("topic", "a/#/b")
