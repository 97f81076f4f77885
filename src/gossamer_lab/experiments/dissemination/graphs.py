"""Random graphs of brokers with links to spare, drawn alike for every way of looking at them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from gossamer_lab.scenarios.workload import tree

SHORTEST, LONGEST = 0.001, 0.010  # latency of a link in seconds
SPARE: Final = 2  # a spare link for so many brokers


@dataclass(frozen=True)
class Graph:
    """`random` goes on from where the drawing ended."""

    brokers: int
    links: list[tuple[int, int]]
    latencies: list[tuple[float, float]]  # of each link, there and back
    random: Random


def draw_graph(brokers: int, seed: int) -> Graph:
    """A random tree, and more links between any two."""
    random = Random(seed)
    links = dict.fromkeys(
        (parent, number) for number, parent in enumerate(tree(brokers, random), 1)
    )
    wanted = len(links) + max(1, brokers // SPARE)
    while len(links) < min(wanted, brokers * (brokers - 1) // 2):
        one, other = sorted(random.sample(range(brokers), 2))
        links[one, other] = None
    latencies = [
        (random.uniform(SHORTEST, LONGEST), random.uniform(SHORTEST, LONGEST)) for _ in links
    ]
    return Graph(brokers, list(links), latencies, random)


def choose_link(graph: Graph, carrying: list[int]) -> int:
    """Which link to take away: one of these that another way leads around, if any is."""
    left = list(carrying)
    while len(left) > 1:
        chosen = graph.random.choice(left)
        if _has_way_around(graph, chosen):
            return chosen
        left.remove(chosen)
    return left[0]


def _has_way_around(graph: Graph, cut: int) -> bool:
    neighbours: list[list[int]] = [[] for _ in range(graph.brokers)]
    for number, (one, other) in enumerate(graph.links):
        if number != cut:
            neighbours[one].append(other)
            neighbours[other].append(one)
    start, end = graph.links[cut]
    found = {start}
    waiting = [start]
    while waiting and end not in found:
        for other in neighbours[waiting.pop()]:
            if other not in found:
                found.add(other)
                waiting.append(other)
    return end in found
