"""The city follows from its seed, stays within its streets, and shows pictures that are some."""

import json
from random import Random

import pytest

from gossamer.geo.geojson import areas_in
from gossamer.topics.names import check_name
from gossamer_lab.demo.city_map import BLOCK_METRES, BLOCKS, CENTRE, DISTRICTS, FENCES, corner, spot
from gossamer_lab.demo.devices import Vehicle, all_devices
from gossamer_lab.demo.street_images import HEIGHT, WIDTH, street_picture

NOON = 43_200.0


def test_two_runs_show_the_same_city() -> None:
    first = [device.readings(NOON) for device in all_devices(seed=7, share=0.1)]
    second = [device.readings(NOON) for device in all_devices(seed=7, share=0.1)]
    assert first == second
    assert first != [device.readings(NOON) for device in all_devices(seed=8, share=0.1)]


def test_there_are_a_few_hundred_things_with_names_of_their_own() -> None:
    names = [device.name for device in all_devices()]
    assert 200 <= len(names) <= 500
    assert len(set(names)) == len(names)
    for device in all_devices(share=0.05):
        for reading in device.readings(NOON):
            check_name(reading.topic)


@pytest.mark.parametrize("district", range(len(DISTRICTS)))
def test_a_bus_stays_on_the_streets_of_its_district(district: int) -> None:
    bus = Vehicle(district, 1, Random(3))
    first, last = spot(*corner(district, 0, 0)), spot(*corner(district, BLOCKS, BLOCKS))
    places = set()
    for second in range(600):
        (reading,) = bus.readings(NOON + second)
        assert reading.at is not None
        assert first.lat - 1e-9 <= reading.at.lat <= last.lat + 1e-9
        assert first.lon - 1e-9 <= reading.at.lon <= last.lon + 1e-9
        assert json.loads(reading.payload)["lat"] == round(reading.at.lat, 6)
        places.add((reading.at.lat, reading.at.lon))
    assert len(places) > 200


def test_a_bus_is_not_faster_than_it_says() -> None:
    bus = Vehicle(1, 1, Random(5))
    before = bus.readings(NOON)[0].at
    after = bus.readings(NOON + 1)[0].at
    assert before is not None
    assert after is not None
    metres = max(abs(before.lat - after.lat), abs(before.lon - after.lon)) * 111_320
    assert 0 < metres < BLOCK_METRES


def test_fences_are_areas_within_the_city() -> None:
    for fence in FENCES:
        assert len(areas_in(fence.geometry())) == 1
    assert abs(spot(0, 0).lat - CENTRE[0]) < 1e-12


@pytest.mark.parametrize("daylight", [0.0, 0.5, 1.0])
def test_pictures_can_be_read(daylight: float) -> None:
    cv2 = pytest.importorskip("cv2")
    numpy = pytest.importorskip("numpy")
    data = street_picture(daylight, 4, Random(1))
    pixels = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR)
    assert pixels.shape == (HEIGHT, WIDTH, 3)
    assert len(data) < 20_000
