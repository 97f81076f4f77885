"""What insight computes without Spark: who wants a topic, how far brokers are, who should move."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.spark.insight.placement import Advice, Placement, PublisherFlow, Routes
from gossamer.spark.insight.report import size, table
from gossamer.spark.insight.traffic import Interests, reads
from gossamer.topics.names import matches
from tests.support.topic_strategies import filters, topics

LINE = [("a", "b"), ("b", "c")]

READS = [
    ("room/+", ("room/+",)),
    ("$share/g/room/#", ("room/#",)),
    ("$GT;30/room/+", ("room/+",)),
    ("$AVG/a;b/temp", ("a/temp", "b/temp")),
    ("$share/g/$AVG/room/+", ("room/+",)),
    ("$FORTNIGHTAVG/room/+", ("room/+",)),  # a window that only its broker knows
    ("$SYS/#", ("$SYS/#",)),
]


@pytest.mark.parametrize(("filter", "plain"), READS)
def test_what_a_subscription_reads(filter: str, plain: tuple[str, ...]) -> None:
    assert reads(filter) == plain


@given(st.lists(filters(), max_size=8), topics())
def test_interests_are_those_that_match(listed: list[str], topic: str) -> None:
    found = [number for number, filter in enumerate(listed) if matches(reads(filter)[0], topic)]
    assert Interests(listed).of(topic) == found


def test_ways() -> None:
    routes = Routes(LINE)
    assert routes.crossed("a", ["a"]) == set()
    assert routes.crossed("a", ["c"]) == {("a", "b"), ("b", "c")}
    assert routes.crossed("c", ["a", "b"]) == {("a", "b"), ("b", "c")}
    assert routes.crossed("a", ["elsewhere"]) == {("a", "elsewhere")}


def advise(flows: list[PublisherFlow], homes: dict[str, str]) -> Advice:
    return Placement(flows, homes, Routes(LINE)).advise(["a", "b", "c"])


def test_a_reader_moves_to_what_it_reads() -> None:
    flows = [
        PublisherFlow("p", "a", 100, frozenset({"r"})),
        PublisherFlow("q", "c", 10, frozenset({"r", "s"})),
    ]
    found = advise(flows, {"p": "a", "q": "c", "r": "c", "s": "c", "t": "b", "u": "b"})
    assert found.before == 200
    assert [move[:3] for move in found.moves] == [("r", "c", "a")]
    assert found.after == 20


def test_a_publisher_moves_to_its_readers() -> None:
    readers = frozenset({"r", "s"})
    found = advise([PublisherFlow("p", "a", 50, readers)], {"p": "a", "r": "c", "s": "c", "t": "b"})
    # c has its share of clients already; b is nearer than a.
    assert found.moves == [("p", "a", "b", 50)]
    homes = {"p": "a", "r": "c", "s": "c", "t": "b", "u": "b", "v": "a"}
    assert [move[:3] for move in advise([PublisherFlow("p", "a", 50, readers)], homes).moves] == [
        ("p", "a", "c")
    ]


brokers = st.sampled_from(["a", "b", "c"])
clients = st.sampled_from(["p", "q", "r", "s"])
some_flows = st.lists(
    st.builds(
        PublisherFlow, clients | st.just(""), brokers, st.integers(1, 100), st.frozensets(clients)
    ),
    max_size=6,
)


@given(some_flows, st.dictionaries(clients, brokers, min_size=1))
def test_advice_is_what_it_says(flows: list[PublisherFlow], homes: dict[str, str]) -> None:
    """The figures, against a count from nothing; and it never makes things worse."""
    found = advise(flows, homes)
    routes = Routes(LINE)

    def total(homes: dict[str, str], entries: list[str]) -> int:
        there = [{homes[reader] for reader in flow.readers if reader in homes} for flow in flows]
        ways = zip(flows, entries, there, strict=True)
        return sum(flow.size * len(routes.crossed(entry, to)) for flow, entry, to in ways)

    moved = homes | {move.client: move.better for move in found.moves}
    entries = [
        moved[flow.publisher]
        if flow.publisher in moved and homes[flow.publisher] == flow.entry
        else flow.entry
        for flow in flows
    ]
    assert found.before == total(homes, [flow.entry for flow in flows])
    assert found.after <= found.before
    assert found.after == total(moved, entries)


def test_sizes() -> None:
    cases = [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (12_345_678, "12.3 MB")]
    assert [size(count) for count, _ in cases] == [text for _, text in cases]
    assert size(10**16) == "1e+04 TB"


def test_an_empty_table() -> None:
    columns = (("a", "of a", str.upper),)
    assert table(columns, []) == "None."
    assert table(columns, [{"of a": "x"}]).splitlines() == ["| a |", "| --- |", "| X |"]
