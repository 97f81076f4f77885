"""A mesh that is restarted in another mode on the state it had: nothing doubled, nothing lost."""

from itertools import permutations

import pytest

from gossamer.mesh.link import AdvertisedInterest
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.settings import MODES, MeshSettings
from gossamer.session.journal import Journal
from tests.support.meshes import Net

CHANGES = list(permutations(MODES, 2))


class Rooms(Journal):
    """Keeps what rooms keep, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.rooms: dict[str, dict[str, bytes]] = {}

    def keep(self, room: str, key: str, value: bytes) -> None:
        self.rooms.setdefault(room, {})[key] = value

    def drop(self, room: str, key: str) -> None:
        self.rooms.get(room, {}).pop(key, None)

    def drop_room(self, room: str) -> None:
        self.rooms.pop(room, None)


def restart_in(net: Net, mode: str) -> None:
    """What a store keeps stays: sessions, their subscriptions and queues, and rooms."""
    net.mode = mode
    for node in net.nodes.values():
        core = node.broker.core
        core.routes.neighbour_interests.clear()
        assert isinstance(core.journal, Rooms)
        core.rooms = {room: dict(kept) for room, kept in core.journal.rooms.items()}
        node.mesh = Mesh(node.broker.core, MeshSettings(node.name, mode, "test", "secret"))


def line(mode: str) -> Net:
    """a - b - c, with a reader at c."""
    net = Net(mode)
    for name in "abc":
        net.node(name, journal=Rooms())
    net.join("a", "b")
    net.join("c", "b")
    return net


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_every_message_arrives_once(before: str, after: str) -> None:
    net = line(before)
    reader = net.nodes["c"].client("reader", expiry=1000)
    reader.subscribe("t/#", "t/1", qos=2)
    net.run()
    writer = net.nodes["a"].client("writer", expiry=1000)
    writer.publish("t/1", "first", qos=2)
    net.run()
    net.cut("a", "b")
    net.cut("c", "b")
    restart_in(net, after)
    writer.publish("t/1", "while nobody is connected", qos=1, packet_id=2)
    net.run()
    net.join("a", "b")
    net.join("c", "b")
    writer.publish("t/1", "last", qos=2, packet_id=3)
    net.run()
    assert reader.payloads() == ["first", "while nobody is connected", "last"]
    writer.publish("u", "for nobody")
    net.run()
    crossed = net.nodes["b"].mesh.by_name["c"].traffic().messages_sent
    assert crossed == (3 if after == "pf" else 2)


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_filters_are_held_only_where_the_mode_names_them(before: str, after: str) -> None:
    net = line(before)
    reader = net.nodes["c"].client("reader", expiry=1000)
    reader.subscribe("t/#", "t/1")
    net.run()
    net.cut("c", "b")
    net.cut("a", "b")
    restart_in(net, after)
    net.join("c", "b")
    net.join("a", "b")
    held = len(net.nodes["a"].mesh.by_name["b"].session.subscriptions)
    assert held == {"pf": 0, "bloom": 0, "sf": 2, "ssf": 1, "auto": 1}[after]
    interests = net.nodes["a"].broker.core.routes.neighbour_interests
    takes_all = [isinstance(each, AdvertisedInterest) and each.takes_all for each in interests]
    assert takes_all == {"pf": [True], "bloom": [False]}.get(after, [])
