"""The scenario without brokers: what crosses every link of a tree, worked out instead of run.

For every link and direction it knows when each filter would first arrive there. That is enough for
what `sf` and `ssf` tell, for what a broker then holds, and for where publications go once all is
known. Left out are queues, the time that brokers take, and messages that share a packet: numbers of
messages are those of the full simulation but for ties, latencies are not modelled. A hundred
thousand brokers take about a minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gossamer.bloom.filter import bits_for
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.searches import ends, inner_prefixes
from gossamer.topics.containment import canonical, contains
from gossamer.topics.names import matches
from gossamer_lab.scenarios.workload import Drawing, ScenarioSettings, draw

ERROR_RATE: Final = 0.001  # for which summaries are sized
_BLOCK: Final = 512  # links that are looked at together

Array = Any  # of numpy, whose types say more than is of use here


@dataclass(frozen=True)
class Reduced:
    """Totals over all links, and averages a broker of what is held for and from its neighbours."""

    distinct_filters: int
    sf_messages: int
    ssf_messages: int
    sf_held: float  # filters
    ssf_held: float
    bloom_held: float  # bytes of summaries
    ssf_held_bytes: float
    pf_forwards: float  # publications that cross a link, in a second
    wanted_forwards: float  # the same in every mode that tells
    busiest_pf: float  # publications that the busiest broker sends to neighbours in a second
    busiest_wanted: float
    known_after: float  # seconds until the last broker knows of a subscription, without queues


class _Tree:
    """Filters by the first time at which each would be told, up and down every link."""

    def __init__(self, drawing: Drawing, brokers: int) -> None:
        self.brokers = brokers
        self.parents = drawing.parents
        self.there = [latency for latency, _ in drawing.latencies]
        self.back = [latency for _, latency in drawing.latencies]
        self.filters: list[str] = []
        self._numbers: dict[str, int] = {}
        told = [
            (subscriber.seat, at, self._number(filter))
            for subscriber in drawing.subscribers
            for at, filter in subscriber.subscriptions
        ]
        self.own: Array = np.full((brokers, len(self.filters)), np.inf, np.float32)
        for seat, at, number in told:
            if at < self.own[seat, number]:
                self.own[seat, number] = at
        self.children: list[list[int]] = [[] for _ in range(brokers)]
        for number, parent in enumerate(self.parents, 1):
            self.children[parent].append(number)

    def _number(self, filter: str) -> int:
        """The same for filters that mean the same."""
        name = canonical(filter)
        if name not in self._numbers:
            self._numbers[name] = len(self.filters)
            self.filters.append(name)
        return self._numbers[name]

    def upward(self) -> Array:
        """By broker: when it would tell each filter to its parent."""
        times = self.own.copy()
        for number in range(self.brokers - 1, 0, -1):
            arriving = times[number] + self.there[number - 1]
            parent = self.parents[number - 1]
            np.minimum(times[parent], arriving, out=times[parent])
        return times

    def downward(self, upward: Array) -> Array:
        """By broker: when its parent would tell it each filter."""
        times = np.full_like(self.own, np.inf)
        for parent, children in enumerate(self.children):
            if not children:
                continue
            known = self.own[parent].copy()
            if parent:
                np.minimum(known, times[parent] + self.back[parent - 1], out=known)
            delays = np.array([self.there[child - 1] for child in children], np.float32)
            arriving = upward[children] + delays[:, None]
            # What all the others told: the least before and the least after.
            before = np.minimum.accumulate(np.vstack([known, arriving]), axis=0)[:-1]
            after = np.full_like(arriving, np.inf)
            after[:-1] = np.minimum.accumulate(arriving[:0:-1], axis=0)[::-1]
            times[children] = np.minimum(before, after)
        return times


def reduce(settings: ScenarioSettings) -> Reduced:
    drawing = draw(settings)
    tree = _Tree(drawing, settings.brokers)
    upward = tree.upward()
    downward = tree.downward(upward)
    told = _Told(tree.filters, drawing.topics)
    for times in (upward, downward):
        for start in range(1, settings.brokers, _BLOCK):
            told.add(times[start : start + _BLOCK])
    flows = _flows(settings, drawing, tree, told)
    subscriptions = sum(len(subscriber.subscriptions) for subscriber in drawing.subscribers)
    brokers = settings.brokers
    return Reduced(
        len(tree.filters),
        subscriptions * (brokers - 1),
        told.messages,
        2 * told.known / brokers,  # both ends of a link keep what was told
        2 * told.held / brokers,
        2 * told.summary_bytes / brokers,
        2 * told.held_bytes / brokers,
        flows[0],
        flows[1],
        flows[2],
        flows[3],
        _known_after(tree),
    )


class _Told:
    """Adds up what is told over links, a block of them at a time."""

    def __init__(self, filters: list[str], topics: list[str]) -> None:
        count = len(filters)
        wider = [
            [other for other in range(count) if other != one and contains(filters[other], filter)]
            for one, filter in enumerate(filters)
        ]
        # A column that is never reached stands for "no wider filter".
        self._wider: Array = np.concatenate([np.array([*some, count]) for some in wider])
        self._starts: Array = np.cumsum([0, *(len(some) + 1 for some in wider[:-1])])
        self._matching: Array = np.array(
            [[matches(filter, topic) for topic in topics] for filter in filters], np.float32
        )
        self._sizes: Array = np.array([len(filter.encode()) for filter in filters])
        self._elements = _elements(filters)
        self.messages = 0
        self.known = 0  # distinct filters, over all links and directions
        self.held = 0  # the maximal ones of them
        self.held_bytes = 0
        self.summary_bytes = 0.0
        self.wanted: list[Array] = []  # by link and direction: which topics

    def add(self, times: Array) -> None:
        never = np.full((len(times), 1), np.inf, np.float32)
        reach = np.minimum.reduceat(np.hstack([times, never])[:, self._wider], self._starts, axis=1)
        is_known = np.isfinite(times)
        entered = is_known & (times < reach)  # nothing wider was told before
        left = entered & np.isfinite(reach)  # something wider came later
        held = entered & ~left
        self.messages += int(entered.sum() + left.sum())
        self.known += int(is_known.sum())
        self.held += int(held.sum())
        self.held_bytes += int((held * self._sizes).sum())
        known = is_known.astype(np.float32)
        counts = ((known @ self._elements) > 0).sum(axis=1)
        self.summary_bytes += sum(bits_for(max(1, int(n)), ERROR_RATE) / 8 for n in counts)
        self.wanted.append((known @ self._matching) > 0)


def _elements(filters: list[str]) -> Array:
    """Which elements of a summary each filter brings."""
    hasher = TopicHasher(b"reduced")
    numbers: dict[int, int] = {}
    rows = []
    for filter in filters:
        found = (*ends(hasher, filter), *inner_prefixes(hasher, filter))
        rows.append([numbers.setdefault(element, len(numbers)) for element in found])
    table = np.zeros((len(filters), len(numbers)), np.float32)
    for row, columns in enumerate(rows):
        table[row, columns] = 1
    return table


def _flows(
    settings: ScenarioSettings, drawing: Drawing, tree: _Tree, told: _Told
) -> tuple[float, float, float, float]:
    """Publications a second over all links, in pf and where wanted; then those of the broker that
    sends most. What a broker was told by a neighbour is what it sends to it."""
    brokers = settings.brokers
    speaking: Array = np.zeros(brokers)
    for publisher in drawing.publishers:
        speaking[publisher.seat] += 1
    below = speaking.copy()  # publishers in the part of the tree that hangs on a broker
    for number in range(brokers - 1, 0, -1):
        below[tree.parents[number - 1]] += below[number]
    parents = np.array(tree.parents)
    inside = below[1:]
    outside = len(drawing.publishers) - inside
    shares = np.vstack(told.wanted).mean(axis=1)
    told_up, told_down = shares[: brokers - 1], shares[brokers - 1 :]
    busiest = []
    totals = []
    for from_parent, from_child in ((outside, inside), (outside * told_up, inside * told_down)):
        sent = np.zeros(brokers)
        sent[1:] += from_child
        np.add.at(sent, parents, from_parent)
        totals.append(float(sent.sum()))
        busiest.append(float(sent.max()))
    return totals[0], totals[1], busiest[0], busiest[1]


def _known_after(tree: _Tree) -> float:
    """The longest way through the tree, in seconds of latency."""
    deepest = [0.0] * tree.brokers
    longest = 0.0
    for number in range(tree.brokers - 1, 0, -1):
        parent = tree.parents[number - 1]
        way = deepest[number] + max(tree.there[number - 1], tree.back[number - 1])
        longest = max(longest, deepest[parent] + way)
        deepest[parent] = max(deepest[parent], way)
    return longest
