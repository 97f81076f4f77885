"""Beyond the papers: many distinct filters on one broker, told as filters and as a summary.

    a (all subscribers) - b - c (all publishers)

Either the filters are there and the links come up, or the links stand and the filters come, in ten
seconds. Then topics are published at `c` that some filter matches, or none does.
"""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any, Final

from gossamer.sim.network import Road
from gossamer.wire.packets import Request, Subscribe
from gossamer_lab.bench.topic_sets import sensor_topic
from gossamer_lab.experiments.experiment import (
    Claim,
    Experiment,
    Figure,
    Grid,
    ResultRow,
    ResultRows,
    Scaled,
)
from gossamer_lab.experiments.plots import STYLES, curve, from_zero, panels
from gossamer_lab.scenarios.scenario import publish_head
from gossamer_lab.scenarios.small_mesh import SmallMesh

FILTERS: Final = Scaled((10_000, 3_000, 1_000), (100_000, 30_000, 10_000, 3_000, 1_000))
FEWER_BYTES: Final = 5.0
MOST_NEEDLESS: Final = 0.01
MODES: Final = ("ssf", "bloom")
STORMY: Final = (False, True)
CLIENT_FILTERS: Final = 500  # of one subscriber
PACKET_FILTERS: Final = 50  # of one SUBSCRIBE
STORM_SECONDS: Final = 10.0
REST: Final = 20.0  # seconds; links stand and everything is told long before
PROBES: Final = 20_000  # topics that nobody wants; a tenth as many that somebody does
LATENCY: Final = 0.005


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    filters, is_storm = parameters["filters"], parameters["is_storm"]
    random = Random(seed)
    wanted = _distinct(filters, random)
    line = SmallMesh(
        "abc", parameters["mode"], [(0, 1, LATENCY, LATENCY), (1, 2, LATENCY, LATENCY)]
    )
    if is_storm:
        line.join()
        line.rest(1.0)
    _subscribe(line, wanted, STORM_SECONDS if is_storm else 0.0)
    line.rest(STORM_SECONDS + 1.0)
    if not is_storm:
        line.join()
    line.rest(REST)
    control_bytes = line.hosts[0].mesh.by_name["b"].interest_bytes
    probes = _distinct(filters + PROBES, random, wanted)
    back = line.cables[1].back  # from c to b
    needless = _publish(line, back, list(probes)[filters:])
    before = line.tally.deliveries
    some = random.sample(list(wanted), min(filters, PROBES // 10))
    _publish(line, back, some)
    return {
        "control_bytes": control_bytes,  # of interest, from a to b
        "needless": needless,  # publications that c sent and nobody wanted
        "unwanted": PROBES,  # of so many
        "missed": len(some) - (line.tally.deliveries - before),  # wanted ones that did not arrive
        "wanted": len(some),  # of so many
    }


def _distinct(count: int, random: Random, known: dict[str, None] | None = None) -> dict[str, None]:
    """Different topics, the known ones first."""
    topics = dict(known or {})
    while len(topics) < count:
        topics[sensor_topic(random)] = None
    return topics


def _subscribe(line: SmallMesh, wanted: dict[str, None], seconds: float) -> None:
    filters = list(wanted)
    start = line.timeline.now + 0.1
    for first in range(0, len(filters), CLIENT_FILTERS):
        end = line.client(0, f"s{first}")
        own = filters[first : first + CLIENT_FILTERS]
        for index in range(0, len(own), PACKET_FILTERS):
            requests = [Request(filter, 0) for filter in own[index : index + PACKET_FILTERS]]
            at = start + seconds * (first + index) / len(filters)
            line.say(end, Subscribe(1, requests), at)


def _publish(line: SmallMesh, road: Road, topics: list[str]) -> int:
    """How many of them the road carried."""
    before = road.publications
    publisher = line.client(2, f"p{before}")
    line.rest(1.0)
    for topic in topics:
        line.say(publisher, publish_head(topic, 0))
    line.rest(5.0)
    return road.publications - before


def figures(rows: ResultRows) -> list[Figure]:
    drawing, (sizes, errors) = panels(2)
    kinds = product(MODES, STORMY)
    for style, (mode, is_storm) in zip(STYLES, kinds, strict=False):
        group = rows.where(mode=mode, is_storm=is_storm)
        label = f"{mode}, {'arriving in ten seconds' if is_storm else 'known before'}"
        curve(sizes, group, "filters", "control_bytes", style, label)
    for mode, style in (("ssf", STYLES[0]), ("bloom", STYLES[2])):
        group = rows.where(mode=mode, is_storm=False)
        curve(errors, group, "filters", lambda row: 100 * _needless(row), style, mode)
    for axis, unit in (
        (sizes, "bytes to tell one neighbour"),
        (errors, "forwarded though nobody wants it, %"),
    ):
        axis.set(xlabel="distinct filters", ylabel=unit, xscale="log")
    sizes.set_yscale("log")
    sizes.legend()
    from_zero(errors)
    errors.legend()
    return [
        Figure(
            "Summaries",
            "Telling a neighbour what is wanted, as filters and as bits",
            drawing,
            "A Bloom filter takes about two bytes an element at an error rate of 0.001.",
            _claims(rows),
        )
    ]


def _needless(row: ResultRow) -> float:
    """The part of what nobody wants that was forwarded all the same."""
    return float(row["needless"] / row["unwanted"])


def _claims(rows: ResultRows) -> list[Claim]:
    most = max(rows.distinct("filters"))

    def told(mode: str, is_storm: bool) -> float:
        return rows.mean("control_bytes", mode=mode, filters=most, is_storm=is_storm)

    ratio = told("ssf", False) / told("bloom", False)
    stormy = told("ssf", True) / told("bloom", True)
    needless = max(rows.values(_needless))
    missed = sum(rows.values("missed"))
    return [
        Claim(
            f"{most:,} distinct filters take at least five times fewer bytes as a summary",
            "the papers give no number",
            f"{ratio:.1f} times fewer; {stormy:.1f} times while they arrive one after the other",
            ratio >= FEWER_BYTES,
            headline=True,
        ),
        Claim(
            "false positives: what nobody wants and is forwarded all the same",
            "0.1 % a search (the size is chosen for it)",
            f"{needless:.3%} at most; {missed} wanted messages missing",
            needless < MOST_NEEDLESS and missed == 0,
            headline=True,
        ),
    ]


EXPERIMENT = Experiment(
    name="mesh-summaries",
    title="What does a summary save?",
    source="The open question of Banno and Watanabe: exchanging the filters",
    about=(
        "Three simulated brokers in a line, all subscribers on the first, all publishers on the "
        "last. Either the filters are there when the links come up, or they arrive within ten "
        "seconds. Then topics are published that somebody wants or nobody does."
    ),
    grid=Grid({"filters": FILTERS, "mode": MODES, "is_storm": STORMY}, seeds=Scaled(1, 3)),
    measure=measure,
    figures=figures,
)
