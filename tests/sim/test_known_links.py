"""Links that all brokers know beforehand: what crosses them is what would cross them anyway."""

import pytest

from gossamer.sim.cable import Cable
from gossamer.sim.crowd import CrowdEnd, Tally
from gossamer.sim.host import Disk, HostClock, SimulatedHost, WorkCost
from gossamer.sim.known_links import LinkMap
from gossamer.sim.network import Road
from gossamer.sim.timeline import Timeline
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Connect, Packet, Publish, Request, Subscribe

RING = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("d", "e")]


class Ring:
    """Five brokers; all links but one are in the tree."""

    def __init__(self, mode: str, links: LinkMap | None) -> None:
        self.timeline = Timeline()
        self.tally = Tally()
        self.hosts = {
            name: SimulatedHost(
                self.timeline, name, mode, Disk(), HostClock(), WorkCost(), links=links
            )
            for name in "abcde"
        }
        self.cables = [
            Cable(self.hosts[near], self.hosts[far], Road(0.001), Road(0.001)) for near, far in RING
        ]
        for cable in self.cables:
            cable.begin(0.0)
        self.timeline.run(5.0)

    def client(self, broker: str, *packets: Packet) -> None:
        end = CrowdEnd(self.hosts[broker], Road(0.0), self.tally)
        for packet in (Connect(f"at {broker}"), *packets):
            end.host.arrive(self.timeline.now, end, encode(packet, V5), 0, 0)
            self.timeline.run(self.timeline.now + 1.0)

    def control_bytes(self) -> int:
        meshes = [host.mesh for host in self.hosts.values()]
        return sum(link.control_bytes for mesh in meshes for link in mesh.by_name.values())

    def carried(self) -> list[tuple[int, int]]:
        """Publications and interests of each link, one direction after the other."""
        roads = [road for cable in self.cables for road in (cable.there, cable.back)]
        return [(road.publications, road.interests) for road in roads]


@pytest.mark.parametrize("mode", ["pf", "ssf", "bloom"])
def test_what_crosses_the_links_is_the_same(mode: str) -> None:
    found = []
    for links in (None, LinkMap(RING)):
        ring = Ring(mode, links)
        trees = [host.mesh.tree_links for host in ring.hosts.values()]
        assert all(tree.agreement.is_settled and len(tree.view.tree) == 5 for tree in trees)
        assert len({tree.view.digest for tree in trees}) == 1
        before = ring.carried()
        ring.client("e", Subscribe(1, [Request("t/#", 0)]))
        ring.client("b", Publish("t/1", b"x"), Publish("u", b"y"))
        assert ring.tally.deliveries == 1
        after = ring.carried()
        found.append([(p - q, i - j) for (p, i), (q, j) in zip(after, before, strict=True)])
    assert found[0] == found[1]


def test_nobody_announces_what_all_know() -> None:
    told = [
        sum(
            link.control_bytes
            for host in ring.hosts.values()
            for link in host.mesh.by_name.values()
        )
        for ring in (Ring("ssf", None), Ring("ssf", LinkMap(RING)))
    ]
    assert told[1] < told[0]
    known = Ring("ssf", LinkMap(RING))
    tree = known.hosts["a"].mesh.tree_links.view.tree
    assert all(host.mesh.tree_links.view.tree is tree for host in known.hosts.values())
