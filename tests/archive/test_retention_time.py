"""The time by which retention goes, when the wall clock is set or was wrong at the start."""

from pathlib import Path

import pytest

from gossamer.archive.archive import Archive
from gossamer.archive.catalog import now_micros
from gossamer.archive.collector import MICROSECONDS
from gossamer.archive.segment_lifecycle import RetentionTime, expired
from tests.support.archives import Row, settings, write

DAY = 86_400 * MICROSECONDS
NOW = now_micros()


class Clocks:
    def __init__(self, wall: int) -> None:
        self.wall = wall
        self.passed = 5.0

    def wait(self, micros: int) -> None:
        self.wall += micros
        self.passed += micros / MICROSECONDS


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """A row a day for five days, each in a segment of its own."""
    made = Archive(settings(tmp_path, retention_seconds=7 * 86_400.0))
    for day in range(5):
        write(made, [Row(time=NOW - (4 - day) * DAY)])
        made.roll(is_forced=True)
    return made


def removed(archive: Archive, time: RetentionTime) -> int:
    return len(expired(archive.catalog.segments, archive.settings, time.now()))


def of(archive: Archive, clocks: Clocks) -> RetentionTime:
    return RetentionTime(archive.catalog.segments, lambda: clocks.wall, lambda: clocks.passed)


def test_time_goes_on(archive: Archive) -> None:
    clocks = Clocks(NOW)
    time = of(archive, clocks)
    assert removed(archive, time) == 0
    clocks.wait(5 * DAY)
    assert removed(archive, time) == 2
    clocks.wait(30 * DAY)
    assert removed(archive, time) == 5


@pytest.mark.parametrize("step", [30 * DAY, 30_000 * DAY])
def test_a_clock_set_forward_removes_nothing(archive: Archive, step: int) -> None:
    clocks = Clocks(NOW)
    time = of(archive, clocks)
    clocks.wall += step
    assert removed(archive, time) == 0
    clocks.wait(5 * DAY)
    assert removed(archive, time) == 2


def test_a_clock_set_back_removes_nothing(archive: Archive) -> None:
    clocks = Clocks(NOW)
    time = of(archive, clocks)
    clocks.wall -= 100 * DAY
    clocks.wait(20 * DAY)
    assert removed(archive, time) == 0


@pytest.mark.parametrize("wall", [0, 47_000 * DAY])
def test_a_start_with_the_clock_far_off_removes_nothing(archive: Archive, wall: int) -> None:
    clocks = Clocks(wall)
    time = of(archive, clocks)
    assert removed(archive, time) == 0
    clocks.wait(2 * DAY)
    assert removed(archive, time) == 0


def test_a_start_after_some_weeks_is_believed(archive: Archive) -> None:
    assert removed(archive, of(archive, Clocks(NOW + 60 * DAY))) == 5
