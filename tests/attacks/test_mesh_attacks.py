"""One client against the memory of a whole mesh: what it leaves on other brokers has a ceiling."""

import tracemalloc

import pytest

from gossamer.mesh.interest.branch_meter import BranchMeter
from gossamer.mesh.interest.branch_sums import LONGEST_NAME, decode
from gossamer.wire import reasons
from gossamer.wire.packets import PUBACK, Acknowledgement, Connack
from tests.support.meshes import Net, Node

KIB = 1024
MIB = 1024 * KIB
# No session is kept in less: its name, its place, and the stamp that brokers compare.
LEAST_ENTRY = 400


@pytest.fixture(params=["ssf", "pf"])
def pair(request: pytest.FixtureRequest) -> Net:
    """a - b."""
    net = Net(request.param)
    for name in "ab":
        net.node(name)
    net.join("a", "b")
    return net


def allow(net: Net, account: str, budget: int) -> None:
    for node in net.nodes.values():
        node.broker.core.ledger.accounts[account].allow(budget, 1.0, 1.0, 1.0)


def reason_of_retained(node: Node, topic: str) -> int:
    writer = node.client(f"writer of {topic}")
    writer.publish(topic, "x", qos=1, retain=True)
    (answer,) = (packet for packet in writer.take() if isinstance(packet, Acknowledgement))
    assert answer.kind == PUBACK
    return answer.reason


def test_removals_of_what_never_was_end_at_a_ceiling_on_every_broker(pair: Net) -> None:
    """Also by the allocator, which counts what the ledger may have forgotten."""
    allow(pair, "retained", MIB)
    kept = pair.nodes["b"].client("keeper")
    kept.publish("kept", "x", qos=1, retain=True)
    pair.run()
    writer = pair.nodes["a"].client("attacker")

    def attack(numbers: range) -> None:
        for number in numbers:
            writer.publish(f"new/{number}/{'x' * 50}", "", retain=True)
            pair.run()

    attack(range(500))
    tracemalloc.start()
    attack(range(500, 3_000))
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < MIB
    for node in pair.nodes.values():
        account = node.broker.core.retained.account
        assert account.evicted > 0
        assert account.held < MIB
        assert node.broker.core.retained.has("kept")


def test_client_ids_leave_the_retained_messages_of_others_alone(pair: Net) -> None:
    for node in pair.nodes.values():
        node.settings.max_retained = 20
    before = [len(node.broker.core.retained) for node in pair.nodes.values()]
    for number in range(60):
        client = pair.nodes["a"].client(f"random {number}", clean=False, expiry=1000)
        client.subscribe(f"$share/group{number}/t")
        client.lose()
        pair.run()
    for node in pair.nodes.values():
        assert len(node.broker.core.shared) >= 60
    assert [len(node.broker.core.retained) for node in pair.nodes.values()] == before
    for name, node in pair.nodes.items():
        reason = reason_of_retained(node, f"status/{name}")
        assert reason in (reasons.SUCCESS, reasons.NO_MATCHING_SUBSCRIBERS)


def test_sessions_that_came_and_went_end_at_a_ceiling(pair: Net) -> None:
    allow(pair, "mesh", MIB)
    for number in range(1_000):
        client = pair.nodes["a"].client(f"random {number}", expiry=1000)
        client.subscribe(f"$share/group{number}/t")
        pair.run()
        pair.nodes["a"].broker.disconnect(f"random {number}", pair.nodes["a"].now, discard=True)
        pair.run()
    for node in pair.nodes.values():
        core = node.broker.core
        assert core.ledger.mesh.held < MIB
        assert core.ledger.mesh.evicted > 0
        assert node.mesh.directory.turns == {}
    assert pair.nodes["a"].client("next", expiry=1000).connack.reason == 0


def test_a_mesh_that_knows_no_more_sessions_refuses_new_ones_that_stay(pair: Net) -> None:
    allow(pair, "mesh", 64 * KIB)
    pair.nodes["a"].client("first", clean=False, expiry=1000)

    def answered(number: int) -> int:
        visitor = pair.nodes["a"].visitor()
        visitor.connect(f"random {number}", clean=False, expiry=1000)
        pair.run()
        return visitor.connack.reason

    # How many fit is what an entry weighs, which test_true_sizes holds; after them nobody does.
    let_in = 0
    while answered(let_in) == reasons.SUCCESS:
        let_in += 1
        assert let_in < 64 * KIB // LEAST_ENTRY
    later = [answered(let_in + 1 + number) for number in range(100)]
    assert later == [reasons.QUOTA_EXCEEDED] * 100
    for node in pair.nodes.values():
        assert node.broker.core.ledger.mesh.held < 70 * KIB
    # Who has a session keeps it, and who needs none is served.
    assert pair.nodes["a"].client("first", clean=False, expiry=1000).connack.session_present
    assert pair.nodes["b"].client("passing").connack.reason == 0
    visitor = pair.nodes["b"].visitor()
    visitor.connect("first", clean=False, expiry=1000)
    pair.run()
    (answer,) = visitor.take()
    assert isinstance(answer, Connack)
    assert answer.session_present


def test_names_of_branches_are_measured_within_bounds() -> None:
    node = Net("auto").node("a")
    routes = node.broker.core.routes
    meter = BranchMeter(routes)
    writer = node.client("attacker")
    reader = node.client("reader")
    for number in range(6_000):
        writer.publish(f"{number}{'x' * 40}/t", "payload")
        meter.wanted(f"s{number}/t", True)
    writer.publish("y" * (LONGEST_NAME + 1) + "/t", "payload" * 1_000)
    reader.subscribe("z" * 60_000 + "/t")
    meter.wanted("z" * 60_000 + "/t", True)
    sums = meter.look(node.now, {})
    assert len(sums.branches) <= 64
    assert all(len(name) <= LONGEST_NAME for name in sums.branches)
    assert len(meter._published) <= 4_096
    assert len(meter._subscribed) <= 4_096


def test_long_names_of_a_neighbours_branches_are_passed_over() -> None:
    body = b'[2, 0, {"%s": [1, 5, 5], "short": [1, 7, 7]}]' % (b"x" * 60_000)
    assert list(decode(body).branches) == ["short"]
