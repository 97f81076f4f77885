"""What a large simulation is made of; the defaults are the paper's, or our reading of it."""

from dataclasses import dataclass


@dataclass
class ScenarioSettings:
    """docs/simulator.md says where the paper is silent and why it was read like this."""

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
