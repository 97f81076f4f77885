"""The tree against brute force, in whatever order announcements come; markers; costs; memory."""

from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.mesh.control_messages import PONG
from gossamer.mesh.tree.agreement import TreeAgreement
from gossamer.mesh.tree.heartbeat import RoundTrip, cost_of
from gossamer.mesh.tree.seen_messages import SeenMessages
from gossamer.mesh.tree.spanning_tree import (
    Announcement,
    Announcements,
    decode_announcement,
    encode_announcement,
    view_of,
)
from gossamer.session.journal import Journal
from gossamer.wire.errors import ProtocolError
from tests.support.meshes import Net

Costs = dict[tuple[str, str], int]
names = st.sampled_from("abcdef")
# Directed: what the first says of its link to the second.
graphs = st.dictionaries(
    st.tuples(names, names).filter(lambda pair: pair[0] != pair[1]), st.integers(0, 3), max_size=24
)


def announced(costs: Costs) -> dict[str, Announcement]:
    found = {name: Announcement(name.encode() * 16, {}) for name in "abcdef"}
    for (one, other), cost in costs.items():
        found[one].costs[other] = cost
    return found


def edges_of(costs: Costs) -> dict[tuple[str, str], int]:
    """Links that both ends announce, at the higher cost."""
    return {
        (one, other): max(cost, costs[other, one])
        for (one, other), cost in costs.items()
        if one < other and (other, one) in costs
    }


def joined(name: str, edges: list[tuple[str, str]]) -> set[str]:
    found = {name}
    while True:
        more = {each for edge in edges if set(edge) & found for each in edge} - found
        if not more:
            return found
        found |= more


@given(graphs)
def test_a_tree_that_costs_least(costs: Costs) -> None:
    edges = edges_of(costs)
    for name in "abcdef":
        view = view_of(name, announced(costs))
        members = joined(name, list(edges))
        assert set(view.tree) == members
        chosen = [(a, b) for a in view.tree for b in view.tree[a] if a < b]
        assert len(chosen) == len(members) - 1
        assert joined(name, chosen) == members
        inside = [edge for edge in edges if edge[0] in members]
        cheapest = min(
            sum(edges[edge] for edge in some)
            for some in combinations(inside, len(members) - 1)
            if joined(name, list(some)) == members
        )
        assert sum(edges[edge] for edge in chosen) == cheapest
        for other in members - {name}:
            assert other in view.behind(view.next_hop(other))
            assert view_of(other, announced(costs)).tree == view.tree
            assert view_of(other, announced(costs)).digest == view.digest


@given(graphs, st.randoms(use_true_random=False))
def test_the_order_of_announcements_does_not_matter(costs: Costs, random: Random) -> None:
    words = [(name, encode_announcement(each)) for name, each in announced(costs).items()]
    views = []
    for _ in range(2):
        random.shuffle(words)
        topology = Announcements("a")
        for name, body in words:
            topology.heard(name, body)
        topology.refresh()
        views.append((topology.view.tree, topology.view.digest))
    assert views[0] == views[1]


@pytest.mark.parametrize(
    "body",
    [b"", b"short", bytes(17), bytes(16) + b"\0\5abc", bytes(16) + b"\0\3a/b", bytes(16) + b"\0\0"],
)
def test_what_is_no_announcement(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_announcement(body)


def test_nobody_announces_more_links_than_a_broker_has() -> None:
    links = b"".join(b"\0\4%04d" % number for number in range(1_025))
    with pytest.raises(ProtocolError):
        decode_announcement(bytes(16) + links)


@given(st.integers(2, 12), st.randoms(use_true_random=False))
def test_markers_settle_every_broker_of_a_tree(brokers: int, random: Random) -> None:
    """In any order of adoption and delivery, with two markers a link."""
    links = [(number, random.randrange(number)) for number in range(1, brokers)]
    near: dict[int, list[str]] = {number: [] for number in range(brokers)}
    for one, other in links:
        near[one].append(str(other))
        near[other].append(str(one))
    settlings = [TreeAgreement() for _ in range(brokers)]
    waiting = list(range(brokers))
    markers: list[tuple[int, int]] = []
    sent = 0
    while waiting or markers:
        if waiting and (not markers or random.random() < 0.5):
            number = waiting.pop(random.randrange(len(waiting)))
            settlings[number].adopt(b"d", near[number])
        else:
            source, number = markers.pop(random.randrange(len(markers)))
            settlings[number].heard(str(source), b"d")
        assert not (waiting and any(each.is_settled and each.digest for each in settlings))
        for one, agreement in enumerate(settlings):
            for name in agreement.due() if agreement.digest else []:
                agreement.sent(name)
                markers.append((one, int(name)))
                sent += 1
    assert all(agreement.is_settled for agreement in settlings)
    assert sent == 2 * len(links)


def test_a_busy_moment_changes_no_cost() -> None:
    round_trip = RoundTrip()
    assert round_trip.answered(0.001)
    assert not any(round_trip.answered(0.5) for _ in range(6))
    assert not round_trip.answered(0.001)
    assert round_trip.cost == 0
    assert any(round_trip.answered(0.5) for _ in range(8))
    assert round_trip.cost == cost_of(0.5)


def test_a_clock_that_is_set_back_changes_no_cost() -> None:
    round_trip = RoundTrip()
    round_trip.answered(0.1)
    assert not any(round_trip.answered(-1_000.0) for _ in range(20))


@given(st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 5_000)), max_size=80))
def test_each_name_is_new_once(heard: list[tuple[str, int]]) -> None:
    memory = SeenMessages(Journal(), {})
    known: set[bytes] = set()
    for source, number in heard:
        name = source.encode() * 8 + number.to_bytes(8, "big")
        assert memory.knows(name) == (name in known)
        assert memory.is_new(name, 1) == (name not in known)
        known.add(name)


def test_a_name_that_was_never_given_is_forged() -> None:
    memory = SeenMessages(Journal(), {})
    name = memory.name(1)
    later = name[:8] + (int.from_bytes(name[8:], "big") + 1).to_bytes(8, "big")
    assert not memory.is_forged(name)
    assert memory.is_forged(later)
    assert memory.is_forged(bytes(16) + later)
    assert memory.is_forged(name + later)
    assert not memory.is_forged(name + bytes(16))
    assert not memory.is_forged(memory.name(2) + name)
    assert memory.is_own(name + bytes(16))
    assert not memory.is_own(bytes(16) + name)
    assert not memory.is_new(name, 1)


def test_another_cost_waits_for_a_quiet_moment() -> None:
    net = Net()
    for name in "ab":
        net.node(name)
    net.join("a", "b")
    node = net.nodes["a"]
    heartbeat = node.mesh.tree_links.heartbeat
    link = node.mesh.by_name["b"]
    writer = node.client("writer")
    digest = node.mesh.tree_links.view.digest
    sent = int((node.now - 0.5) * 1e6).to_bytes(8, "big")
    for _ in range(8):  # every answer of a while says that the way is longer
        heartbeat.pong(link, bytes((PONG,)) + sent, node.now)
    assert link.round_trip is not None
    assert link.round_trip.cost > 0
    for second in range(3):
        writer.publish("t", "x")
        heartbeat.fire(node.now + second)
        net.run()
    assert node.mesh.tree_links.view.digest == digest
    heartbeat.fire(node.now + 3)
    net.run()
    assert node.mesh.tree_links.view.digest != digest
