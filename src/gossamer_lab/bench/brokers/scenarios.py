"""All scenarios in the order in which they run."""

from collections.abc import Callable
from typing import NamedTuple

from gossamer_lab.bench.brokers import (
    across,
    bursts,
    durable,
    filters,
    flood,
    idle,
    latency,
    pingpong,
)
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement


class LoadScenario(NamedTuple):
    name: str
    title: str
    run: Callable[[BenchTarget], Measurement]
    # A burst scenario saturates the broker; the others are bound by something else.
    is_burst: bool


SCENARIOS = (
    LoadScenario("burst-1-1", "one to one in bursts, QoS 0", bursts.one_to_one, True),
    LoadScenario("burst-1-50", "one to fifty in bursts, QoS 0", bursts.one_to_fifty, True),
    LoadScenario(
        "pairs-200", "200 pairs, one message per read", pingpong.one_message_per_read, False
    ),
    LoadScenario("qos1-20", "20 pairs in bursts, QoS 1", bursts.pairs_qos_1, True),
    LoadScenario("qos2-20", "20 pairs in bursts, QoS 2", bursts.pairs_qos_2, True),
    LoadScenario("wildcards", "100 wildcard subscribers, 1,000 topics", bursts.wildcards, True),
    LoadScenario(
        "latency", "latency at 1,000 messages a second, QoS 1", latency.at_fixed_rate, False
    ),
    LoadScenario("idle", "5,000 idle connections", idle.idle_connections, False),
    LoadScenario("filters", "matching against 1,000,000 filters", filters.million_filters, True),
)
# For sessions that last, with every acknowledged message on disk where the broker promises that.
DURABLE_SCENARIOS = (
    LoadScenario("durable-online", "64 pairs with lasting sessions, QoS 1", durable.online, True),
    LoadScenario("durable-away", "64 publishers to clients that are away", durable.away, True),
)
FLOOD_SCENARIOS = (
    LoadScenario("flood-none", "alone", flood.quiet, False),
    LoadScenario("flood-qos0", "beside a flood at QoS 0", flood.beside_qos_0, False),
    LoadScenario("flood-qos1", "beside a flood at QoS 1", flood.beside_qos_1, False),
)
# Over chains of brokers.
MESH_SCENARIOS = (
    LoadScenario("mesh-qos0", "one pair in bursts, QoS 0", across.at_qos_0, True),
    LoadScenario("mesh-qos1", "20 pairs in bursts, QoS 1", across.at_qos_1, True),
    LoadScenario("mesh-qos2", "20 pairs in bursts, QoS 2", across.at_qos_2, True),
)
BY_NAME = {
    scenario.name: scenario
    for scenario in (*SCENARIOS, *DURABLE_SCENARIOS, *FLOOD_SCENARIOS, *MESH_SCENARIOS)
}
