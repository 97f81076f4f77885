"""Pauses between tries: they grow, have an upper bound, and differ from one to another."""

from random import Random

import pytest

from gossamer.backoff import SHORTEST_PART, Backoff, Patience, pause_after


@pytest.mark.parametrize(
    ("failures", "pause"), [(0, 0.1), (1, 0.2), (5, 3.2), (9, 10.0), (100_000, 10.0)]
)
def test_pauses_double_up_to_the_longest(failures: int, pause: float) -> None:
    assert pause_after(failures, 0.1, 10.0) == pytest.approx(pause)


@pytest.mark.parametrize("failures", [20, 40])
def test_pauses_that_grow_by_a_tenth_are_a_tenth_of_the_time_before(failures: int) -> None:
    before = sum(pause_after(each, 0.1, 10.0, 1.1) for each in range(failures))
    assert pause_after(failures, 0.1, 10.0, 1.1) == pytest.approx(before / 10 + 0.1)
    assert pause_after(100_000, 0.1, 10.0, 1.1) == 10.0


@pytest.mark.parametrize("seed", range(5))
def test_each_is_drawn_from_the_upper_part(seed: int) -> None:
    backoff = Backoff(1.0, 8.0, Random(seed))
    for full in (1.0, 2.0, 4.0, 8.0, 8.0):
        assert SHORTEST_PART * full <= backoff.pause() <= full
    backoff.reset()
    assert backoff.pause() <= 1.0


def test_two_that_fail_together_do_not_go_on_so() -> None:
    one, other = Backoff(1.0, 8.0), Backoff(1.0, 8.0)
    assert [one.pause() for _ in range(5)] != [other.pause() for _ in range(5)]


def test_patience_ends_so_many_seconds_after_the_first_failure() -> None:
    patience, now, tries = Patience(60.0), 1_000.0, 0
    while (pause := patience.pause(now)) is not None:
        now += pause
        tries += 1
    assert 1_055.0 <= now <= 1_060.0
    assert 60 / 5 <= tries < 40
    patience.reset()
    assert patience.pause(now) is not None


def test_no_patience_is_one_try() -> None:
    assert Patience(0.0).pause(5.0) is None
