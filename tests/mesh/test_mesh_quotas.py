"""Quotas of sessions in a mesh: each broker counts those that it holds, and no others."""

import pytest

from gossamer.mesh.roaming.departed import LINGER_SECONDS
from gossamer.wire import reasons
from gossamer.wire.packets import Connack
from tests.support.memory import MemoryClient
from tests.support.meshes import Net


@pytest.fixture
def pair() -> Net:
    """a - b, each with two sessions for a user."""
    net = Net()
    for name in "ab":
        net.node(name).settings.max_sessions_per_user = 2
    net.join("a", "b")
    return net


def comes(net: Net, broker: str, name: str, expiry: int = 1000) -> int:
    """The reason in the answer to its CONNECT; then it leaves."""
    client: MemoryClient = net.nodes[broker].visitor()
    client.connect(name, clean=False, expiry=expiry, user="eve")
    net.run()
    for packet in client.take():
        if isinstance(packet, Connack):
            client.connack = packet
    answer = client.connack.reason
    if not client.is_closed:
        client.lose()
    net.run()
    return answer


def wait(net: Net, seconds: float) -> None:
    for _ in range(int(seconds * 2)):
        for node in net.nodes.values():
            node.wait(0.5)
        net.run()


def held(net: Net, broker: str) -> set[str]:
    return {name for name in net.nodes[broker].broker.core.sessions if not name.startswith("$")}


def test_a_user_has_its_quota_on_every_broker(pair: Net) -> None:
    for broker in "ab":
        for number in range(2):
            assert comes(pair, broker, f"{broker}{number}") == reasons.SUCCESS
        assert comes(pair, broker, f"{broker}2") == reasons.QUOTA_EXCEEDED
    assert held(pair, "a") == {"a0", "a1"}
    assert held(pair, "b") == {"b0", "b1"}


def test_a_session_does_not_roam_where_its_user_has_no_room(pair: Net) -> None:
    """It stays where it is, and can be taken up there."""
    for broker in "ab":
        for number in range(2):
            assert comes(pair, broker, f"{broker}{number}") == reasons.SUCCESS
    assert comes(pair, "b", "a0") == reasons.QUOTA_EXCEEDED
    assert comes(pair, "a", "a0") == reasons.SUCCESS
    assert held(pair, "a") == {"a0", "a1"}


def test_a_session_that_roams_leaves_its_place(pair: Net) -> None:
    """Once its old broker has nothing more to do for it."""
    for number in range(2):
        assert comes(pair, "a", f"a{number}") == reasons.SUCCESS
    assert comes(pair, "a", "more") == reasons.QUOTA_EXCEEDED
    assert comes(pair, "b", "a0") == reasons.SUCCESS
    wait(pair, 2 * LINGER_SECONDS + 5)
    assert held(pair, "a") == {"a1"}
    assert held(pair, "b") == {"a0"}
    assert comes(pair, "a", "more") == reasons.SUCCESS
