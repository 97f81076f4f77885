"""The bench of links: its readings are what it says; one kind of link on real brokers."""

import json

import pytest

from gossamer_lab.bench.links import (
    KINDS,
    SENSORS,
    LinkCost,
    measure,
    readings,
    table_rows,
    topic_of,
    verdicts,
)

BY_NAME = {kind.name: kind for kind in KINDS}


def test_readings_have_one_size_and_are_no_two_alike() -> None:
    some = list(readings(SENSORS * 10))
    assert len({len(one) for one in some}) == 1
    assert len(set(some)) == len(some)
    assert len({len(topic_of(sensor)) for sensor in range(SENSORS)}) == 1
    assert json.loads(some[SENSORS + 21])["sensor"] == f"s-{21:04d}"
    assert list(readings(10)) == some[:10]


def test_what_is_printed() -> None:
    plain = LinkCost("one by one", "plain", 200.0, 200.0, 10.0, 1_000.0)
    found = [
        plain,
        LinkCost("one by one", "zstd", 200.0, 50.0, 12.0, 900.0),
        LinkCost("one by one", "TLS", 200.0, 200.0, 25.0, 800.0),
    ]
    rows = list(table_rows(found))
    assert [row[4] for row in rows] == ["1.0×", "4.0×", "1.0×"]
    assert [row[6] for row in rows] == ["1.00×", "1.20×", "2.50×"]
    (verdict,) = verdicts(found)
    assert verdict.startswith("MISSED: TLS takes 2.50×")


@pytest.mark.parametrize("kind", ["plain", "zstd, TLS"])
def test_a_link_between_real_brokers(kind: str) -> None:
    cost = measure(BY_NAME[kind], "50 at once", 0.3)
    assert cost.rate > 0
    assert cost.mqtt_bytes > len(next(readings(1)))
    if kind == "plain":
        assert cost.shorter() == 1.0
    else:
        assert cost.shorter() > 3.0
