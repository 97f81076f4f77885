"""All scenarios in the order in which they run, and the process that runs one of them.

python -m gossamer_lab.bench.load.scenarios SCENARIO '{"host": …, "port": …, …}'
"""

import gc
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import NamedTuple

from gossamer_lab.bench.load import bursts, paced, state
from gossamer_lab.bench.load.client import GeneratorError
from gossamer_lab.bench.measurement import BenchTarget, Measurement


class LoadScenario(NamedTuple):
    name: str
    title: str
    run: Callable[[BenchTarget], Measurement]
    # A burst scenario saturates the broker; the others are bound by something else.
    is_burst: bool = True


_one_to_one = partial(bursts.one_to_many, receivers=1, load=bursts.BURST)
_one_to_fifty = partial(bursts.one_to_many, receivers=50, load=bursts.FAN_OUT_BURST)
_durable_pairs = partial(bursts.pairs, qos=1, count=bursts.DURABLE_PAIRS, clean=False)
_one_pair = partial(bursts.pairs, qos=0, count=1, load=bursts.BURST)
_pairs_qos_1 = partial(bursts.pairs, qos=1)
_pairs_qos_2 = partial(bursts.pairs, qos=2)

# Its referee is `bench/bare_loop.py`.
ONE_A_READ = "pairs-200"

SCENARIOS = (
    LoadScenario("burst-1-1", "one to one in bursts, QoS 0", _one_to_one),
    LoadScenario("burst-1-50", "one to fifty in bursts, QoS 0", _one_to_fifty),
    LoadScenario(ONE_A_READ, "200 pairs, one message per read", paced.one_message_per_read, False),
    LoadScenario("qos1-20", "20 pairs in bursts, QoS 1", _pairs_qos_1),
    LoadScenario("qos2-20", "20 pairs in bursts, QoS 2", _pairs_qos_2),
    LoadScenario("wildcards", "100 wildcard subscribers, 1,000 topics", bursts.wildcards),
    LoadScenario("latency", "latency at 1,000 messages a second, QoS 1", paced.latency, False),
    LoadScenario("idle", "5,000 idle connections", paced.idle_connections, False),
    LoadScenario("filters", "matching against 1,000,000 filters", bursts.million_filters),
)
# For sessions that last, with every acknowledged message on disk where the broker promises that.
DURABLE_SCENARIOS = (
    LoadScenario("durable-online", "64 pairs with lasting sessions, QoS 1", _durable_pairs),
    LoadScenario("durable-away", "64 publishers to clients that are away", bursts.away),
)
FLOOD_SCENARIOS = (
    LoadScenario("flood-none", "alone", paced.latency, False),
    LoadScenario(
        "flood-qos0", "beside a flood at QoS 0", partial(paced.latency, flood_qos=0), False
    ),
    LoadScenario(
        "flood-qos1", "beside a flood at QoS 1", partial(paced.latency, flood_qos=1), False
    ),
)
# Over chains of brokers.
MESH_SCENARIOS = (
    LoadScenario("mesh-qos0", "one pair in bursts, QoS 0", _one_pair),
    LoadScenario("mesh-qos1", "20 pairs in bursts, QoS 1", _pairs_qos_1),
    LoadScenario("mesh-qos2", "20 pairs in bursts, QoS 2", _pairs_qos_2),
)
MESH_LATENCY = LoadScenario(
    "mesh-latency", "latency at 1,000 messages a second, QoS 1", paced.latency, False
)
# What a delivery costs by how much a broker holds: by what grows, its scenarios by size.
_TO_A_MILLION = (1_000, 10_000, 100_000, 1_000_000)
GROWTH_SCENARIOS = {
    growing: {
        size: LoadScenario(
            f"growth-{growing}-{size}", f"{size:,} {growing}", partial(run, count=size)
        )
        for size in sizes
    }
    for growing, sizes, run in (
        ("topics", _TO_A_MILLION, state.wildcards_over_topics),
        ("subscriptions", _TO_A_MILLION, state.one_of_subscriptions),
        ("retained", _TO_A_MILLION, state.wildcards_beside_retained),
        ("connections", (100, 1_000, 10_000), state.one_of_connections),
    )
}
BY_NAME = {
    scenario.name: scenario
    for scenario in (
        *SCENARIOS,
        *DURABLE_SCENARIOS,
        *FLOOD_SCENARIOS,
        *MESH_SCENARIOS,
        MESH_LATENCY,
        *(one for by_size in GROWTH_SCENARIOS.values() for one in by_size.values()),
    )
}


def main() -> None:
    """Prints the result as JSON."""
    name, target = sys.argv[1:3]
    gc.disable()
    try:
        result = BY_NAME[name].run(BenchTarget(**json.loads(target)))
    except (GeneratorError, OSError) as problem:
        result = Measurement(failure=str(problem) or type(problem).__name__)
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    main()
