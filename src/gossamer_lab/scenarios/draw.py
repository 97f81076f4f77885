"""Everything that a scenario draws from its seed, before anything runs.

The simulator and its reduced form take the same drawing, so that they speak of the same network.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from gossamer_lab.scenarios.settings import ScenarioSettings
from gossamer_lab.scenarios.workload import filter_of, places, topics, tree


@dataclass
class DrawnSubscriber:
    seat: int  # the number of its broker
    is_observed: bool
    subscriptions: list[tuple[float, str]]  # when in the first second, and the filter


@dataclass
class DrawnPublisher:
    seat: int
    at: float  # when in each second


@dataclass
class Drawing:
    """`parents` and `latencies` are of every broker but the first: whom it is joined to, and the
    seconds there and back."""

    parents: list[int]
    latencies: list[tuple[float, float]]
    topics: list[str]
    subscribers: list[DrawnSubscriber]
    publishers: list[DrawnPublisher]


def draw(settings: ScenarioSettings) -> Drawing:
    random = Random(settings.seed)
    shortest, longest = settings.shortest_latency, settings.longest_latency
    parents = tree(settings.brokers, random)
    latencies = [
        (random.uniform(shortest, longest), random.uniform(shortest, longest)) for _ in parents
    ]
    pool = topics(settings, random)
    subscribers = [
        DrawnSubscriber(
            seat,
            random.random() < settings.observed,
            [
                (
                    random.random() * settings.subscribing,
                    filter_of(random.choice(pool), settings, random),
                )
                for _ in range(settings.subscriptions)
            ],
        )
        for seat in places(settings.subscribers, settings, settings.crowding, random)
    ]
    publishers = [
        DrawnPublisher(seat, random.random())
        for seat in places(settings.publishers, settings, 0.0, random)
    ]
    return Drawing(parents, latencies, pool, subscribers, publishers)
