"""Operators with areas: `geo_area` gives the same rows as the broker."""

import json
import math
import random
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.geo.overlap import Effort, delivers
from gossamer.plus.operators.windows import Window
from gossamer.plus.registry import DEFAULT_WINDOWS
from gossamer.plus.vocabulary import Vocabulary
from tests.support.histories import Row, engine_results, history
from tests.support.places import TOWNS, User, area
from tests.support.spark_frames import COLUMNS, SCHEMA

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gossamer.spark import subscribe
from gossamer.spark.fences.areas import interest_of, read_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOWS = (*DEFAULT_WINDOWS, Window("SHORT", 90.0))
PLACED = f"{SCHEMA}, lat double, lon double, glp string"
# The area is in Pisa; who speaks of Oslo is outside of it.
SPOTS = (TOWNS[3], (43.73, 10.41), (59.9, 10.7), (43.9, 10.4))
AREA: User = [
    ("gpl_circleStatic", "1;km;1;43.72;10.4;6"),
    ("gpl_circleStatic", "2;m;0;43.73;10.41;100"),
    ("gpl_circleStatic", "3;km;1;43.9;10.4;1"),
]
FILTERS = (
    "$GT;3/#",
    "$NEQ;5;t$EQ;ok;s/#",
    "$QUARTERHOURLYAVG/+/+",
    "$SUM;RPT$GT;0$SHORTMAX/+/+",
    "$SUM/+/+",
    "$AVG;RPT$GT;0/#",
    "$GT;10$FIRST$NEQ;5/a;b/x",
    "$LAST;RPT/+/x",
    "$COUNT/+/+",
)


def placed_history(seed: int, length: int) -> list[Row]:
    draw = random.Random(seed)
    rows = history(seed, length)
    for row in rows:
        user: User = []
        lat = lon = None
        if draw.random() < 0.8:
            lat, lon = draw.choice(SPOTS)
            user.append(("gpl_current_pos", f"{lat!r};{lon!r}"))
        if draw.random() < 0.1:
            user += area(draw, 1)
        row.update(lat=lat, lon=lon, glp=json.dumps(user) if user else None)
    return rows


def is_inside(row: Row) -> bool:
    place = None if row["glp"] is None else read_place(row["glp"])
    return delivers(place, interest_of(AREA), -math.inf, Effort())


def frame_of(spark: "SparkSession", rows: list[Row]) -> DataFrame:
    names = (*COLUMNS, "lat", "lon", "glp")
    return spark.createDataFrame([tuple(row[name] for name in names) for row in rows], PLACED)


def collected(frame: DataFrame) -> list[tuple[str, float, str, bytes]]:
    rows = frame.withColumn("micros", F.unix_micros("time")).collect()
    return [(row.filter, row.micros / 1e6, row.topic, bytes(row.payload)) for row in rows]


def test_same_rows_as_the_broker(spark: "SparkSession") -> None:
    rows = placed_history(11, 160)
    source = frame_of(spark, rows).coalesce(1).cache()
    frames = [
        subscribe(spark, filter, source, windows=[WINDOWS[-1]], geo_area=AREA).withColumn(
            "filter", F.lit(filter)
        )
        for filter in FILTERS
    ]
    found = collected(reduce(DataFrame.union, frames))
    differing = 0  # from what comes without an area
    for filter in FILTERS:
        here = sorted(row[1:] for row in found if row[0] == filter)
        there = engine_results(rows, filter, Vocabulary(WINDOWS), is_inside=is_inside)
        assert here == sorted(there), filter
        everywhere = engine_results(rows, filter, Vocabulary(WINDOWS))
        differing += here != sorted(everywhere)
    assert differing > len(FILTERS) // 2


def test_a_stream_gives_the_same_rows(spark: "SparkSession", tmp_path: Path) -> None:
    rows = placed_history(3, 80)
    frame_of(spark, rows).coalesce(1).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(PLACED).parquet(str(tmp_path / "in"))
    filter = "$SUM;RPT/+/x"
    query = (
        subscribe(spark, filter, stream, geo_area=AREA)
        .withColumn("filter", F.lit(filter))
        .writeStream.format("memory")
        .queryName("located_results")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = sorted(row[1:] for row in collected(spark.table("located_results")))
    assert found == sorted(engine_results(rows, filter, Vocabulary(), is_inside=is_inside))
    assert found


def test_images_outside_are_not_looked_at_and_count_no_more(spark: "SparkSession") -> None:
    def count(payload: bytes) -> bytes | None:
        if payload == b"outside":
            raise ValueError("nobody should look")
        return str(len(payload)).encode()

    rows = history(1, 4)
    spots = (SPOTS[0], SPOTS[0], SPOTS[2], SPOTS[0])
    images = ((b"four", "a"), (b"seven77", "b"), (b"outside", "a"), (b"1", "c"))
    for row, (payload, name), (lat, lon) in zip(rows, images, spots, strict=True):
        row.update(topic=f"{name}/gate", payload=payload, lat=lat, lon=lon, expiry=None)
        row.update(glp=json.dumps([("gpl_current_pos", f"{lat};{lon}")]), user_properties={})
        row.update(time=rows[0]["time"])
    found = subscribe(
        spark,
        "$SUM$CNTPPL/+/gate",
        frame_of(spark, rows).coalesce(1),
        processors={"CNTPPL": count},
        geo_area=AREA,
    )
    assert sorted(row.value for row in found.collect()) == [4.0, 7.0, 8.0, 11.0]
