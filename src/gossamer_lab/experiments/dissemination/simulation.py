"""One run of the large simulated mesh, as the measures of a cell."""

from __future__ import annotations

from statistics import fmean
from typing import Any, Final

from gossamer_lab.experiments.experiment import Scaled
from gossamer_lab.quantiles import quantile
from gossamer_lab.scenarios.measures import measure
from gossamer_lab.scenarios.scenario import Scenario
from gossamer_lab.scenarios.workload import ScenarioSettings

# By second, averages a broker but for the two that name the worst one.
SERIES: Final = (
    "publications",
    "interests",
    "bytes",
    "most_bytes",
    "queue",
    "queued_interests",
    "longest_queue",
)
LATENCIES: Final = {"latency_low": 0.05, "latency_quarter": 0.25, "latency_median": 0.5}
LATENCIES_ABOVE: Final = {"latency_three_quarters": 0.75, "latency_high": 0.95}


_PAPER: Final = {
    "brokers": 1000,
    "subscribers": 8000,
    "publishers": 2000,
    "seconds": 30.0,
    "cost": 0.0002,
    "topics": 100,
}


def _tenth(network: dict[str, Any]) -> dict[str, Any]:
    """A tenth of the brokers and clients, and brokers that take ten times as long, so that they are
    as busy."""
    part = {name: network[name] // 10 for name in ("brokers", "subscribers", "publishers")}
    return {**network, **part, "cost": network["cost"] * 10}


# The paper's network, at scale small a tenth of it and for a shorter time; and a tenth of both, as
# the paper has it in Figure 20.
NETWORK: Final = Scaled({**_tenth(_PAPER), "seconds": 10.0}, _PAPER)
TENTH: Final = Scaled(_tenth(NETWORK.small), _tenth(NETWORK.paper))


def simulate(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    result = Scenario(ScenarioSettings(**parameters, seed=seed)).run(lambda part, what: None)
    measures = measure(result)
    latencies = sorted(result.latencies)
    found: dict[str, Any] = {
        name: [getattr(second, name) for second in measures.output] for name in SERIES
    }
    found.update(
        {name: quantile(latencies, part) for name, part in {**LATENCIES, **LATENCIES_ABOVE}.items()}
    )
    found.update(
        latency_mean=fmean(latencies) if latencies else 0.0,
        messages_per_broker=measures.messages_per_broker,
        bytes_per_broker=measures.bytes_per_broker,
        subscriptions_per_broker=measures.subscriptions_per_broker,
        subscription_share=measures.subscription_share,
        longest_average_queue=measures.longest_average_queue,
        longest_average_subscription_queue=measures.longest_average_subscription_queue,
        longest_queue_of_all=measures.longest_queue,
        published=result.published,
        deliveries=result.deliveries,
        forwards=result.forwards,
        subscriptions=result.interests,
        control_bytes=result.control_bytes,
        link_bytes=result.link_bytes,
        messages_a_second=result.messages_a_second,
        received=str(hash(tuple(result.seen))),
    )
    return found
