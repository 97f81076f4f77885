"""The bench of MQTT+ in small: the paper's equations hold, and every table is filled."""

import pytest

from gossamer.broker.broker import Broker
from gossamer_lab.bench.loopback import LoopbackClient, run_plain
from gossamer_lab.bench.plus import (
    IMAGE_BYTES,
    PUBLISH_BYTES,
    run_engine,
    run_images,
    run_numeric,
)


@pytest.mark.parametrize("way", ["MQTT", "SKR", "RPT"])
@pytest.mark.parametrize(("sensors", "subscribers"), [(10, 1), (50, 3)])
def test_downlink_of_averages_is_that_of_the_equations(
    way: str, sensors: int, subscribers: int
) -> None:
    assert abs(run_numeric(way, sensors, subscribers, 2).deviation) < 0.05


@pytest.mark.parametrize("way", ["MQTT", "CNTPPL"])
def test_downlink_of_images_is_that_of_the_equations(way: str) -> None:
    assert abs(run_images(way, 5, 2, 2).deviation) < 0.05


def test_counting_people_saves_what_the_paper_says() -> None:
    saved = run_images("MQTT", 5, 2, 2).downlink / run_images("CNTPPL", 5, 2, 2).downlink
    assert saved == pytest.approx(IMAGE_BYTES / PUBLISH_BYTES, rel=0.1)


def test_the_engine_makes_results() -> None:
    run = run_engine(100, 20, 2, 1000)
    assert run.results > 0
    assert run.operators == 20


def test_plain_forwarding_is_measured_both_ways() -> None:
    def add_operator(broker: Broker) -> None:
        LoopbackClient(broker, "dashboard").subscribe("$AVG/room/+")

    run = run_plain(1, add_operator, 1000, 5)
    assert run.without > 0
    assert run.beside > 0
