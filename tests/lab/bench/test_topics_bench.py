"""The measurements run and agree with each other; how fast they come out is not asserted."""

from random import Random

from gossamer.topics.names import check_filter
from gossamer_lab.bench.topic_sets import HOSTILE, REALISTIC
from gossamer_lab.bench.topics import MATCHERS, cover_rows, measure_match


def test_every_set_is_made_of_valid_filters() -> None:
    for make in (*REALISTIC, *HOSTILE):
        made = make(1000, Random(1))
        assert len(made.standing) >= 900
        for filter in [*made.standing, *made.toggled, *made.rotated]:
            check_filter(filter)


def test_covers_are_measured_on_every_set() -> None:
    rows = list(cover_rows(1000))
    assert len(rows) == len(REALISTIC) + len(HOSTILE)
    assert all(0 < row.median <= row.p99 <= row.worst for row in rows)


def test_all_matchers_find_the_same() -> None:
    found = {measure_match(name, 5000, 2000).found for name in MATCHERS}
    assert len(found) == 1
    assert found.pop() > 0
