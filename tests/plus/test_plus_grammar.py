"""The grammar: what is accepted, what it means, and what a refusal says."""

import pytest

from gossamer.plus.grammar import is_operator_filter, parse
from gossamer.plus.limits import MAX_LISTED_TOPICS
from gossamer.plus.operators.kinds import ProcessorKind
from gossamer.plus.operators.windows import Window
from gossamer.plus.plan import PlusError
from gossamer.plus.spelling import meant_by
from gossamer.plus.vocabulary import Vocabulary
from tests.support.plus import VOCABULARY


@pytest.mark.parametrize(
    ("filter", "ours"),
    [
        ("$GT;30/a", True),
        ("$AVG/a", True),
        ("$AVGG/a", True),
        ("$SUM$DAILYAVG/+/t", True),
        ("$AVG", True),
        ("$SYS/broker", False),
        ("$SYS", False),
        ("$share/g/a", False),
        ("$aws/things", False),
        ("$/a", False),
        ("AVG/a", False),
        ("#", False),
        ("a/$AVG/b", False),
    ],
)
def test_which_filters_are_operators(filter: str, ours: bool) -> None:
    assert is_operator_filter(filter) is ours


@pytest.mark.parametrize(
    ("filter", "meant"),
    [
        ("$Avg/room/+", "$AVG/room/+"),
        ("$avg/room/+", "$AVG/room/+"),
        ("$GT:3/t", "$GT;3/t"),
        ("$GT=3/t", "$GT;3/t"),
        ("$GT(3)/t", "$GT;3/t"),
        ("$GT 3/t", "$GT;3/t"),
        ("$$GT;3/t", "$GT;3/t"),
        ("$gt:3$Avg/+/t", "$GT;3$AVG/+/t"),
        ("$DailyAvg/+/t", "$DAILYAVG/+/t"),
        ("$cntppl/gate", "$CNTPPL/gate"),
        ("$share/g/t", ""),
        ("$queue/t", ""),
        ("$aws/things", ""),
        ("$sys/broker", ""),
        ("$$SYS/broker", ""),
        ("$/t", ""),
        ("$", ""),
        ("avg/t", ""),
        ("$avg" * 400 + "/t", ""),
    ],
)
def test_what_is_nearly_an_operator_is_taken_for_one_that_is_misspelt(
    filter: str, meant: str
) -> None:
    assert not is_operator_filter(filter)
    assert meant_by(filter, VOCABULARY) == meant
    if meant:
        parse(meant, VOCABULARY)


def test_a_whole_plan() -> None:
    plan = parse("$GT;1.5$SUM;RPT$LT;9$NEQ;4$HOURLYAVG;;a.b$CNTPPL/+/x/#", VOCABULARY)
    assert plan.chain == "$GT;1.5$SUM;RPT$LT;9$NEQ;4$HOURLYAVG;;a.b$CNTPPL"
    assert plan.filter == "+/x/#"
    assert plan.reads == ("+/x/#",)
    assert [(rule.keyword, rule.number) for rule in plan.outer] == [("GT", 1.5)]
    assert [(rule.keyword, rule.number) for rule in plan.inner] == [("LT", 9.0), ("NEQ", 4.0)]
    assert plan.spatial is not None
    assert (plan.spatial.function, plan.spatial.names_participants) == ("SUM", True)
    assert plan.temporal is not None
    assert (plan.temporal.window.keyword, plan.temporal.function) == ("HOURLY", "AVG")
    assert plan.temporal.field is not None
    assert plan.temporal.field.steps == ("a", "b")
    assert plan.processor is not None
    assert plan.processor.keyword == "CNTPPL"


def test_arguments_are_percent_encoded() -> None:
    plan = parse("$EQ;50%25%2F%3B%24%2B%23%c3%a9;%2Fa~1b%2F0/t", VOCABULARY)
    assert plan.outer[0].operand == "50%/;$+#é"
    assert plan.outer[0].field is not None
    assert plan.outer[0].field.steps == ("a/b", "0")


@pytest.mark.parametrize(
    ("filter", "reads"),
    [
        ("$AVG/a/s1;s2/t", ("a/s1/t", "a/s2/t")),
        ("$AVG/a;b/c;d/#", ("a/c/#", "a/d/#", "b/c/#", "b/d/#")),
        ("$AVG/a;a/t", ("a/t",)),
        ("$GT;3/a%3Bb/t", ("a;b/t",)),
        ("$AVG//a", ("/a",)),
    ],
)
def test_lists(filter: str, reads: tuple[str, ...]) -> None:
    assert parse(filter, VOCABULARY).reads == reads


@pytest.mark.parametrize(
    ("filter", "reason"),
    [
        ("$AVG", "needs a topic filter"),
        ("$AVG/", "needs a topic filter"),
        ("$AVGG/a", r"operator 1, \$AVGG: no such operator"),
        ("$GT;3$NOPE/a", r"operator 2, \$NOPE"),
        ("$GT/a", r"operator 1, \$GT: needs a value"),
        ("$GT;/a", r"operator 1, \$GT: needs a number"),
        ("$GT;hot/a", "needs a number, not 'hot'"),
        ("$GT;NaN/a", "needs a number"),
        ("$GT;1e999/a", "needs a number"),
        ("$LT;0x10/a", "needs a number"),
        ("$GT;1;a;b/t", "more than two arguments"),
        ("$GT;1;a..b/t", "empty step"),
        ("$GT;1;%2Fa~2/t", "not ~0 or ~1"),
        ("$EQ;%zz/t", "two hexadecimal digits"),
        ("$EQ;%ff/t", "not UTF-8"),
        ("$AVG;XYZ/t", r"operator 1, \$AVG: replies as SKR or RPT"),
        ("$DAILYAVG;RPT/t", "first argument must be empty"),
        ("$SUM$AVG/t", r"operator 2, \$AVG: a spatial operator cannot stand inside"),
        ("$DAILYAVG$HOURLYAVG/t", r"operator 2, \$HOURLYAVG: a temporal operator cannot"),
        ("$CNTPPL$AVG/t", r"operator 2, \$AVG: a spatial operator cannot stand inside \$CNTPPL"),
        ("$CNTPPL$GT;1/t", r"operator 2, \$GT: a rule cannot stand inside \$CNTPPL"),
        ("$CNTPPL;1/t", "takes no argument"),
        ("$AVG$/t", "operator 2, .*no name"),
        ("$GT;1;a$AVG/t", r"operator 1, \$GT: reads the result of \$AVG"),
        ("$SUM;;a$DAILYAVG/t", r"operator 1, \$SUM: reads the result of \$DAILYAVG"),
        ("$AVG/a;;b/t", "empty name"),
        ("$EQ;" + "x" * 10_000 + "/t", "10004 characters; 1024 is most"),
        ("$GT;1" * 17 + "/t", "17 operators in one chain; 16 is most"),
    ],
)
def test_refusals(filter: str, reason: str) -> None:
    with pytest.raises(PlusError, match=reason):
        parse(filter, VOCABULARY)


def test_lists_are_bounded() -> None:
    names = ";".join(f"s{n}" for n in range(101))
    with pytest.raises(PlusError, match=f"10201 topics; {MAX_LISTED_TOPICS} is most"):
        parse(f"$AVG/{names}/{names}", VOCABULARY)


@pytest.mark.parametrize("name", ["", "daily", "1ST", "A-B"])
def test_window_names(name: str) -> None:
    with pytest.raises(ValueError, match="upper-case"):
        Window(name, 60)


@pytest.mark.parametrize("seconds", [0.5, 1e9, float("nan")])
def test_window_lengths(seconds: float) -> None:
    with pytest.raises(ValueError, match="allowed are 1 to"):
        Window("W", seconds)


def test_keywords_mean_one_thing() -> None:
    with pytest.raises(ValueError, match="already means"):
        Vocabulary((Window("DAILY", 60), Window("DAILY", 70)))
    with pytest.raises(ValueError, match="taken"):
        Vocabulary(processors=[ProcessorKind("AVG", "", "value")])


def test_configured_windows() -> None:
    plan = parse("$MINUTEP95/t", Vocabulary((Window("MINUTE", 60),)))
    assert plan.temporal is not None
    assert (plan.temporal.window.seconds, plan.temporal.function) == (60, "P95")


@pytest.mark.parametrize(
    ("filter", "reason"),
    [
        ("$GT;0/lr/a;b/t", "'a;b' would be a list, which only aggregates over topics have"),
        ("$DAILYAVG/lr/a;b/t", "a ; that is part of a topic is written %3B"),
        ("$AVG/a%2Fb;c/+", "names several levels"),
        ("$AVG/a%2Fb/#", "names several levels"),
        ("$AVG/a;;b", "has an empty name"),
    ],
)
def test_lists_where_they_mean_nothing_are_refused(filter: str, reason: str) -> None:
    with pytest.raises(PlusError, match=reason):
        parse(filter, VOCABULARY)


@pytest.mark.parametrize(
    ("filter", "reads"),
    [
        ("$AVG/a%2Fb%2fc;d", ("a/b/c", "d")),
        ("$AVG/x/a%2Fb;d/y;z", ("x/a/b/y", "x/a/b/z", "x/d/y", "x/d/z")),
        ("$AVG/a%3Bb;a%3bb;c", ("a;b", "c")),
        ("$AVG/a%252Fb;c", ("a%2Fb", "c")),
        ("$GT;0/a%3Bb/+/50%", ("a;b/+/50%",)),
        ("$GT;0/a%2Fb", ("a%2Fb",)),
        ("$AVG/a%2Bb;c", ("a%2Bb", "c")),
    ],
)
def test_what_lists_and_escapes_stand_for(filter: str, reads: tuple[str, ...]) -> None:
    assert parse(filter, VOCABULARY).reads == reads
