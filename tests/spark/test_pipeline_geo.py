"""Positions of a real broker's clients to tracks, visits and dwell times."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.wire.packets import Request, Suback, Subscribe
from gossamer.wire.properties import Properties
from tests.support.admin_service import TOKEN, admin_port
from tests.support.archive_brokers import archiving, endpoint, publish
from tests.support.live import LiveBroker, RawClient

pytest.importorskip("pyspark")

from gossamer.spark import table
from gossamer.spark.pipelines.geo import from_subscriptions
from gossamer.spark.pipelines.pipeline import AdminAccess, PipelineError, PipelineSettings
from gossamer.spark.pipelines.run import PipelineRun, find

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

YARD = {"type": "Polygon", "coordinates": [[[10, 43], [11, 43], [11, 44], [10, 44], [10, 43]]]}


def go(broker: LiveBroker, topic: str, *longitudes: float) -> None:
    for longitude in longitudes:
        publish(broker, [(topic, b"")], {"gpl_current_pos": f"43.5;{longitude}"})


def test_from_positions_to_dwell_times(spark: "SparkSession", tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    fences = tmp_path / "yard.geojson"
    fences.write_text(json.dumps({"type": "Feature", "id": "yard", "geometry": YARD}))

    def rows(name: str, *columns: str) -> list[tuple[object, ...]]:
        frame = table(spark, f"{lake}/geo/{name}").selectExpr(*columns)
        return sorted(tuple(row) for row in frame.collect())

    with archiving(tmp_path / "archive") as broker:
        settings = PipelineSettings(endpoint(broker), str(lake), is_once=True, fences=str(fences))
        go(broker, "van/1", 9.5, 10.5, 10.6, 11.5)
        go(broker, "van/2", 9.0)
        publish(broker, [("van/3", b"I do not know where I am")])
        PipelineRun(spark, find("geo"), settings).follow(lambda step: None)
        assert rows("visits", "fence", "topic", "client", "positions", "ended") == [
            ("yard", "van/1", "publisher", 2, "left")
        ]
        tracks = rows("tracks", "topic", "positions", "round(metres / 1000) as km", "size(path)")
        assert tracks == [("van/1", 4, 162.0, 4), ("van/2", 1, 0.0, 1)]

        # Another batch of the same day: its tables are computed anew, from all positions.
        go(broker, "van/2", 10.5)
        PipelineRun(spark, find("geo"), settings).follow(lambda step: None)
    assert rows("visits", "topic", "ended") == [("van/1", "left"), ("van/2", "there")]
    assert rows("dwells", "fence", "visits", "visitors") == [("yard", 2, 2)]
    assert [row[:2] for row in rows("tracks", "topic", "positions")] == [("van/1", 4), ("van/2", 2)]


def test_fences_of_subscriptions(tmp_path: Path) -> None:
    with archiving(tmp_path) as broker:
        admin = AdminAccess("127.0.0.1", admin_port(broker), TOKEN)
        with pytest.raises(PipelineError, match="no subscription has areas"):
            from_subscriptions([admin])
        client = RawClient.to(broker.port())
        assert client.login(client_id="watch").reason == 0
        areas = {"van/+": "gpl_circleStatic", "van/#": "gpl_circleDynamic", "plain/#": ""}
        values = {"gpl_circleStatic": "1;km;1;43.5;10.5;5", "gpl_circleDynamic": "1;km;1;5"}
        for number, (filter, key) in enumerate(areas.items(), 1):
            properties = Properties()
            if key:
                properties.user = [(key, values[key]), ("gpl_events", "enter")]
            client.send(Subscribe(number, [Request(filter, 0)], properties))
            assert client.expect(Suback).reasons == [0]
        found = from_subscriptions([admin])
        client.close()
    assert found == {"watch van/+": [("gpl_circleStatic", "1;km;1;43.5;10.5;5")]}


def test_fences_are_needed(spark: "SparkSession", tmp_path: Path) -> None:
    with archiving(tmp_path) as broker, pytest.raises(PipelineError, match="--fences"):
        PipelineRun(spark, find("geo"), PipelineSettings(endpoint(broker), str(tmp_path / "lake")))
