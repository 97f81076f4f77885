"""Geofences on Spark: the same messages reach a fenced subscription as from the broker."""

import json
import random
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.geo.areas import GlpError
from gossamer.geo.spatial_index import FIRST, LAST, Level
from tests.support.memory import World
from tests.support.places import SCHEMA, Row, User, fence, located_messages

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gossamer.spark import subscribe, within
from gossamer.spark.fences.areas import read_area
from gossamer.spark.fences.cells import cell_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PISA = "gpl_circleStatic=1;km;1;43.72;10.40;5"
SQUARE = {"type": "Polygon", "coordinates": [[[10, 43], [11, 43], [11, 44], [10, 44], [10, 43]]]}


def delivered(fences: list[User], messages: list[tuple[User, Row]]) -> list[set[str]]:
    """What a broker's subscribers with these fences get."""
    world = World()
    clients = [world.client(f"reader{at}") for at in range(len(fences))]
    for client, entries in zip(clients, fences, strict=True):
        client.subscribe("t/#", user=entries)
    for number, (user, row) in enumerate(messages):
        # A publisher for each, so that none is where an earlier message said.
        writer = world.client(f"writer{number}")
        writer.publish(row[1], row[2].decode(), user=user)
        writer.disconnect()
    return [{message.topic for message in client.messages()} for client in clients]


def topics(frame: DataFrame) -> set[str]:
    return {row.topic for row in frame.collect()}


def by_fence(frame: DataFrame) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    rows = frame.select("fence", "topic").collect()
    for row in rows:
        found.setdefault(row.fence, set()).add(row.topic)
    assert len(rows) == sum(len(got) for got in found.values())
    return found


def frame_of(spark: "SparkSession", rows: list[Row]) -> DataFrame:
    return spark.createDataFrame(rows, SCHEMA)


def test_the_same_messages_as_from_the_broker(spark: "SparkSession") -> None:
    draw = random.Random(1)
    fences = [fence(draw) for _ in range(6)]
    messages = list(located_messages(draw, 200))
    expected = {str(at): got for at, got in enumerate(delivered(fences, messages))}
    silent = {row[1] for user, row in messages if not user}
    assert any(silent < got for got in expected.values())
    source = frame_of(spark, [row for _, row in messages]).coalesce(1).cache()
    frames = [
        subscribe(spark, "t/#", source, geo_area=entries).withColumn("fence", F.lit(str(at)))
        for at, entries in enumerate(fences)
    ]
    assert by_fence(reduce(DataFrame.union, frames)) == expected
    inside = {name: got - silent for name, got in expected.items() if got - silent}
    assert by_fence(within(source, dict(zip(expected, fences, strict=True)))) == inside


def test_a_stream_is_fenced_like_a_history(spark: "SparkSession", tmp_path: Path) -> None:
    draw = random.Random(5)
    source = frame_of(spark, [row for _, row in located_messages(draw, 60)])
    source.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
    entries = fence(draw)
    frames = {
        "fenced": subscribe(spark, "t/#", stream, geo_area=entries),
        "inside": within(stream, {"one": entries}),
    }
    for name, frame in frames.items():
        query = (
            frame.writeStream.format("memory")
            .queryName(name)
            .option("checkpointLocation", str(tmp_path / name))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    assert topics(spark.table("fenced")) == topics(
        subscribe(spark, "t/#", source, geo_area=entries)
    )
    assert topics(spark.table("inside")) == topics(within(source, {"one": entries}))


def test_operators_read_what_is_inside(spark: "SparkSession") -> None:
    rows = [("a/t", "1", 43.72, 10.4), ("b/t", "2", 43.73, 10.4), ("c/t", "4", 59.9, 10.7)]
    frame = spark.createDataFrame(rows, "topic string, payload string, lat double, lon double")
    timed = frame.withColumn("time", F.timestamp_seconds(F.lit(1_000_000)))
    found = subscribe(spark, "$SUM$DAILYMAX/+/t", timed, geo_area=PISA).collect()
    assert [row.value for row in found] == [3.0]


def test_fences_as_a_frame(spark: "SparkSession") -> None:
    rows = [("van", 43.72, 10.4), ("ship", 43.2, 10.1), ("lost", None, None), ("odd", 91.0, 0.0)]
    frame = spark.createDataFrame(rows, "topic string, lat double, lon double")
    fences = spark.createDataFrame(
        [("town", PISA), ("square", json.dumps(SQUARE))], "fence string, area string"
    )
    found = within(frame, fences)
    assert found.columns == ["fence", "topic", "lat", "lon"]
    assert {(row.fence, row.topic) for row in found.collect()} == {
        ("town", "van"),
        ("square", "van"),
        ("square", "ship"),
    }
    assert within(frame, {}).collect() == []
    with pytest.raises(ValueError, match="same name"):
        within(frame, fences.union(fences))


def test_cells_are_those_of_the_index(spark: "SparkSession") -> None:
    draw = random.Random(3)
    points = [(draw.uniform(-90, 90), draw.uniform(-180, 180)) for _ in range(500)]
    points += [(lat, lon) for lat in (-90.0, 0.0, 90.0) for lon in (-180.0, 0.0, 180.0)]
    levels = range(FIRST, LAST + 1)
    frame = spark.createDataFrame(points, "lat double, lon double")
    cells = frame.select(*(cell_at(level, F.col("lat"), F.col("lon")) for level in levels))
    grids = [Level(level) for level in levels]
    for row, point in zip(cells.collect(), points, strict=True):
        assert list(row) == [grid.cell_at(*point) for grid in grids]


def test_what_an_area_may_be() -> None:
    circle = [("gpl_circleStatic", "1;km;1;43.72;10.40;5")]
    assert read_area(PISA) == circle
    assert read_area(circle) == circle
    assert read_area(json.dumps(circle)) == circle
    wrapped = {"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": SQUARE}]}
    assert read_area(wrapped) == read_area(json.dumps(SQUARE)) == read_area(SQUARE)


@pytest.mark.parametrize(
    ("area", "complaint"),
    [
        ("gpl_circleStatic=1;km;1;95;10;5", "latitude '95' is not from -90 to 90"),
        ("gpl_circle=1", "no such entry"),
        ("circle", "keys begin with gpl_"),
        ("{", "not JSON"),
        ('[["gpl_circleStatic"]]', "pairs of key and text"),
        ({"type": "Point", "coordinates": [1, 2]}, "no Polygon"),
        (PISA + "\ngpl_events=enter", "gpl_events has no meaning here"),
    ],
)
def test_what_is_no_area(area: "str | dict[str, object]", complaint: str) -> None:
    with pytest.raises((ValueError, GlpError), match=complaint):
        read_area(area)
