"""The operator builder: what choices make, and that the broker's own grammar takes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.console.filter_builder import BUILT_IN, WantedFilter, built, read_capabilities
from gossamer.plus.grammar import parse
from gossamer.plus.operators.kinds import ProcessorKind
from gossamer.plus.operators.windows import Window
from gossamer.plus.vocabulary import Vocabulary

CIRCLE = (("gpl_circleStatic", "1;km;1;43.72;10.40;2"),)
VOCABULARY = Vocabulary(processors=[ProcessorKind("CNTPPL", "people", "value")])


@pytest.mark.parametrize(
    ("wanted", "filter"),
    [
        (WantedFilter(), "#"),
        (WantedFilter("+/temp", rule="GT", operand="30"), "$GT;30/+/temp"),
        (WantedFilter("a", rule="EQ", operand="50%/x", field="s.t"), "$EQ;50%25%2Fx;s.t/a"),
        (WantedFilter("a/+", over_topics="AVG", field="t"), "$AVG;;t/a/+"),
        (WantedFilter("a/+", over_topics="AVG", names_topics=True), "$AVG;RPT/a/+"),
        (WantedFilter("a/+", rule="GT", operand="1", over_topics="AVG"), "$GT;1$AVG/a/+"),
        (
            WantedFilter("a/+", rule="GT", operand="1", over_topics="AVG", judges_values=True),
            "$AVG$GT;1/a/+",
        ),
        (WantedFilter("a", window="HOURLY", over_time="MAX", field="t"), "$HOURLYMAX;;t/a"),
        (WantedFilter("t", sequence="CHANGED", argument="0.5"), "$CHANGED;0.5/t"),
        (WantedFilter("t", sequence="CHANGED", field="a.b"), "$CHANGED;;a.b/t"),
        (
            WantedFilter("p/+", group="id", window="HOURLY", over_time="AVG", field="t"),
            "$HOURLYAVG;;t$BY;id/p/+",
        ),
        (
            WantedFilter("t", sequence="EVERY", argument="10s", rule="GT", operand="3", field="x"),
            "$GT;3;x$EVERY;10s/t",
        ),
        (
            WantedFilter(
                "n/+", sequence="RATE", field="x", over_topics="SUM", rule="GT", operand="1"
            ),
            "$GT;1$SUM$RATE;;x/n/+",
        ),
        (
            WantedFilter(
                "n/+",
                sequence="CHANGED",
                argument="1",
                follows_results=True,
                over_topics="AVG",
                field="x",
            ),
            "$CHANGED;1$AVG;;x/n/+",
        ),
        (
            WantedFilter(
                "c/+", over_topics="SUM", window="DAILY", over_time="AVG", processor="CNTPPL"
            ),
            "$SUM$DAILYAVG$CNTPPL/c/+",
        ),
    ],
)
def test_filters(wanted: WantedFilter, filter: str) -> None:
    made = built(wanted)
    assert made.filter == filter
    assert made.trouble == ""


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (WantedFilter(rule="GT"), "needs a value"),
        (WantedFilter(window="DAILY"), "choose a window"),
        (WantedFilter("a/b", group="id"), "groups need topics that end with /+"),
        (WantedFilter(sequence="ABSENT"), "$ABSENT: needs a time of"),
        (WantedFilter(sequence="CHANGED", argument="much"), "$CHANGED: needs a number"),
        (WantedFilter("a/#/b"), "#"),
        (WantedFilter(rule="GT", operand="1", areas=CIRCLE), "operators cannot be combined"),
        (WantedFilter(events=("enter",)), "need an area"),
        (WantedFilter(areas=(("gpl_circleStatic", "1;km;1;43.72;10.40;x"),)), "gpl_circleStatic"),
    ],
)
def test_troubles(wanted: WantedFilter, words: str) -> None:
    assert words in built(wanted).trouble


def test_user_properties_and_the_command() -> None:
    made = built(WantedFilter("fleet/+", areas=CIRCLE, events=("enter", "exit")))
    assert made.user == (*CIRCLE, ("gpl_events", "enter,exit"))
    assert made.command("mqtt://127.0.0.1:1883") == (
        "gossamer sub -v -L mqtt://127.0.0.1:1883 -t fleet/+ "
        "--user-property 'gpl_circleStatic=1;km;1;43.72;10.40;2' "
        "--user-property gpl_events=enter,exit"
    )
    assert built(WantedFilter("a/+", over_topics="AVG", every="5")).user == (("plus_every", "5"),)


@given(
    st.builds(
        WantedFilter,
        topics=st.sampled_from(["a/+", "#", "a;b/c"]),
        rule=st.sampled_from(["", "EQ", "CONTAINS", "GT"]),
        operand=st.sampled_from(["1", "30.5", "-2"]),
        field=st.sampled_from(["", "temp", "/a/b", "x%;y"]),
        judges_values=st.booleans(),
        sequence=st.sampled_from(["", "CHANGED", "EVERY", "RATE"]),
        argument=st.sampled_from(["", "5", "10s"]),
        follows_results=st.booleans(),
        over_topics=st.sampled_from(["", "AVG", "P95"]),
        names_topics=st.booleans(),
        window=st.sampled_from(["", "DAILY"]),
        over_time=st.sampled_from(["", "AVG"]),
        processor=st.sampled_from(["", "CNTPPL"]),
    )
)
def test_whatever_has_no_trouble_is_taken_by_the_grammar(wanted: WantedFilter) -> None:
    made = built(wanted)
    if not made.trouble and made.filter.startswith("$"):
        parse(made.filter, VOCABULARY)


def test_capabilities_are_sorted_for_the_form() -> None:
    assert "GT" in BUILT_IN.rules
    assert "AVG" in BUILT_IN.functions
    assert "CHANGED" in BUILT_IN.sequences
    assert BUILT_IN.windows == ("DAILY", "HOURLY", "QUARTERHOURLY")
    vocabulary = Vocabulary(
        [Window("MINUTE", 60.0)],
        [ProcessorKind("CNTPPL", "people", "value"), ProcessorKind("X", "x", "json", "no model")],
    )
    read = read_capabilities(vocabulary.capabilities())
    assert read.windows == ("MINUTE",)
    assert list(read.processors) == ["CNTPPL"]
