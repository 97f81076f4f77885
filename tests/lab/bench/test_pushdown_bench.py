"""The bench of conditions on links: its cases are what they say; a small one on real brokers."""

import pytest

from gossamer.geo.geolocation import place_of, read_located
from gossamer.geo.glp import parse
from gossamer.geo.interest import Interest
from gossamer.geo.overlap import delivers
from gossamer.plus.grammar import parse as parse_filter
from gossamer.plus.publication import Publication
from gossamer.plus.rules import PASSES, checks_of, judge_all
from gossamer.plus.vocabulary import Vocabulary
from gossamer_lab.bench import pushdown
from gossamer_lab.bench.pushdown import (
    PLAIN,
    PUSHED,
    LinkTraffic,
    PushdownResult,
    measure,
    table_rows,
)
from gossamer_lab.bench.pushdown_cases import SHARES, PushdownCase, cases_of

CASES = {case.name: case for case in cases_of(quick=True)}


def passing(case: PushdownCase) -> float:
    """The part of what is published that the subscription wants, as the core judges it."""
    readings = [case.reading(number) for number in range(case.published)]
    if case.area:
        located = read_located(list(case.area))
        assert located is not None
        interest = Interest(None, located.areas, None, 0.0)
        found = [
            delivers(
                place_of(parse(one.properties.user if one.properties else []), None), interest, 0
            )
            for one in readings
        ]
    else:
        checks = checks_of(parse_filter(case.filter, Vocabulary()).outer)
        contents = [Publication(one.topic, one.payload.encode()) for one in readings]
        found = [judge_all(checks, content) == PASSES for content in contents]
    return sum(found) / len(found)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("form", ["rule, {} % pass", "area, {} % inside"])
def test_a_case_has_the_share_in_its_name(form: str, share: int) -> None:
    assert passing(CASES[form.format(share)]) == pytest.approx(share / 100, abs=0.003)


def test_a_case_on_real_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushdown, "SETTLE_SECONDS", 0.3)
    case = CASES["rule, 10 % pass"]
    found = measure(PushdownCase(case.name, case.filter, case.reading, 300), PUSHED)
    assert found.mode == PUSHED
    assert found.received == 30
    assert len(found.links) == 6
    assert found.messages() > 0
    assert found.bytes() > found.received
    assert found.last_microseconds > 0


def test_the_table() -> None:
    link = LinkTraffic(5, 150, 50)
    pushed = PushdownResult("rule", PUSHED, 10, 1, 2.0, 3.0, {"b1 - b2": link, "b1 - b3": link})
    plain = PushdownResult("rule", PLAIN, 10, 1, 4.0, 5.0, {"b1 - b2": LinkTraffic(90, 2_050, 50)})
    assert list(table_rows([pushed, plain])) == [
        ["rule", "ssf", "10", "1", "10", "200", "10.0×", "100", "2.0", "3.0"],
        ["rule", "sf", "10", "1", "90", "2,000", "", "50", "4.0", "5.0"],
    ]
    assert LinkTraffic(5, 150, 50).since(LinkTraffic(1, 100, 10)) == LinkTraffic(4, 50, 40)
