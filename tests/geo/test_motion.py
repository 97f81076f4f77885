"""Speed and heading from positions, and what remembering them costs."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.budget.ledger import Account
from gossamer.geo.earth import Point, destination
from gossamer.geo.motion import TRACK_BYTES, Motions
from tests.support.earth import gone

HERE = Point(43.72, 179.999)
VAN = ("van", "fleet/van")


def told(*steps: tuple[float, Point]) -> tuple[float | None, float | None]:
    motions = Motions(math.inf)
    for now, at in steps:
        motions.moved(VAN, at, now)
    motion = motions.get(VAN)
    assert motion is not None
    return (
        motion.speed if motion.speed >= 0 else None,
        motion.heading if motion.heading >= 0 else None,
    )


@pytest.mark.parametrize(
    ("steps", "speed", "heading"),
    [
        ([(0, HERE)], None, None),
        ([(0, HERE), (10, gone(HERE, 90, 100))], 10.0, 90.0),
        ([(0, HERE), (10, gone(HERE, 350, 100))], 10.0, 350.0),
        ([(0, HERE), (0.5, gone(HERE, 90, 100))], None, None),  # too soon to tell
        ([(0, HERE), (0.5, gone(HERE, 90, 50)), (1, gone(HERE, 90, 100))], 100.0, 90.0),
        ([(0, HERE), (10, gone(HERE, 90, 100)), (10.5, HERE)], 10.0, 90.0),
        ([(0, HERE), (10, gone(HERE, 90, 0.5))], 0.05, None),  # it stands
        ([(0, HERE), (10, HERE)], 0.0, None),
        ([(0, HERE), (301, gone(HERE, 90, 100))], None, None),  # who knows which way
        ([(100, HERE), (10, gone(HERE, 90, 100))], None, None),  # a clock was set back
    ],
)
def test_what_positions_tell(
    steps: list[tuple[float, Point]], speed: float | None, heading: float | None
) -> None:
    found_speed, found_heading = told(*steps)
    assert found_speed == pytest.approx(speed, abs=1e-6)
    assert found_heading == pytest.approx(heading, abs=1e-3)


@given(
    st.floats(-89, 89),
    st.floats(-180, 180),
    st.floats(0, 359.9),
    st.floats(1, 200_000),
    st.floats(1, 300),
)
def test_the_way_there_is_the_way_gone(
    lat: float, lon: float, azimuth: float, metres: float, seconds: float
) -> None:
    start = Point(lat, lon)
    speed, heading = told((0, start), (seconds, destination(start, math.radians(azimuth), metres)))
    assert speed == pytest.approx(metres / seconds, rel=1e-6, abs=1e-3)
    if metres > 10:
        assert heading is not None
        assert abs(math.remainder(heading - azimuth, 360)) < 0.01


def test_the_oldest_goes_where_there_is_no_room_and_all_in_the_end() -> None:
    account = Account("geo", 10 * (TRACK_BYTES + 10))
    motions = Motions(100.0, account)
    for number in range(50):
        motions.moved((f"{number:02}", "t"), HERE, float(number))
        motions.moved(("00", "t"), HERE, float(number))
        assert account.held <= account.budget
    assert 5 < len(motions) <= 11
    assert motions.get(("00", "t")) is not None
    assert motions.get(("01", "t")) is None
    motions.moved(("late", "t"), HERE, 200.0)
    assert len(motions) == 1  # the others are too old by now
    motions.clear()
    assert account.held == 0
    full = Motions(100.0, Account("geo", 10))
    full.moved(VAN, HERE, 0.0)
    assert len(full) == 0
