"""A mesh and a broker of another make, joined in memory, with time that the test moves."""

from itertools import pairwise

import pytest

from gossamer.broker.policy import Origin
from gossamer.mesh.bridges.bridge import Bridge, BridgeSettings
from gossamer.mesh.bridges.bridge_dial import BridgeDial
from gossamer.mesh.bridges.bridges import SILENCE_SECONDS, Bridges
from gossamer.mesh.bridges.loop_prevention import ECHO_SECONDS
from gossamer.wire.packets import V311
from tests.support.memory import World
from tests.support.meshes import Net, Node, Wire

ORIGIN = Origin("127.0.0.1", "stock")
SETTINGS = BridgeSettings("plant", exports=("#",))


class _End:
    """What a shell does for one attempt."""

    def __init__(self, dial: BridgeDial) -> None:
        self.dial = dial

    def receive(self, data: bytes, now: float) -> None:
        self.dial.receive(data, now)

    def lost(self, now: float) -> None:
        self.dial.lost(now)
        self.dial.bridge.lost()


class Plant:
    """Nodes of one mesh, and a broker that knows nothing of meshes."""

    def __init__(self, *names: str) -> None:
        self.net = Net()
        self.bridge = World()
        self.wires: dict[str, tuple[Wire, Wire]] = {}
        self.cut: set[str] = set()  # those that do not reach the bridged broker
        for name in names:
            node = self.net.node(name)
            Bridges(node.mesh, [SETTINGS], node.now)
        for one, other in pairwise(names):
            self.net.join(one, other)

    def node(self, name: str) -> Node:
        return self.net.nodes[name]

    def bridge_of(self, name: str) -> Bridge:
        bridges = self.node(name).mesh.bridges
        assert bridges is not None
        return bridges.by_name["plant"]

    def owners(self) -> list[str]:
        return [name for name in self.net.nodes if self.bridge_of(name).is_owner]

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.5)):
            for name in self.net.nodes:
                self._keep_dialled(name)
            for world in (*self.net.nodes.values(), self.bridge):
                world.wait(0.5)
            self.run()

    def run(self) -> None:
        self.bridge.broker.flush(self.bridge.now)
        while True:
            self.net.run()
            self.bridge.broker.flush(self.bridge.now)
            if not self.net.queue:
                return

    def lose(self, name: str) -> None:
        """The node and the bridged broker do not reach each other any more."""
        self.cut.add(name)
        near, far = self.wires.pop(name)
        near.other = far.other = None
        near.is_closed = True
        near.end.lost(self.node(name).now)  # type: ignore[attr-defined]
        far.end.lost(self.bridge.now)  # type: ignore[attr-defined]
        self.run()

    def _keep_dialled(self, name: str) -> None:
        bridge = self.bridge_of(name)
        if bridge.connection is not None:
            bridge.connection.outbox.put(b"\xc0\x00")  # PINGREQ, as a shell does
        if name in self.cut or bridge.connection is not None:
            return
        near, far = Wire(self.net.queue), Wire(self.net.queue)
        near.other, far.other = far, near
        far.end = self.bridge.broker.open(far, ORIGIN, self.bridge.now)
        node = self.node(name)
        near.end = _End(BridgeDial(node.broker.core, bridge, near, ORIGIN, node.now))
        self.wires[name] = (near, far)
        self.run()


def test_the_first_by_name_owns_it_and_the_next_takes_over() -> None:
    plant = Plant("b", "a", "c")
    plant.pass_time(10.0)
    assert plant.owners() == ["a"]
    plant.lose("a")
    plant.pass_time(10.0)
    assert plant.owners() == ["b"]
    plant.cut.clear()
    plant.pass_time(10.0)
    assert plant.owners() == ["a"]


def test_an_owner_that_falls_silent_is_replaced() -> None:
    plant = Plant("a", "b")
    plant.pass_time(5.0)
    assert plant.owners() == ["a"]
    plant.net.cut("a", "b")
    plant.lose("a")
    plant.pass_time(SILENCE_SECONDS + 2.0)
    assert plant.bridge_of("b").is_owner


def test_parts_of_a_mesh_that_lost_each_other_do_not_fight_over_it() -> None:
    plant = Plant("a", "b")
    plant.pass_time(5.0)
    plant.net.cut("a", "b")
    plant.pass_time(20.0)
    # `b` cannot know that `a` lives. It takes over, and `a` leaves it to `b` for a while.
    assert plant.owners() == ["b"]
    accepted = plant.bridge.broker.core.counters.connections_accepted
    plant.pass_time(20.0)
    assert plant.bridge.broker.core.counters.connections_accepted == accepted
    plant.net.join("a", "b")
    plant.pass_time(60.0)
    assert plant.owners() == ["a"]


def test_every_message_crosses_once_in_either_direction() -> None:
    plant = Plant("a", "b", "c")
    plant.pass_time(5.0)
    inside = {name: plant.node(name).client(f"reader-{name}") for name in "abc"}
    for reader in inside.values():
        reader.subscribe("t/#", qos=1)
    plant.run()
    outside = plant.bridge.client("reader")
    outside.subscribe("t/#", qos=1)
    for name in "abc":
        plant.node(name).client(f"writer-{name}").publish("t/1", name, qos=1)
        plant.run()
    plant.bridge.client("writer").publish("t/2", "m", qos=1)
    plant.run()
    for reader in (*inside.values(), outside):
        assert reader.payloads() == ["a", "b", "c", "m"]


def test_exports_wait_and_follow_the_owner() -> None:
    plant = Plant("a", "b")
    plant.pass_time(5.0)
    outside = plant.bridge.client("reader")
    outside.subscribe("t", qos=1)
    plant.lose("a")
    writer = plant.node("b").client("writer")
    writer.publish("t", "while nobody has it", qos=1)
    plant.run()
    plant.pass_time(12.0)
    assert plant.owners() == ["b"]
    writer.publish("t", "by b", qos=1, packet_id=2)
    plant.run()
    assert outside.payloads() == ["by b"]
    plant.cut.clear()
    plant.pass_time(10.0)
    assert outside.payloads() == ["while nobody has it"]
    writer.publish("t", "by a again", qos=1, packet_id=3)
    plant.run()
    assert outside.payloads() == ["by a again"]


def test_no_more_cross_twice_than_are_in_flight_when_the_owner_dies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has passed them on, and its answers never reach the other broker."""
    monkeypatch.setattr(SETTINGS, "inflight", 5)
    plant = Plant("a", "b")
    plant.pass_time(5.0)
    reader = plant.node("b").client("reader")
    reader.subscribe("t", qos=2)
    plant.run()
    near, _ = plant.wires["a"]
    near.other = None
    writer = plant.bridge.client("writer")
    for number in range(30):
        writer.publish("t", str(number), qos=2, packet_id=number + 1)
    found: list[str] = []

    def read() -> None:
        for _ in range(5):
            plant.run()
            found.extend(reader.payloads())

    read()
    assert found == [str(number) for number in range(5)]
    plant.net.cut("a", "b")
    plant.lose("a")
    plant.pass_time(SILENCE_SECONDS + 2.0)
    read()
    assert plant.bridge_of("b").is_owner
    assert found[5:] == [str(number) for number in range(30)]


def test_neighbours_that_name_no_filters_want_all_that_may_come() -> None:
    plant = Plant("a")
    plant.pass_time(5.0)
    plant.node("a").client("reader").subscribe("t")
    plant.run()
    assert list(plant.bridge_of("a").asked) == ["t"]
    plant.net.mode = "pf"
    plant.node("a").mesh.settings.mode = "pf"
    plant.net.node("b")
    plant.net.join("b", "a")
    plant.run()
    assert list(plant.bridge_of("a").asked) == ["#"]


def test_a_shared_group_anywhere_draws_from_it() -> None:
    plant = Plant("a", "b")
    plant.pass_time(5.0)
    members = [plant.node(name).client(f"member {name}") for name in "ab"]
    for member in members:
        member.subscribe("$share/g/jobs/#", qos=1)
    plant.run()
    plant.pass_time(1.0)
    assert list(plant.bridge_of("a").asked) == ["jobs/#"]
    outside = plant.bridge.client("outside")
    for number in range(4):
        outside.publish("jobs/1", str(number), qos=1, packet_id=number + 1)
        plant.run()
    got = [payload for member in members for payload in member.payloads()]
    assert sorted(got) == ["0", "1", "2", "3"]
    for member in members:
        member.send_bytes(b"\xe0\x00")
    plant.pass_time(1.0)
    assert list(plant.bridge_of("a").asked) == []


def test_a_loop_through_other_bridges_is_cut_though_they_lose_the_mark() -> None:
    plant = Plant("a", "b")
    plant.pass_time(5.0)
    reader = plant.node("b").client("reader")
    reader.subscribe("t/#", qos=2)
    # Another broker, joined to that one by 3.1.1: what it is sent comes back as its own.
    relay = plant.bridge.client("relay", V311)
    relay.subscribe("t/#")
    plant.run()
    writer = plant.node("a").client("writer")
    back = plant.bridge.client("back", V311)
    for number in range(6):
        writer.publish("t/1", str(number))
        plant.run()
        for payload in relay.payloads():
            back.publish("t/1", payload)
        plant.run()
    got = reader.payloads()
    assert sorted(set(got)) == [str(number) for number in range(6)]
    assert len(got) == 6 + 2  # two may come back by chance
    assert plant.bridge_of("a").sent.echoes >= 4
    back.publish("t/1", "news")
    plant.run()
    assert reader.payloads() == ["news"]
    plant.pass_time(ECHO_SECONDS + 1.0)
    back.publish("t/1", "5")
    plant.run()
    assert reader.payloads() == ["5"]


def test_an_owner_that_the_mesh_has_lost_is_replaced_at_once() -> None:
    plant = Plant("a", "b")
    plant.pass_time(5.0)
    plant.net.cut("a", "b")
    plant.lose("a")
    plant.pass_time(1.0)
    assert plant.bridge_of("b").is_owner
