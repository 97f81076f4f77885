"""The engine: shared state, throttling, newcomers, jobs, limits, hostile payloads."""

import math

import pytest

from gossamer.plus.grammar import read_options
from gossamer.plus.limits import OperatorLimits
from gossamer.plus.operators.kinds import Options
from gossamer.plus.plan import PlusError
from gossamer.plus.publication import read_time
from gossamer.topics.names import matches
from tests.support.plus import Bench, deliveries

HOSTILE = [
    (b"NaN", "not_numeric"),
    (b"Infinity", "not_numeric"),
    (b"-inf", "not_numeric"),
    (b"1e999", "not_finite"),
    (b"-1e999", "not_finite"),
    (b"9" * 400, "not_finite"),
    (b"0." + b"3" * 400, "not_finite"),
    (b"\xff\xfe", "not_numeric"),
    (b"1_000", "not_numeric"),
    (b"0x10", "not_numeric"),
    (b"007", "not_numeric"),
    (b"1.", "not_numeric"),
    (b"\xd9\xa3", "not_numeric"),
    (b"", "not_numeric"),
]


@pytest.mark.parametrize("chain", ["$GT;1", "$AVG", "$HOURLYSUM", "$AVG$HOURLYMAX"])
@pytest.mark.parametrize(("payload", "reason"), HOSTILE)
def test_hostile_numbers_are_skipped_and_counted(chain: str, payload: bytes, reason: str) -> None:
    bench = Bench(f"{chain}/t")
    assert bench.publish("t", payload) == []
    assert bench.advance(3600) == []
    assert bench.engine.services.skipped == {reason: 1}


HOSTILE_DOCUMENTS = [
    (b'{"a": NaN}', "not_json"),
    (b'{"a": 1e999}', "not_finite"),
    (b'{"a": ' + b"9" * 400 + b"}", "not_finite"),
    (b'{"a": ' + b"9" * 5000 + b"}", "not_finite"),
    (b'{"a": true}', "not_numeric"),
    (b'{"a": "5"}', "not_numeric"),
    (b'{"b": 5}', "no_field"),
    (b"[5]", "no_field"),
    (b"{", "not_json"),
    (b'{"a": "\xff"}', "not_utf8"),
    (b"[" * 200_000, "too_deep"),
    (b'{"a":' * 200_000, "too_deep"),
    (b" " * (1 << 20) + b'{"a": 1}', "too_large"),
]


@pytest.mark.parametrize(("payload", "reason"), HOSTILE_DOCUMENTS)
def test_hostile_documents_are_skipped_and_counted(payload: bytes, reason: str) -> None:
    bench = Bench("$AVG;;a/t")
    assert bench.publish("t", payload) == []
    assert bench.engine.services.skipped == {reason: 1}
    assert bench.publish("t", b'{"a": 5}') == [("$AVG;;a/t", "5.0")]


def test_text_rules_skip_what_is_not_utf8() -> None:
    bench = Bench("$CONTAINS;a/t", "$NEQ;b/t")
    assert bench.publish("t", b"a\xff") == []
    assert bench.engine.services.skipped == {"not_utf8": 2}


DOCUMENT = '{"sensor": {"temp": 31.5, "tags": ["in", "out"], "ok": true}, "a/b": 7, "n": null}'


@pytest.mark.parametrize(
    ("chain", "passes"),
    [
        ("$GT;30;sensor.temp", True),
        ("$GT;30;%2Fsensor%2Ftemp", True),
        ("$GT;32;sensor.temp", False),
        ("$EQ;out;sensor.tags.1", True),
        ("$EQ;out;%2Fsensor%2Ftags%2F1", True),
        ("$EQ;out;%2Fsensor%2Ftags%2F01", False),
        ("$EQ;out;%2Fsensor%2Ftags%2F2", False),
        ("$EQ;7;%2Fa~1b", True),
        ("$EQ;true;sensor.ok", True),
        ("$EQ;null;n", True),
        ("$NEQ;x;missing", False),
        ('$CONTAINS;"in","out";sensor.tags', True),
        ("$GT;30;sensor.temp$EQ;in;sensor.tags.0", True),
        ("$GT;30;sensor.temp$EQ;out;sensor.tags.0", False),
    ],
)
def test_fields_of_documents(chain: str, passes: bool) -> None:
    expected = [(f"{chain}/t", DOCUMENT)] if passes else []
    assert Bench(f"{chain}/t").publish("t", DOCUMENT) == expected


def test_rules_on_other_fields_than_the_aggregate() -> None:
    bench = Bench("$AVG;;v$EQ;ok;status/+", "$SUM;;v$GT;5/+")
    bench.publish("a", '{"v": 4, "status": "ok"}')
    bench.publish("b", '{"v": 9, "status": "bad"}')
    assert bench.publish("c", '{"v": 8, "status": "ok"}') == [
        ("$AVG;;v$EQ;ok;status/$AGGREGATE", "6.0"),
        ("$SUM;;v$GT;5/$AGGREGATE", "17.0"),
    ]


def test_a_value_that_fails_an_inner_rule_takes_its_topic_out() -> None:
    bench = Bench("$SUM$GT;5/+")
    bench.publish("a", 7)
    assert bench.publish("b", 8) == [("$SUM$GT;5/$AGGREGATE", "15.0")]
    assert bench.publish("a", 3) == [("$SUM$GT;5/$AGGREGATE", "8.0")]
    assert bench.publish("a", 2) == []
    assert bench.publish("b", 1) == []


def test_equal_subscriptions_share_their_state() -> None:
    bench = Bench("$AVG/+/t", "$AVG/+/t")
    first, second = bench.states
    assert first is second
    assert bench.subscribe("$AVG/+/t", [("plus_reply", "rpt")]) is not first
    assert bench.subscribe("$AVG/+/t", [("plus_every", "5")]) is not first
    assert bench.subscribe("$AVG/a/t", [("plus_reply", "rpt")]) is bench.subscribe("$AVG/a/t")
    assert bench.subscribe("$GT;1/+", [("plus_every", "5")]) is bench.subscribe("$GT;1/+")
    assert not bench.engine.release(first)
    assert bench.engine.release(first)
    assert bench.subscribe("$AVG/+/t") is not first


def test_results_wait_for_the_minimum_interval() -> None:
    bench = Bench()
    state = bench.subscribe("$SUM/+", [("plus_every", "10")])
    assert bench.publish("a", 1) == [("$SUM/$AGGREGATE", "1.0")]
    bench.now = 3.0
    assert bench.publish("b", 2) == []
    assert bench.publish("c", 3, expiry=5) == []
    assert bench.engine.next_due() == 10.0
    assert bench.advance(10.0) == [("$SUM/$AGGREGATE", "3.0")]
    assert state.due == float("inf")
    assert bench.advance(30.0) == []
    assert bench.publish("c", 3) == [("$SUM/$AGGREGATE", "6.0")]


def test_newcomers_get_the_last_results() -> None:
    bench = Bench("$AVG/+/t", "$GT;5/+/t", "$HOURLYMAX/+/t", "$SUM$HOURLYMAX/+/t")
    spatial, rule, temporal, both = bench.states
    for topic, value in (("a/t", 4), ("b/t", 6), ("c/t", 8)):
        bench.publish(topic, value, expiry=7200)
    assert deliveries(spatial.last_results(0.0)) == [("$AVG/$AGGREGATE/t", "6.0")]
    assert deliveries(rule.last_results(0.0)) == [("$GT;5/b/t", "6"), ("$GT;5/c/t", "8")]
    assert temporal.last_results(0.0) == []
    bench.advance(3600.0)
    assert len(temporal.last_results(3600.0)) == 3
    assert deliveries(both.last_results(3600.0)) == [("$SUM$HOURLYMAX/$AGGREGATE/t", "18.0")]
    assert rule.last_results(7200.0) == []
    assert spatial.last_results(7200.0) == []


def test_what_a_rule_remembers_is_bounded() -> None:
    bench = Bench("$NEQ;x/+", limits=OperatorLimits(last_results=2, last_result_bytes=4))
    for topic in ("a", "b", "a", "c"):
        bench.publish(topic, topic)
    bench.publish("d", "too long")
    kept = deliveries(bench.states[0].last_results(0.0))
    assert kept == [("$NEQ;x/a", "a"), ("$NEQ;x/c", "c")]


@pytest.mark.parametrize("filter", ["$COUNT/+", "$COUNT$HOURLYMAX/+"])
def test_topics_are_bounded(filter: str) -> None:
    bench = Bench(filter, limits=OperatorLimits(topics=2))
    sent = [result for topic in "abca" for result in bench.publish(topic, 1)]
    sent += bench.advance(3600)
    assert sent[-1][1] == "2"
    assert bench.engine.services.skipped == {"too_many_topics": 1}


def test_a_sum_beyond_every_double_is_skipped_and_comes_back() -> None:
    bench = Bench("$SUM/+")
    bench.publish("a", "1.7e308")
    assert bench.publish("b", "1.7e308") == []
    assert bench.engine.services.skipped == {"overflow": 1}
    assert bench.publish("b", "-1.7e308") == [("$SUM/$AGGREGATE", "0.0")]


def test_sums_do_not_drift() -> None:
    bench = Bench("$SUM/+")
    bench.publish("small", "0.1")
    for value in ("1e16", "-3.3", "1e300", "7e-200"):
        bench.publish("big", value)
    assert bench.publish("big", "0.2") == [("$SUM/$AGGREGATE", repr(math.fsum([0.1, 0.2])))]


def test_each_image_is_processed_once() -> None:
    filters = ("$CNTPPL/+/image", "$GT;2$CNTPPL/#", "$SUM$CNTPPL/+/image", "$CNTMALE/a/image")
    bench = Bench(*filters)
    bench.publish("a/image", b"pixels")
    jobs = bench.engine.take_jobs()
    assert [job.processor for job in jobs] == ["CNTPPL", "CNTMALE"]
    assert jobs[0].publication is jobs[1].publication
    people = bench.engine.processed(jobs[0], b"3", 0.0)
    assert deliveries([result for _, result in people]) == [
        ("$CNTPPL/a/image", "3"),
        ("$GT;2$CNTPPL/a/image", "3"),
        ("$SUM$CNTPPL/$AGGREGATE/image", "3.0"),
    ]
    assert bench.engine.processed(jobs[0], b"4", 0.0) == []
    assert bench.engine.processed(jobs[1], None, 0.0) == []
    assert bench.engine.services.skipped == {"processor_failed": 1}


def test_answers_keep_the_order_of_their_topic() -> None:
    bench = Bench("$CNTPPL/+")
    for topic in ("a", "a", "b"):
        bench.publish(topic, b"pixels")
    first, second, other = bench.engine.take_jobs()

    def answer(job: object, text: bytes) -> list[tuple[str, str]]:
        assert job in (first, second, other)
        answered = bench.engine.processed(job, text, 0.0)
        return deliveries([result for _, result in answered])

    assert answer(second, b"2") == []
    assert answer(other, b"9") == [("$CNTPPL/b", "9")]
    assert answer(first, b"1") == [("$CNTPPL/a", "1"), ("$CNTPPL/a", "2")]


def test_waiting_jobs_are_bounded() -> None:
    bench = Bench("$CNTPPL/+", limits=OperatorLimits(pending_jobs=1))
    bench.publish("a", b"1")
    bench.publish("b", b"2")
    assert bench.engine.services.skipped == {"busy": 1}
    assert bench.answer({"CNTPPL": b"1"}) == [("$CNTPPL/a", "1")]
    bench.publish("b", b"2")
    assert bench.answer({"CNTPPL": b"2"}) == [("$CNTPPL/b", "2")]


def test_rules_on_recognised_objects() -> None:
    bench = Bench("$GTE;1;cat$RECOGNIZE/+")
    bench.publish("a", b"pixels")
    assert bench.answer({"RECOGNIZE": b'{"cat":2}'}) == [("$GTE;1;cat$RECOGNIZE/a", '{"cat":2}')]


REPLY_TOPICS = [
    ("+/x", ["b/x", "a/x"], "a;b/x"),
    ("+/+", ["b/x", "a/y"], "a;b/x;y"),
    ("a/#", ["a/b/c", "a/d"], "a/b%2Fc;d"),
    ("a/#", ["a"], "a/"),
    ("a/#", ["a", "a/b"], "a/;b"),
    ("+", ["x;y", "50%"], "50%25;x%3By"),
    ("a;b/+", ["a/x", "b/y"], "a;b/x;y"),
    ("a;b/x", ["a/x"], "a;b/x"),
    ("#", ["p/q"], "p%2Fq"),
]


@pytest.mark.parametrize(("filter", "topics", "reply"), REPLY_TOPICS)
def test_participants_are_named_and_the_reply_matches(
    filter: str, topics: list[str], reply: str
) -> None:
    bench = Bench(f"$COUNT;RPT/{filter}")
    delivered = [result for topic in topics for result in bench.publish(topic, 1)]
    assert delivered[-1] == (f"$COUNT;RPT/{reply}", str(len(topics)))
    assert matches(f"$COUNT;RPT/{filter}", delivered[-1][0])


def test_too_many_participants_fall_back_to_the_keyword() -> None:
    bench = Bench("$COUNT;RPT/+")
    for letter in "abcdefgh":
        sent = bench.publish(letter * 10_000, 1)
    assert sent == [("$COUNT;RPT/$AGGREGATE", "8")]


def test_a_topic_that_becomes_too_long_is_skipped() -> None:
    bench = Bench("$NEQ;x/#", "$HOURLYMAX/#")
    topic = "é" * 32_767
    assert bench.publish(topic, 1) == []
    assert bench.advance(3600) == []
    assert bench.engine.services.skipped == {"topic_too_long": 2}


def test_a_clock_set_back_moves_the_open_window() -> None:
    bench = Bench("$HOURLYSUM/t", now=100_000.0)
    bench.publish("t", 1)
    bench.advance(100_000.0)
    assert bench.advance(10.0) == []
    assert bench.engine.next_due() == 3600.0
    bench.publish("t", 2)
    assert bench.advance(3600.0) == [("$HOURLYSUM/t", "3.0")]


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        (("plus_reply", "all"), "plus_reply is skr or rpt, not 'all'"),
        (("plus_every", "-1"), "plus_every is 0 to 86400 seconds, not '-1'"),
        (("plus_every", "soon"), "not 'soon'"),
        (("plus_every", "1e9"), "not '1e9'"),
    ],
)
def test_bad_options_are_refused(user: tuple[str, str], reason: str) -> None:
    with pytest.raises(PlusError, match=reason):
        read_options([user])


def test_options_of_others_are_left_alone() -> None:
    options = read_options([("colour", "red"), ("plus_reply", "RPT"), ("plus_every", "2.5")])
    assert (options.names_participants, options.every) == (True, 2.5)
    assert (Options().names_participants, Options().every) == (False, 0.0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01t00:00:10.25z", 10.25),
        ("1970-01-01 02:00:00+02:00", 0.0),
        ("1969-12-31T23:00:00-01:00", 0.0),
        ("2016-12-31T23:59:60Z", 1_483_228_800.0),
        ("1970-01-02T00:00:00", 86_400.0),
        ("2018-05-24T15:36:25", 1_527_176_185.0),
        ("24/05/2018 15:36:25", 1_527_176_185.0),
    ],
)
def test_times(text: str, seconds: float) -> None:
    assert read_time(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "05/24/2018 15:36:25",
        "24/5/2018 15:36:25",
        "2020-02-30T00:00:00Z",
        "2020-01-01T24:00:00Z",
        "٢020",
    ],
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError):
        read_time(text)


def test_a_bad_ttl_is_counted_and_the_implicit_one_holds() -> None:
    bench = Bench("$COUNT/+")
    assert bench.publish("a", 1, user=[("plus_ttl", "later")]) == [("$COUNT/$AGGREGATE", "1")]
    assert bench.engine.services.skipped == {"bad_ttl": 1}
    bench.now = 3600.0
    assert bench.publish("b", 1) == [("$COUNT/$AGGREGATE", "1")]


@pytest.mark.parametrize("filter", ["$AVG/+", "$HOURLYSTDDEV/+", "$HOURLYP95/+"])
@pytest.mark.parametrize("part", [b"", b"[]", b"[2, 1, 2, 3]", b"[1]", b'[1, "x", [], {}]', b"{}"])
def test_damaged_parts_are_left_out_and_forgotten(filter: str, part: bytes) -> None:
    bench = Bench(filter)
    [state] = bench.states
    state.restore([("a", part)], 0.0)
    assert bench.advance(3600) == []
    assert ("a", None) in state.take_changes()
