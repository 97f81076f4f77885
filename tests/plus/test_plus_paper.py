"""Every row of the paper's Table 1 and every example of its sections 3.1 to 3.6."""

import json

import pytest

from gossamer.plus.grammar import parse
from gossamer.plus.plan import PlusError
from tests.support.plus import VOCABULARY, Bench

DAY = 86_400.0
HOUR = 3_600.0

TABLE_1 = [
    ("$EQ;30", ["30", "30.0", "3e1", " 30 "], ["31", "thirty"]),
    ("$EQ;open", ["open"], ["closed", "open ", '"open"']),
    ("$NEQ;30", ["31", "thirty"], ["30", "30.0"]),
    ("$NEQ;open", ["closed", "30"], ["open"]),
    ("$GT;30", ["30.1", "1e3"], ["30", "29", "-40"]),
    ("$GTE;30", ["30", "31"], ["29.999"]),
    ("$LT;30", ["29.9", "-40"], ["30", "31"]),
    ("$LTE;30", ["30", "29"], ["30.001"]),
    ("$CONTAINS;alarm", ["an alarm!", '{"kind":"alarm"}', "<alarm/>"], ["Alarm", ""]),
    ("$GT;-5$LT;5", ["0", "-4.9"], ["5", "-5"]),
]


@pytest.mark.parametrize(("chain", "passing", "failing"), TABLE_1)
def test_table_1(chain: str, passing: list[str], failing: list[str]) -> None:
    bench = Bench(f"{chain}/sens123/temp")
    for payload in passing:
        assert bench.publish("sens123/temp", payload) == [(f"{chain}/sens123/temp", payload)]
    for payload in failing:
        assert bench.publish("sens123/temp", payload) == []
    assert bench.publish("sens124/temp", passing[0]) == []


def test_numeric_rules_ignore_what_is_not_numeric() -> None:
    bench = Bench("$GT;30/sens123/temp")
    assert bench.publish("sens123/temp", "hot") == []
    assert bench.engine.services.skipped == {"not_numeric": 1}


def test_rules_over_wildcards_deliver_on_the_topic_published() -> None:
    assert Bench("$GT;30/+/temp").publish("room1/temp", 31) == [("$GT;30/room1/temp", "31")]
    assert Bench("$GT;30/#").publish("a/b/c", 31) == [("$GT;30/a/b/c", "31")]


def test_implicit_ttl_is_one_hour() -> None:
    bench = Bench("$COUNT/+/temp")
    bench.publish("a/temp", 1)
    bench.now = HOUR - 1
    assert bench.publish("b/temp", 1) == [("$COUNT/$AGGREGATE/temp", "2")]
    bench.now = HOUR
    assert bench.publish("b/temp", 1) == [("$COUNT/$AGGREGATE/temp", "1")]


def test_explicit_ttl_by_expiry_and_by_property() -> None:
    bench = Bench("$COUNT/+/temp")
    bench.publish("a/temp", 1, expiry=10)
    bench.publish("b/temp", 1, user=[("plus_ttl", "1970-01-01T01:00:20+01:00")])
    bench.now = 9
    assert bench.publish("c/temp", 1) == [("$COUNT/$AGGREGATE/temp", "3")]
    bench.now = 10
    assert bench.publish("c/temp", 1) == [("$COUNT/$AGGREGATE/temp", "2")]
    bench.now = 20
    assert bench.publish("c/temp", 1) == [("$COUNT/$AGGREGATE/temp", "1")]


@pytest.mark.parametrize("ttl", ["24/05/2018 15:36:25", "2018-05-24T15:36:25"])
def test_explicit_ttl_as_printed(ttl: str) -> None:
    """Section 3.2 writes dd/mm/yyyy HH:MM:SS, Table 2 a time without a zone."""
    bench = Bench("$COUNT/+/temp", now=1_527_176_000.0)
    bench.publish("sens1/temp", 22.5, user=[("plus_ttl", ttl)])
    bench.now = 1_527_176_184.0
    assert bench.publish("sens2/temp", 13.8) == [("$COUNT/$AGGREGATE/temp", "2")]
    bench.now = 1_527_176_185.0
    assert bench.publish("sens2/temp", 13.8) == [("$COUNT/$AGGREGATE/temp", "1")]


def test_daily_average() -> None:
    bench = Bench("$DAILYAVG/sens123/currcons")
    for hour in range(24):
        bench.now = hour * HOUR
        assert bench.publish("sens123/currcons", hour) == []
    assert bench.engine.next_due() == DAY
    assert bench.advance(DAY - 1) == []
    assert bench.advance(DAY) == [("$DAILYAVG/sens123/currcons", "11.5")]
    assert bench.engine.next_due() == float("inf")


TABLE_2_WINDOW = [22.5, 22.8]  # what `sens1/temp` published in the last 15 minutes


@pytest.mark.parametrize(
    ("function", "expected"),
    [("COUNT", "2"), ("SUM", "45.3"), ("AVG", "22.65"), ("MIN", "22.5"), ("MAX", "22.8")],
)
def test_table_2(function: str, expected: str) -> None:
    chain = f"$QUARTERHOURLY{function}"
    bench = Bench(f"{chain}/+/temp", f"{chain}/+/status")
    for value in TABLE_2_WINDOW:
        bench.publish("sens1/temp", value)
    bench.publish("sens1/status", "{status: ok}")
    assert bench.advance(900) == [(f"{chain}/sens1/temp", expected)]


def test_table_2_counts_people() -> None:
    bench = Bench("$QUARTERHOURLYAVG$CNTPPL/image1")
    bench.publish("image1", b"\xff\xd8 a photograph")
    assert bench.answer({"CNTPPL": b"12"}) == []
    assert bench.advance(900) == [("$QUARTERHOURLYAVG$CNTPPL/image1", "12.0")]


def test_spatial_average_by_keyword() -> None:
    bench = Bench("$AVG/room1/+/temp")
    assert bench.publish("room1/sens1/temp", 20) == [("$AVG/room1/$AGGREGATE/temp", "20.0")]
    assert bench.publish("room1/sens2/temp", 23) == [("$AVG/room1/$AGGREGATE/temp", "21.5")]
    assert bench.publish("room1/sens1/temp", 24) == [("$AVG/room1/$AGGREGATE/temp", "23.5")]


@pytest.mark.parametrize("filter", ["$AVG;RPT/room1/+/temp", "$AVG/room1/+/temp"])
def test_spatial_average_by_participants(filter: str) -> None:
    bench = Bench()
    bench.subscribe(filter, [("plus_reply", "rpt")])
    chain = filter.partition("/")[0]
    bench.publish("room1/sens2/temp", 23, expiry=10)
    assert bench.publish("room1/sens1/temp", 20) == [(f"{chain}/room1/sens1;sens2/temp", "21.5")]
    bench.now = 11
    assert bench.publish("room1/sens1/temp", 20) == [(f"{chain}/room1/sens1/temp", "20.0")]


def test_meaningless_averages_are_still_averages() -> None:
    bench = Bench("$AVG/room1/#")
    bench.publish("room1/temp", 20)
    assert bench.publish("room1/hum", 60) == [("$AVG/room1/$AGGREGATE", "40.0")]


def test_explicit_spatial_aggregation() -> None:
    bench = Bench("$AVG/room1/sens1;sens2/temp")
    topic = "$AVG/room1/sens1;sens2/temp"
    assert bench.publish("room1/sens1/temp", 20) == [(topic, "20.0")]
    assert bench.publish("room1/sens3/temp", 99) == []
    assert bench.publish("room1/sens2/temp", 22) == [(topic, "21.0")]


def test_explicit_aggregation_names_the_considered_topics() -> None:
    """Section 3.4.2: only those whose value is valid."""
    bench = Bench()
    state = bench.subscribe("$AVG;RPT/room1/sens1;sens2;sens3/temp")
    bench.publish("room1/sens2/temp", 22, expiry=10)
    bench.publish("room1/sens1/temp", 20)
    [result] = state.last_results(bench.now)
    assert result.topic == "$AVG;RPT/room1/sens1;sens2;sens3/temp"
    assert result.user == [("plus_participants", "room1/sens1/temp;room1/sens2/temp")]
    bench.now = 11
    [result] = state.last_results(bench.now)
    assert (result.payload, result.user) == (b"20.0", [("plus_participants", "room1/sens1/temp")])


def test_explicit_aggregation_of_whole_topics() -> None:
    topics = "room1%2Ftemp;hall%2Fdoor%2Ftemp"
    filter = f"$SUM;RPT/{topics};odd%3B%25"
    bench = Bench(filter, f"$SUM;RPT$DAILYMAX/{topics}")
    assert bench.publish("room1/temp", 1) == [(filter, "1.0")]
    assert bench.publish("hall/door/temp", 2) == [(filter, "3.0")]
    assert bench.publish("odd;%", 4) == [(filter, "7.0")]
    assert bench.publish("hall/temp", 9) == []
    [result] = bench.states[0].last_results(bench.now)
    assert result.user == [("plus_participants", "hall/door/temp;odd%3B%25;room1/temp")]
    [(_, daily)] = bench.engine.tick(DAY)
    assert (daily.topic, daily.payload) == (f"$SUM;RPT$DAILYMAX/{topics}", b"3.0")
    assert daily.user == [("plus_participants", "hall/door/temp;room1/temp")]


def test_counting_people() -> None:
    bench = Bench("$CNTPPL/room1/image")
    assert bench.publish("room1/image", b"\x89PNG") == []
    assert bench.answer({"CNTPPL": b"3"}) == [("$CNTPPL/room1/image", "3")]


def test_figure_1() -> None:
    listed = json.loads(VOCABULARY.capabilities())
    people = {"keyword": "$CNTPPL", "desc": "counts people in an image", "returns": "value"}
    assert people.items() <= listed[0].items()
    keywords = {entry["keyword"] for entry in listed}
    assert {"$RECOGNIZE", "$GT", "$CONTAINS", "$AVG", "$P95", "$QUARTERHOURLYAVG"} <= keywords


def test_sum_of_daily_averages() -> None:
    bench = Bench("$SUM$DAILYAVG/+/temp", "$DAILYAVG/room1/temp", "$SUM$DAILYAVG/room1/temp")
    for topic, value in (("room1/temp", 20), ("room1/temp", 22), ("room2/temp", 10)):
        assert bench.publish(topic, value) == []
    assert sorted(bench.advance(DAY)) == [
        ("$DAILYAVG/room1/temp", "21.0"),
        ("$SUM$DAILYAVG/$AGGREGATE/temp", "31.0"),
        ("$SUM$DAILYAVG/room1/temp", "21.0"),
    ]


def test_sum_of_daily_averages_of_people() -> None:
    bench = Bench("$SUM$DAILYAVG$CNTPPL/+/image")
    for topic, people in (("a/image", b"2"), ("a/image", b"4"), ("b/image", b"1")):
        bench.publish(topic, b"pixels")
        bench.answer({"CNTPPL": people})
    assert bench.advance(DAY) == [("$SUM$DAILYAVG$CNTPPL/$AGGREGATE/image", "4.0")]


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ("$GT;30$SUM$DAILYAVG", "31.0"),
        ("$GT;31$SUM$DAILYAVG", None),
        ("$SUM$GT;15$DAILYAVG", "21.0"),
        ("$SUM$GT;50$DAILYAVG", None),
        ("$LT;25$SUM$GT;15$DAILYAVG", "21.0"),
    ],
)
def test_rules_around_spatio_temporal_aggregates(chain: str, expected: str | None) -> None:
    bench = Bench(f"{chain}/+/temp")
    for topic, value in (("room1/temp", 20), ("room1/temp", 22), ("room2/temp", 10)):
        bench.publish(topic, value)
    delivered = [(f"{chain}/$AGGREGATE/temp", expected)] if expected else []
    assert bench.advance(DAY) == delivered


@pytest.mark.parametrize(
    ("filter", "reason"),
    [
        ("$DAILYAVG$SUM/+/temp", r"operator 2, \$SUM: .*\$DAILYAVG, operator 1"),
        ("$SUM$DAILYAVG$GT;5/+/temp", r"operator 3, \$GT: .*inside \$DAILYAVG, operator 2"),
    ],
)
def test_refusals_of_the_paper(filter: str, reason: str) -> None:
    with pytest.raises(PlusError, match=reason):
        parse(filter, VOCABULARY)
