"""Unions of summaries through a mesh: they stay thin enough to be told, and nobody is forgotten."""

import random

import pytest

from gossamer.bloom import BloomFilter, RemoteSummary
from gossamer.mesh.control_messages import SUMMARY, control_packet
from gossamer.mesh.interest.bloom import Summaries, SummaryAdvertiser


def body_of(packet: bytes) -> bytes:
    """What `control_packet` wrapped."""
    start = packet.index(b"GB")
    assert packet == control_packet(SUMMARY, packet[start:])
    return packet[start:]


class Node:
    """A broker's summaries, with the advertisers of its links."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.summaries = Summaries(b"one mesh")
        self.advertisers: dict[str, SummaryAdvertiser] = {}
        self.filters: list[str] = []

    def want(self, filter: str) -> None:
        self.filters.append(filter)
        self.summaries.add(filter)

    def hear(self, name: str, packets: list[bytes]) -> None:
        for packet in packets:
            summary = self.summaries.remote.get(name) or RemoteSummary(self.summaries.hasher)
            summary.apply(body_of(packet))
            self.summaries.heard(name, summary)


class Mesh:
    def __init__(self, links: list[tuple[int, int]]) -> None:
        self.nodes = [Node(str(number)) for number in range(len(links) + 1)]
        self.links = [(self.nodes[a], self.nodes[b]) for a, b in links]
        for one, another in self.links:
            one.advertisers[another.name] = SummaryAdvertiser(one.summaries, another.name)
            another.advertisers[one.name] = SummaryAdvertiser(another.summaries, one.name)
        for one, another in self.links:
            another.hear(one.name, one.advertisers[another.name].everything())
            one.hear(another.name, another.advertisers[one.name].everything())

    def settle(self) -> int:
        """Passes messages on until there are none; returns how many there were."""
        told = 0
        for _ in range(200):
            before = told
            for one, another in self.links:
                for speaker, listener in ((one, another), (another, one)):
                    packets = speaker.advertisers[listener.name].changes()
                    told += len(packets)
                    listener.hear(speaker.name, packets)
            if told == before:
                return told
        raise AssertionError("the mesh does not settle")

    def wanted_behind(self, node: Node, neighbour: Node) -> list[str]:
        """The filters of everybody whom `node` reaches through `neighbour`."""
        found: list[str] = []
        seen = {node.name}
        queue = [neighbour]
        while queue:
            at = queue.pop()
            seen.add(at.name)
            found.extend(at.filters)
            queue.extend(n for n in self.nodes if n.name in at.advertisers and n.name not in seen)
        return found

    def check(self, told_exactly: bool) -> None:
        for one, another in self.links:
            for node, neighbour in ((one, another), (another, one)):
                summary = node.summaries.remote[neighbour.name]
                for topic in self.wanted_behind(node, neighbour):
                    assert summary.may_match(topic)
                if told_exactly:
                    assert summary.bits() is not None
                    wrong = sum(summary.may_match(f"nobody/wants/{n}") for n in range(300))
                    assert wrong < 30


TOPOLOGIES = {
    "star": [(0, n) for n in range(1, 9)],
    "chain": [(n, n + 1) for n in range(8)],
    "tree": [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (6, 7)],
}


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_full_summaries_of_many_neighbours_are_laid_out_for_all(topology: str) -> None:
    """Each broker alone fills its bits to the half; eight of them together would fill them all."""
    mesh = Mesh(TOPOLOGIES[topology])
    rng = random.Random(9)
    for node in mesh.nodes:
        for number in range(180):
            node.want(f"site{node.name}/{number}")
    mesh.settle()
    mesh.check(told_exactly=True)
    for _ in range(40):
        node = rng.choice(mesh.nodes)
        node.want(f"site{node.name}/more/{rng.random()}")
    mesh.settle()
    mesh.check(told_exactly=True)
    assert mesh.settle() == 0


def test_what_cannot_be_told_is_anything() -> None:
    mesh = Mesh([(0, 1), (1, 2)])
    mesh.nodes[2].want("a/b")
    mesh.settle()
    middle = mesh.nodes[1].summaries
    # Not a power of two times the size of the others: as if it were another make.
    stranger = RemoteSummary(middle.hasher)
    other_make = Summaries(b"one mesh")
    odd = other_make.own
    odd.counting.plain = BloomFilter(int(odd.counting.plain.size) + 8, odd.counting.plain.hashes)
    stranger.apply(body_of(SummaryAdvertiser(other_make, "1").everything()[0]))
    middle.heard("3", stranger)
    mesh.settle()
    assert mesh.nodes[0].summaries.remote["1"].may_match("anything/at/all")
    assert not middle.remote["2"].may_match("anything/at/all")
    middle.forget("3")
    mesh.settle()
    assert mesh.nodes[0].summaries.remote["1"].may_match("a/b")
    assert not mesh.nodes[0].summaries.remote["1"].may_match("anything/at/all")
