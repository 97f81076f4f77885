"""What one predicate implies of another, held against every payload of small alphabets."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.plus.grammar import parse
from gossamer.plus.limits import MAX_OPERATORS, MAX_PREDICATE_CHARACTERS
from gossamer.plus.plan import PlusError
from gossamer.plus.predicate import Predicate, hull, predicate_of, read_predicate
from gossamer.plus.publication import Publication
from gossamer.plus.rules import PASSES, checks_of, judge_all
from tests.support.plus import VOCABULARY

VALUES = [
    *("30", "30.0", "3e1", "0.3e2", "31", "3", "5", "-5", "0", "-0", "-0.0", "0.5"),
    *("1e400", "-1e400", "1.7976931348623157e308", "5e-324", "1e16", "10000000000000000"),
    *('"30"', '"30.0"', '"3"', '"abc"', '"xabcx"', '"b"', '""', '"Infinity"', '"a/$;%+#"'),
    *("true", "null", "[]", "[30]", '{"b":30}', '{"b":"abc"}'),
]
BARE = ["", " 30 ", "\t31", "+30", "30.", "NaN", "Infinity", "abc", "xabcx", "b", "open", "{", "é"]
PAYLOADS = [
    *[text.encode() for text in [*VALUES, *BARE]],
    *[f'{{"a":{one}}}'.encode() for one in VALUES],
    *[f'{{"a":{one},"b":{two}}}'.encode() for one in VALUES[::3] for two in VALUES[::4]],
    b"\xff",
    b"1" * 200,
    b'{"a":' + b"1" * 200 + b"}",
]

COMPARED = ["GT", "GTE", "LT", "LTE"]
TEXTUAL = ["EQ", "NEQ", "CONTAINS"]
NUMBERS = ["30", "30.0", "31", "3", "5", "-5", "0", "-0.0", "1e16", "5e-324", "1.7e308"]
TEXTS = [*NUMBERS, "", "abc", "b", "xabcx", "1e400", "1e", "Infinity", "inf", "true", "%25%2F", "é"]
FIELDS = ["", ";a", ";a", ";%2Fa", ";b", ";a.b", ";%2Fa%2Fb", ";%2Fx~1y"]

rules = st.one_of(
    st.builds(
        "${};{}{}".format,
        st.sampled_from(COMPARED),
        st.sampled_from(NUMBERS),
        st.sampled_from(FIELDS),
    ),
    st.builds(
        "${};{}{}".format, st.sampled_from(TEXTUAL), st.sampled_from(TEXTS), st.sampled_from(FIELDS)
    ),
)
chains = st.lists(rules, min_size=1, max_size=4).map("".join)


def read(chain: str) -> Predicate:
    return predicate_of(parse(f"{chain}/x", VOCABULARY).outer)


def passing(predicate: Predicate, payloads: list[bytes] = PAYLOADS) -> set[bytes]:
    return {one for one in payloads if predicate.passes(Publication("x", one))}


@given(chains)
def test_it_passes_what_its_operator_passes(chain: str) -> None:
    checks = checks_of(parse(f"{chain}/x", VOCABULARY).outer)
    expected = {one for one in PAYLOADS if judge_all(checks, Publication("x", one)) == PASSES}
    predicate = read(chain)
    assert passing(predicate) == expected
    again = read_predicate(predicate.text)
    assert again.text == predicate.text
    assert passing(again) == expected


@given(chains, chains)
def test_implication_is_sound(one: str, two: str) -> None:
    first, second = read(one), read(two)
    if first.implies(second):
        assert passing(first) <= passing(second)
    both = predicate_of((*first.rules, *second.rules))
    assert passing(both) == passing(first) & passing(second)
    assert both.implies(first)
    assert both.implies(second)


@given(st.lists(chains, min_size=1, max_size=5))
def test_a_hull_passes_what_any_passes(chosen: list[str]) -> None:
    predicates = [read(chain) for chain in chosen]
    found = hull(predicates)
    backwards = hull(predicates[::-1])
    if found is None or backwards is None:
        assert found is backwards
        return
    assert found.text == backwards.text
    for predicate in predicates:
        assert predicate.implies(found)
        assert passing(predicate) <= passing(found)
    assert read_predicate(found.text).text == found.text


def around(number: float) -> list[float]:
    return [math.nextafter(number, -math.inf), number, math.nextafter(number, math.inf)]


GRID = [
    *[repr(value).encode() for n in range(5) for value in [*around(float(n)), n + 0.5]],
    *(b"-1.7976931348623157e308", b"1.7976931348623157e308", b"1e400", b"abc", b"\xff"),
]
compared = st.lists(
    st.builds("${};{}".format, st.sampled_from([*COMPARED, "EQ", "NEQ"]), st.integers(0, 4)),
    min_size=1,
    max_size=4,
).map("".join)


@given(compared, compared)
def test_of_intervals_and_equalities_it_knows_all(one: str, two: str) -> None:
    first, second = read(one), read(two)
    expected = passing(first, GRID) <= passing(second, GRID)
    assert first.implies(second) == expected


# One chain, another, whether the first implies the second.
IMPLIED = [
    ("$GT;30", "$GT;20", True),
    ("$GT;20", "$GT;30", False),
    ("$GT;30", "$GTE;30", True),
    ("$GTE;30", "$GT;30", False),
    ("$GTE;30$NEQ;30", "$GT;30", True),
    ("$EQ;30", "$EQ;30.0", True),
    ("$EQ;30;a", "$EQ;30.0;a", False),
    ("$EQ;-0.0", "$GTE;0", True),
    ("$EQ;30", "$GT;20$LT;40", True),
    ("$EQ;30;a", "$GT;20;a", False),  # the text "30" is equal and has no size
    ("$EQ;30", "$CONTAINS;0", False),  # 3e1
    ("$NEQ;open", "$NEQ;30", False),  # 30 is not open
    ("$EQ;open", "$NEQ;30", True),
    ("$GT;0", "$NEQ;open", True),
    ("$CONTAINS;alarm", "$NEQ;30", True),
    ("$CONTAINS;abc", "$CONTAINS;b", True),
    ("$CONTAINS;b", "$CONTAINS;abc", False),
    ("$EQ;xabcx", "$CONTAINS;abc", True),
    ("$EQ;xabcx", "$CONTAINS;abd", False),
    ("$GT;30;a", "$GT;30;%2Fa", True),
    ("$GT;30;a", "$GT;30;b", False),
    ("$GT;30;a$GT;5;b", "$GT;30;b", False),
    ("$GT;30;a$GT;5;b", "$GT;5;b", True),
    ("$GT;30", "$CONTAINS;", True),
    ("$GT;5$LT;3", "$EQ;open", True),  # nothing passes
    ("$EQ;1e400", "$GT;5", False),
    ("$GT;5", "$NEQ;1e400", True),
]


@pytest.mark.parametrize(("one", "two", "expected"), IMPLIED)
def test_what_implies_what(one: str, two: str, expected: bool) -> None:
    assert read(one).implies(read(two)) == expected


HULLS = [
    (["$GT;30", "$GT;20"], "$GT;20"),
    (["$GTE;10$LTE;20", "$GTE;15$LTE;40"], "$GTE;10$LTE;40"),
    (["$EQ;3", "$EQ;5"], "$GTE;3$LTE;5"),
    (["$EQ;3", "$EQ;5", "$EQ;-7.50"], "$GTE;-7.5$LTE;5"),
    (["$EQ;3", "$GT;5"], "$GTE;3"),
    (["$GT;3;a$LT;9;b", "$GT;1;a$LT;7;c"], "$GT;1;a"),
    (["$GT;3;a", "$GT;3;b"], None),
    (["$GT;3", "$LT;1"], None),
    (["$EQ;open", "$EQ;shut"], None),
    (["$CONTAINS;abc", "$CONTAINS;xbx"], None),
    (["$CONTAINS;abc", "$EQ;xabcx"], "$CONTAINS;abc"),
    (["$EQ;3", "$EQ;open"], None),
    ([], None),
]


@pytest.mark.parametrize(("chains", "expected"), HULLS)
def test_hulls(chains: list[str], expected: str | None) -> None:
    found = hull([read(chain) for chain in chains])
    assert (None if found is None else found.text) == expected


def test_a_thousand_thresholds_are_one() -> None:
    found = hull([read(f"$GT;{number}") for number in range(1000)])
    assert found is not None
    assert found.text == "$GT;0"


SPELLED = [
    ("$LT;50$GT;30", "$GT;30$LT;50"),
    ("$GT;30.0$GT;3e1$GT;30", "$GT;30"),
    ("$GT;30$GT;20", "$GT;30"),
    ("$GT;1e300", "$GT;1e300"),
    ("$GT;5;%2Fa%2Fb", "$GT;5;a.b"),
    ("$GT;5;%2Fa%2F", "$GT;5;%2Fa%2F"),
    ("$EQ;%61%24", "$EQ;a%24"),
    ("$CONTAINS;%00", "$CONTAINS;%00"),
]


@pytest.mark.parametrize(("chain", "expected"), SPELLED)
def test_the_same_rules_are_the_same_text(chain: str, expected: str) -> None:
    assert read(chain).text == expected


def test_no_rules_pass_everything() -> None:
    nothing = predicate_of(())
    assert nothing.text == ""
    assert read("$GT;3").implies(nothing)
    assert not nothing.implies(read("$GT;3"))
    assert nothing.passes(Publication("x", b"\xff"))
    assert read_predicate("").rules == ()
    assert hull([nothing, read("$GT;3")]) is None


REFUSED = [
    "GT;30",
    "$GT",
    "$GT;x",
    "$GT;30/x",
    "$AVG",
    "$GT;30$AVG",
    "$DAILYAVG",
    "$CNTPPL",
    "$XYZ;3",
    "$",
    "$GT;%zz",
    "$GT;1;a;b",
    "$GT;1;a..b",
    "$GT;1" * (MAX_OPERATORS + 1),
    "$EQ;" + "x" * MAX_PREDICATE_CHARACTERS,
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_no_broker_writes_is_refused(text: str) -> None:
    with pytest.raises(PlusError):
        read_predicate(text)


def test_the_longest_chains_can_be_read_back() -> None:
    numbers = [f"$NEQ;{mantissa}e-9" for mantissa in range(1, MAX_OPERATORS + 1)]
    for chain in ["".join(numbers), "$EQ;" + "%25" * 340, "$CONTAINS;" + "é" * 1000]:
        predicate = read(chain)
        assert read_predicate(predicate.text).text == predicate.text


def test_a_hull_is_no_longer_than_what_can_be_read() -> None:
    letters = "abcdefghijklmno"
    ones = [
        read(f"$CONTAINS;{mine}" + "".join(f"$CONTAINS;{letter}" for letter in other))
        for mine, other in ((letters, letters.upper()), (letters.upper(), letters))
    ]
    found = hull(ones)
    assert found is not None
    assert len(found.rules) == MAX_OPERATORS
    assert read_predicate(found.text).text == found.text
