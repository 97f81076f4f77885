"""Mode `auto`: what is told covers what is wanted, and the choice is that of equation 5."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.broker.routes import RouteTable
from gossamer.mesh.interest.auto import (
    FILTER_BELOW,
    FLOOD_ABOVE,
    LEAST_BYTES,
    LOOK_SECONDS,
    AutoAdvertiser,
    BranchChoice,
)
from gossamer.mesh.interest.branch_meter import HALF_LIFE, BranchMeter
from gossamer.mesh.interest.branch_sums import (
    MOST_BRANCHES,
    PAUSE,
    BranchPart,
    BranchSums,
    branch_of,
    decode,
    encode,
)
from gossamer.topics.containment import contains
from gossamer.topics.cover import Cover
from gossamer.wire.errors import ProtocolError
from tests.support.meshes import Net
from tests.support.topic_strategies import filters

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), filters()),
        st.tuples(st.just("remove"), st.integers(0, 50)),
        st.tuples(st.just("choose"), st.sampled_from(["a", "b", "", "$x"])),
    ),
    max_size=40,
)


@given(STEPS)
def test_a_flooded_branch_is_told_as_one_filter(steps: list[tuple[str, str | int]]) -> None:
    advertiser = AutoAdvertiser({})
    wanted: list[str] = []
    flooded: set[str] = set()
    for verb, what in steps:
        if verb == "add":
            wanted.append(str(what))
            advertiser.add(str(what))
        elif verb == "remove" and wanted:
            advertiser.remove(wanted.pop(int(what) % len(wanted)))
        elif verb == "choose":
            flooded ^= {str(what)}
            advertiser.choose(str(what), str(what) in flooded)
        expected = Cover()
        for filter in wanted:
            branch = branch_of(filter)
            expected.add(f"{branch}/#" if branch in flooded else filter)
        assert set(advertiser.wanted) == set(expected.maximal())
        for filter in wanted:
            assert any(contains(told, filter) for told in advertiser.wanted)


@pytest.mark.parametrize(
    ("interested", "brokers", "published", "subscribed", "ratio"),
    [
        (7, 7, 1000.0, 0.0, 1.0),
        (4, 7, 1000.0, 250.0, 0.75),
        (1, 7, 1000.0, 1500.0, 1.5),
        (0, 7, 1000.0, 0.0, 0.0),
        (1, 1, 1000.0, 100.0, 0.1),
    ],
)
def test_the_ratio_is_that_of_equation_5(
    interested: int, brokers: int, published: float, subscribed: float, ratio: float
) -> None:
    choice = BranchChoice()
    choice.measure(interested, brokers, published, subscribed)
    assert choice.ratio == pytest.approx(ratio)


def test_a_choice_needs_evidence_and_a_clear_difference() -> None:
    choice = BranchChoice()
    choice.measure(7, 7, LEAST_BYTES / 8, LEAST_BYTES / 8)
    assert not choice.wants_flooding()
    choice.measure(7, 7, LEAST_BYTES, LEAST_BYTES * (FLOOD_ABOVE - 1.01))
    assert not choice.wants_flooding()
    choice.measure(7, 7, LEAST_BYTES, LEAST_BYTES * (FLOOD_ABOVE - 0.99))
    assert choice.wants_flooding()
    choice.is_flooded = True
    choice.measure(1, 7, LEAST_BYTES, LEAST_BYTES * (FILTER_BELOW + 0.01))
    assert choice.wants_flooding()
    choice.measure(1, 7, LEAST_BYTES, LEAST_BYTES * (FILTER_BELOW - 0.01))
    assert not choice.wants_flooding()


def test_measures_fade_and_survive_the_wire() -> None:
    routes = RouteTable()
    meter = BranchMeter(routes)
    meter.wanted("a/x", True)
    meter.wanted("b/x", False)
    routes.route("a/y", b"a/y").branch.published += 1000
    first = meter.look(0.0, {})
    assert (first.branches["a"].published, first.branches["a"].subscribed) == (1000.0, 6.0)
    later = meter.look(HALF_LIFE, dict.fromkeys("bc"))
    assert later.branches["a"].published == pytest.approx(500.0)
    sums = decode(encode(later, {}))
    assert (sums.branches["a"].published, sums.branches["a"].subscribed) == (500.0, 3.0)
    assert [sums.interested(branch) for branch in "abc"] == [1, 1, 0]
    meter.wanted("+/x", True)
    assert [meter.look(HALF_LIFE, {"b": None}).interested(branch) for branch in "abc"] == [1, 1, 1]
    for filter in ("a/x", "b/x", "+/x"):
        meter.unwanted(filter)
    assert [meter.look(HALF_LIFE, {"b": None}).interested(branch) for branch in "ab"] == [0, 0]


def test_of_too_many_branches_those_that_matter_are_told() -> None:
    sums = BranchSums()
    for number in range(2 * MOST_BRANCHES):
        sums.branches[f"b{number}"] = BranchPart(1, float(number), 0.0)
    told = decode(encode(sums, {"b0": None})).branches
    assert len(told) == MOST_BRANCHES
    assert "b0" in told
    assert "b1" not in told
    assert f"b{2 * MOST_BRANCHES - 1}" in told


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[1]",
        b"[1, 0, 1]",
        b'[1, 0, {"a": 1}]',
        b'[1, 0, {"a": [1, 2]}]',
        b'[1, 0, {"a": [1, -2, 0]}]',
        b'[1, 0, {"a": [1, NaN, 0]}]',
        b'[1, 0, {"a": [1, 1e999, 0]}]',
        b"[-1, 0, {}]",
        b'["x", 0, {}]',
        b"[" * 5000,
        encode(BranchSums(), {}).replace(
            b"{}", b"{%s}" % b",".join(b'"%d":[0,0,0]' % n for n in range(MOST_BRANCHES + 1))
        ),
    ],
)
def test_measures_of_a_strange_form_are_the_neighbours_error(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(body)


def passed(net: Net, seconds: float) -> None:
    for node in net.nodes.values():
        node.now += seconds
        node.broker.core.timers.run(node.now)
    net.run()


def looked(net: Net, seconds: float) -> None:
    """Time passes, and what is measured crosses the mesh."""
    for _ in range(round(seconds / LOOK_SECONDS)):
        for node in net.nodes.values():
            node.now += LOOK_SECONDS
            node.mesh.auto.look(node.now)
        for _ in net.nodes:
            passed(net, PAUSE)


def line_of(modes: dict[str, str]) -> Net:
    net = Net("auto")
    for name, mode in modes.items():
        net.mode = mode
        net.node(name)
    for one, other in pairwise(modes):
        net.join(one, other)
    return net


def test_sums_are_those_of_all_brokers_on_each_of_them() -> None:
    net = line_of(dict.fromkeys("abcde", "auto"))
    for name, node in net.nodes.items():
        node.client(f"reader {name}").subscribe("all/1", f"{name}/1")
    net.nodes["c"].client("of everything").subscribe("#")
    net.nodes["a"].client("writer").publish("all/1", "x" * 5000)
    net.run()
    looked(net, 20.0)
    for node in net.nodes.values():
        total = node.mesh.auto.gathering.total()
        assert (total.brokers, total.everywhere) == (5, 1)
        assert total.interested("all") == 5
        assert total.interested("a") == 2
        assert 2500 < total.branches["all"].published < 5100  # it fades


def test_what_is_behind_a_lost_link_is_not_counted() -> None:
    net = line_of(dict.fromkeys("abcd", "auto"))
    looked(net, 10.0)
    assert net.nodes["a"].mesh.auto.gathering.total().brokers == 4
    net.cut("b", "c")
    looked(net, 10.0)
    assert net.nodes["a"].mesh.auto.gathering.total().brokers == 2
    assert net.nodes["d"].mesh.auto.gathering.total().brokers == 2


def test_a_broker_of_another_mode_passes_sums_on() -> None:
    net = line_of({"a": "auto", "b": "ssf", "c": "auto"})
    looked(net, 20.0)
    assert net.nodes["a"].mesh.auto.gathering.total().brokers == 3


def test_a_link_carries_as_much_for_many_brokers_as_for_one() -> None:
    names = [f"n{number}" for number in range(12)]
    net = line_of(dict.fromkeys(names, "auto"))
    for node in net.nodes.values():
        node.client(f"reader of {node.name}").subscribe("all/1")
        node.mesh.settings.silence = 1e6  # no heartbeats: only sums are counted
    net.run()
    looked(net, 40.0)
    links = [link for node in net.nodes.values() for link in node.mesh.by_name.values()]
    before = [link.control_messages for link in links]
    looked(net, 60.0)
    sent = [link.control_messages - old for link, old in zip(links, before, strict=True)]
    assert max(sent) <= 60.0 / PAUSE
    assert sum(sent) < len(names) * len(links)


def test_branches_that_nobody_uses_any_more_are_forgotten() -> None:
    net = line_of(dict.fromkeys("ab", "auto"))
    net.nodes["a"].client("writer").publish("once/1", "x" * 100)
    net.run()
    looked(net, 20.0)
    assert set(net.nodes["b"].mesh.auto.choices) == {"once"}
    looked(net, 20 * HALF_LIFE)
    assert not net.nodes["b"].mesh.auto.choices


def test_each_branch_is_told_in_its_own_way_and_says_why() -> None:
    net = Net("auto")
    for name in "abcd":
        net.node(name)
    for pair in ("ab", "bc", "cd"):
        net.join(*pair)
    rare = net.nodes["d"].client("rare")
    rare.subscribe("quiet/1", "quiet/2")
    often = {name: net.nodes[name].client(f"often {name}") for name in "abcd"}
    writer = net.nodes["a"].client("writer")
    for turn in range(4):
        for reader in often.values():
            for number in range(100):
                reader.subscribe(f"busy/{turn}/{number}")
        for number in range(40):
            writer.publish(f"quiet/{number % 4}", "x" * 1000)
            writer.publish(f"busy/{number}", "x")
        net.run()
        looked(net, 10.0)
    chosen = net.nodes["a"].mesh.auto.choices
    assert chosen["busy"].is_flooded
    assert chosen["busy"].ibr() == 1.0
    assert not chosen["quiet"].is_flooded
    assert (chosen["quiet"].interested, chosen["quiet"].brokers) == (1, 4)
    for node in net.nodes.values():
        assert set(node.mesh.auto.flooded) == {"busy"}
    held = net.nodes["a"].mesh.by_name["b"].session.subscriptions
    assert set(held) == {"busy/#", "quiet/1", "quiet/2"}
    told = net.nodes["b"].mesh.by_name["a"].advertiser.interests
    often["d"].subscribe("busy/more")
    net.run()
    assert net.nodes["b"].mesh.by_name["a"].advertiser.interests == told
    writer.publish("busy/more", "here")
    net.run()
    assert "here" in often["d"].payloads()
    # Publications without new subscriptions, which few want: filters again.
    for name in "bc":
        often[name].send_bytes(b"\xe0\x00")
    often["a"].send_bytes(b"\xe0\x00")
    for _ in range(12):
        for number in range(40):
            writer.publish(f"busy/{number}", "x" * 1000)
        net.run()
        looked(net, 10.0)
    assert not net.nodes["a"].mesh.auto.choices["busy"].is_flooded
    held = net.nodes["a"].mesh.by_name["b"].session.subscriptions
    assert "busy/#" not in held
    assert "busy/more" in held
