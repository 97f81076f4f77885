"""A short soak of a real mesh, and what judges a long one: trends, and books that stay small."""

import asyncio
import math
import random
from pathlib import Path

import pytest

from gossamer_lab.torture.ledger import DeliveryLedger, MessageKey, Numbers
from gossamer_lab.torture.soak.levels import (
    DISK,
    MEDIAN,
    MEMORY,
    MOST_POINTS,
    SLOWEST,
    Measure,
    Samples,
    trend,
    warm_up,
)
from gossamer_lab.torture.soak.soak import Follower, SoakPlan, SoakProgress, soak

MEASURE = Measure("memory", "MiB", 8.0, 0.03)
HOUR = 3600.0


def hour(value: "object") -> Samples:
    """A sample every ten seconds of what `value` says of the second."""
    assert callable(value)
    return [(float(at), value(at)) for at in range(0, 3600, 10)]


CHANCE = random.Random(5)
NOISE = {at: CHANCE.gauss(0, 2.0) for at in range(0, 3600, 10)}

SHAPES = {
    "flat": (lambda at: 100.0, True),
    "noise": (lambda at: 100.0 + NOISE[at], True),
    "a cache that fills in ten minutes": (lambda at: 100.0 - 50 * math.exp(-at / 200), True),
    "a sawtooth of files": (lambda at: 100.0 + at % 300 / 10, True),
    "a peak at the end": (lambda at: 100.0 + (80 if at > 3500 else 0), True),
    "shrinking": (lambda at: 100.0 - at / 100, True),
    "96 bytes a message at 360 a second": (lambda at: 100.0 + 96 * 360 * at / 2**20, False),
    "a leak under noise": (lambda at: 100.0 + NOISE[at] + at / 180, False),
    "one step of 30 MiB every ten minutes": (lambda at: 100.0 + at // 600 * 30, False),
}


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_level(name: str) -> None:
    value, is_level = SHAPES[name]
    found = trend("b1", MEASURE, hour(value), warm_up(HOUR))
    assert found is not None
    assert found.is_level == is_level, found


def test_a_slope_is_told_by_the_hour_and_judged_by_its_drift() -> None:
    samples = [(float(at), 100.0 + at / 36) for at in range(0, 3600, 10)]
    found = trend("b1", MEASURE, samples, 1800.0)
    assert found is not None
    assert found.slope == pytest.approx(100.0)
    assert found.drift == pytest.approx(found.slope * found.seconds / HOUR)
    assert found.seconds == pytest.approx(1800.0, rel=0.05)
    assert found.allowed == pytest.approx(8.0 + 0.03 * found.level)


def test_few_samples_say_nothing() -> None:
    assert trend("b1", MEASURE, [(1.0, 1.0), (2.0, 99.0)], 0.0) is None


def test_many_samples_are_joined() -> None:
    samples = [(float(at), 1.0) for at in range(100_000)]
    found = trend("b1", MEASURE, samples, 0.0)
    assert found is not None
    assert found.level == 1.0
    assert MOST_POINTS < 1000


def test_numbers_are_a_set() -> None:
    chance = random.Random(3)
    numbers, model = Numbers(), set[int]()
    for _ in range(2_000):
        number = chance.randint(1, 600)
        assert numbers.add(number) == (number not in model)
        model.add(number)
        assert (number in numbers, len(numbers)) == (True, len(model))
        assert numbers.highest == max(model)
    others, rest = Numbers(), set(chance.sample(range(1, 601), 300))
    for number in rest:
        others.add(number)
    assert numbers.without(others) == sorted(model - rest)
    assert others.without(numbers) == sorted(rest - model)


def test_a_reader_that_wants_one_stream_is_owed_no_other() -> None:
    ledger = DeliveryLedger(["all", "archive"], {"archive": frozenset(["one"])}, is_ordered=False)
    for stream in ("one", "two"):
        for _ in range(2):
            ledger.note_acknowledged(ledger.next_key(stream))
    assert ledger.backlog == 6
    for key in (MessageKey("one", 2), MessageKey("one", 1)):
        ledger.note_received("all", key, 2)
        ledger.note_received("archive", key, 2)
    assert ledger.backlog == 2
    assert not ledger.faults
    ledger.close()
    assert ["all never got 2" in fault for fault in ledger.faults] == [True]


def test_a_follower_sees_a_hole_in_the_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = DeliveryLedger(["archive"])
    follower = Follower("archive", 1, ledger)
    rows = [(0, "x", b"", 0), (1, "load/s", MessageKey("s", 1).payload(20), 1), (3, "x", b"", 0)]
    monkeypatch.setattr(follower, "_read", lambda start: rows)
    asyncio.run(follower.catch_up())
    assert ["offset 3 after 1" in fault for fault in ledger.faults] == [True]
    assert (ledger.received, follower.offsets) == (1, 4)


def test_an_archive_that_cannot_be_read_is_a_fault() -> None:
    ledger = DeliveryLedger(["archive"])
    asyncio.run(Follower("archive", 1, ledger).catch_up())
    assert len(ledger.faults) == 1


@pytest.mark.processes
def test_half_a_minute_keeps_every_promise_and_leaves_nothing_open(tmp_path: Path) -> None:
    """Latency depends on the machine, and files have not reached their size yet: both are
    measured here and judged in long runs."""
    seen: list[SoakProgress] = []
    plan = SoakPlan(minutes=0.5, seed=11, rate=10.0, visitors=6)
    outcome = asyncio.run(soak(plan, tmp_path, seen.append))
    assert outcome.faults == []
    assert outcome.acknowledged > 0
    assert outcome.received >= 4 * outcome.acknowledged  # three readers and an archive
    assert outcome.visits > outcome.refused
    assert outcome.offsets > outcome.acknowledged
    assert len(seen) > 5
    judged = [one for one in outcome.trends if one.measure not in (MEDIAN, SLOWEST, DISK)]
    assert {one.subject for one in judged if one.measure is MEMORY} == {"b1", "b2", "b3"}
    assert [one for one in judged if not one.is_level] == []
