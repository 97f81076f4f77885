"""Mode `auto`: what is told covers what is wanted, and the choice is that of equation 5."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.broker.routes import RouteTable
from gossamer.mesh.modes.auto import AutoTeller, branch_of
from gossamer.mesh.modes.choosing import (
    FILTER_BELOW,
    FLOOD_ABOVE,
    LEAST_BYTES,
    LOOK_SECONDS,
    Choice,
)
from gossamer.mesh.modes.measuring import HALF_LIFE, Meter, decode_report, encode_report
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
    teller = AutoTeller({})
    wanted: list[str] = []
    flooded: set[str] = set()
    for verb, what in steps:
        if verb == "add":
            wanted.append(str(what))
            teller.add(str(what))
        elif verb == "remove" and wanted:
            teller.remove(wanted.pop(int(what) % len(wanted)))
        elif verb == "choose":
            flooded ^= {str(what)}
            teller.choose(str(what), str(what) in flooded)
        expected = Cover()
        for filter in wanted:
            branch = branch_of(filter)
            expected.add(f"{branch}/#" if branch in flooded else filter)
        assert set(teller.wanted) == set(expected.maximal())
        for filter in wanted:
            assert any(contains(told, filter) for told in teller.wanted)


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
    choice = Choice()
    choice.measure(interested, brokers, published, subscribed)
    assert choice.ratio == pytest.approx(ratio)


def test_a_choice_needs_evidence_and_a_clear_difference() -> None:
    choice = Choice()
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
    meter = Meter(routes)
    meter.wanted("a/x", True)
    meter.wanted("b/x", False)
    routes.route("a/y", b"a/y").branch.published += 1000
    first = meter.look(0.0)
    assert (first["a"].published, first["a"].subscribed) == (1000.0, 6.0)
    later = meter.look(HALF_LIFE)
    assert later["a"].published == pytest.approx(500.0)
    report = decode_report(encode_report(later, meter.interests({"a", "b", "c"})), 0.0)
    assert report.sizes == {"a": (500.0, 3.0)}
    assert [report.wants(branch) for branch in "abc"] == [True, True, False]
    meter.wanted("+/x", True)
    assert meter.interests({"c"}) == ["#"]
    for filter in ("a/x", "b/x", "+/x"):
        meter.unwanted(filter)
    assert meter.interests({"a", "b"}) == []


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b"[[], {}, 1]", b'[[], {"a": 1}]', b"[1, 2]"])
def test_measures_of_a_strange_form_are_the_neighbours_error(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_report(body, 0.0)


def looked(net: Net, seconds: float) -> None:
    for _ in range(round(seconds / LOOK_SECONDS)):
        for node in net.nodes.values():
            node.now += LOOK_SECONDS
            node.mesh.choosing.look(node.now)
        net.run()


def test_each_branch_is_told_in_its_own_way_and_says_why() -> None:
    net = Net("auto", "tree")
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
    chosen = net.nodes["a"].mesh.choosing.choices
    assert chosen["busy"].is_flooded
    assert chosen["busy"].ibr() == 1.0
    assert not chosen["quiet"].is_flooded
    assert (chosen["quiet"].interested, chosen["quiet"].brokers) == (1, 4)
    for node in net.nodes.values():
        assert set(node.mesh.choosing.flooded) == {"busy"}
    held = net.nodes["a"].mesh.by_name["b"].session.subscriptions
    assert set(held) == {"busy/#", "quiet/1", "quiet/2"}
    told = net.nodes["b"].mesh.by_name["a"].teller.interests
    often["d"].subscribe("busy/more")
    net.run()
    assert net.nodes["b"].mesh.by_name["a"].teller.interests == told
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
    assert not net.nodes["a"].mesh.choosing.choices["busy"].is_flooded
    held = net.nodes["a"].mesh.by_name["b"].session.subscriptions
    assert "busy/#" not in held
    assert "busy/more" in held
