"""How large the experiment is: the paper's parameters, or a tenth for a first look."""

from dataclasses import dataclass

from gossamer.sim.scenario.settings import ScenarioSettings

TENTH = 10


@dataclass(frozen=True)
class Sizes:
    brokers: int
    subscribers: int
    publishers: int
    seconds: float
    cost: float
    alphas: tuple[float, ...]
    filters: int  # distinct ones, where summaries are compared with filters
    topics: int
    seed: int = 7

    def scenario(self, mode: str, alpha: float) -> ScenarioSettings:
        return ScenarioSettings(
            brokers=self.brokers,
            subscribers=self.subscribers,
            publishers=self.publishers,
            mode=mode,
            alpha=alpha,
            seed=self.seed,
            seconds=self.seconds,
            cost=self.cost,
            topics=self.topics,
        )

    def crowded(self, mode: str, alpha: float) -> ScenarioSettings:
        """Figure 20: a tenth of the network, and its subscribers close together."""
        brokers = max(TENTH, self.brokers // TENTH)
        settings = self.scenario(mode, alpha)
        settings.brokers = brokers
        settings.subscribers = self.subscribers * brokers // self.brokers
        settings.publishers = self.publishers * brokers // self.brokers
        settings.cost = self.cost * self.brokers / brokers
        settings.crowding = 1.0
        return settings

    def settled(self, mode: str, alpha: float) -> ScenarioSettings:
        """For comparing deliveries: everybody is observed, and nobody publishes too early."""
        settings = self.crowded(mode, alpha)
        settings.crowding = 0.0
        settings.seconds = min(5.0, self.seconds)
        settings.settled = True
        settings.observed = 1.0
        return settings


FULL = Sizes(1000, 8000, 2000, 30.0, 0.0002, (0.0, 0.1, 0.3, 0.5, 0.7, 0.9), 100_000, 100)
# Ten times fewer messages at ten times the cost: brokers are as busy as in the full size.
QUICK = Sizes(100, 800, 200, 10.0, 0.002, (0.0, 0.3, 0.9), 10_000, 10)
