"""What a large simulation is made of, and everything that is drawn from its seed before it runs.

The simulator and its reduced form take the same drawing, so that they speak of the same network.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

_HOT_PART: Final = 10  # crowded subscribers share one broker in so many


@dataclass
class ScenarioSettings:
    """The defaults are the paper's, or our reading of it: docs/simulator.md says where the paper is
    silent and why it was read like this."""

    brokers: int = 1000
    subscribers: int = 8000
    publishers: int = 2000
    mode: str = "ssf"
    alpha: float = 0.3  # the probability that a filter has a `+`
    beta: float | None = None  # that it ends in `#`; a tenth of alpha if not given
    seed: int = 1
    seconds: float = 30.0  # for which publishers publish, one message a second each
    subscribing: float = 1.0  # seconds in which all subscribers subscribe
    subscriptions: int = 1  # of each subscriber
    topics: int = 100  # drawn from the pool, for all clients
    levels: int = 5
    names: int = 5  # of each level
    payload: int = 100  # bytes
    crowding: float = 0.0  # the part of the subscribers that is on a tenth of the brokers
    shortest_latency: float = 0.001  # of links, in seconds
    longest_latency: float = 0.010
    bandwidth: float = 1_250_000.0  # bytes a second of a link and direction: 10 Mbit/s
    cost: float = 0.0002  # a broker's seconds to take in a message, and again for each it sends on
    step: float = 0.005  # what arrives in it is handled together; time is exact to this
    observed: float = 0.05  # the part of the subscribers whose every message is looked at
    settled: bool = False  # publishers wait until the mesh knows all subscriptions

    @property
    def hash_probability(self) -> float:
        return self.alpha / 10 if self.beta is None else self.beta


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


def tree(brokers: int, random: Random) -> list[int]:
    """For each broker but the first, the earlier one that it is joined to."""
    return [random.randrange(number) for number in range(1, brokers)]


def topics(settings: ScenarioSettings, random: Random) -> list[str]:
    """Different topics of one to five levels, drawn from the pool of all of them."""
    pool: dict[str, None] = {}
    wanted = min(settings.topics, settings.names**settings.levels)
    while len(pool) < wanted:
        depth = _depth(settings, random)
        names = [f"{level}{random.randrange(settings.names)}" for level in range(depth)]
        pool["/".join(names)] = None
    return list(pool)


def _depth(settings: ScenarioSettings, random: Random) -> int:
    """Every topic of the pool is as likely as any other, so most are deep."""
    weights = [settings.names**depth for depth in range(1, settings.levels + 1)]
    return random.choices(range(1, settings.levels + 1), weights)[0]


def filter_of(topic: str, settings: ScenarioSettings, random: Random) -> str:
    """The topic, or with `+` in place of a level, or with `#` in place of its end, or both."""
    levels = topic.split("/")
    if random.random() < settings.alpha:
        levels[random.randrange(len(levels))] = "+"
    if random.random() < settings.hash_probability:
        levels[random.randrange(len(levels)) :] = ["#"]
    return "/".join(levels)


def places(count: int, settings: ScenarioSettings, crowding: float, random: Random) -> list[int]:
    """The broker of each client; a part of them crowds on few brokers."""
    everywhere = range(settings.brokers)
    few = random.sample(everywhere, max(1, settings.brokers // _HOT_PART))
    return [random.choice(few if random.random() < crowding else everywhere) for _ in range(count)]
