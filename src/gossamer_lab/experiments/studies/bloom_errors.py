"""False positives: how often a search says yes where no filter matches, and what that takes."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from gossamer.bloom.filter import sized_filter
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.searches import ends, inner_prefixes
from gossamer_lab.bench.bloom_workload import Parameters as Workload
from gossamer_lab.bench.bloom_workload import Preparation, draw_filters, draw_topic
from gossamer_lab.experiments.bloom.queries import BF, BFP, HYBRID, METHODS, searches
from gossamer_lab.experiments.experiment import (
    Claim,
    Experiment,
    Figure,
    Grid,
    Quantity,
    ResultRows,
    Scaled,
    band,
)
from gossamer_lab.experiments.plots import STYLES, from_zero, line, panels

RATES: Final = Scaled((0.1, 0.01, 0.001), (0.1, 0.03, 0.01, 0.003, 0.001))  # of the bits
FILTERS: Final = Scaled(1_000, 6_000)  # the paper's default, and six levels
TOPICS: Final = Scaled(500, 5_000)  # that no filter matches
WANTED: Final = 0.001  # the papers' rate


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """All methods get the bits that the prefixes need: n_e distinct elements at the rate."""
    rng = Random(seed)
    workload = Workload(filters=parameters["filters"])
    few = [draw_topic(rng, workload.levels) for _ in range(10)]
    filters = draw_filters(rng, workload, Preparation.WITHOUT_MATCH, few)
    hasher = TopicHasher(str(seed).encode())
    elements = {
        element
        for filter in filters
        for element in (*ends(hasher, filter), *inner_prefixes(hasher, filter))
    }
    rate = parameters["rate"]
    methods = searches(filters, str(seed).encode(), lambda: sized_filter(len(elements), rate))
    # Random levels of ten letters: nothing matches, so that every yes is an error.
    topics = [draw_topic(rng, workload.levels).encode() for _ in range(parameters["topics"])]
    wrong = {name: sum(s.may_match(topic) for topic in topics) for name, s in methods.items()}
    return {
        "errors": {name: count / len(topics) for name, count in wrong.items()},
        "queries": {name: s.queries / len(topics) for name, s in methods.items()},
        "bits": sized_filter(len(elements), rate).size,
        "elements": len(elements),
    }


def figures(rows: ResultRows) -> list[Figure]:
    drawing, (axis,) = panels(1, width=6.5)
    rates = sorted(rows.distinct("rate"))
    percents = [rate * 100 for rate in rates]
    for method, style in zip(METHODS, STYLES, strict=False):
        found = [
            band([row["errors"][method] * 100 for row in rows.where(rate=rate)]) for rate in rates
        ]
        line(axis, percents, found, style, method)
    axis.plot(percents, percents, color="grey", linewidth=1, label="one look-up")
    axis.set_xscale("log")
    axis.set_yscale("symlog", linthresh=0.01)
    from_zero(axis)
    axis.set(xlabel="error rate for which the bits are sized, %", ylabel="searches that err, %")
    axis.legend()
    return [
        Figure(
            "Errors",
            "False positives of a whole search",
            drawing,
            "The filter is sized for a false positive rate of 0.001 for one look-up.",
            _claims(rows),
            "All methods have the same bits. BF and BFP put one element for each filter into them "
            "where the others put every prefix, so that theirs are emptier than they were sized "
            "for.",
        )
    ]


def _of(measure: str, method: str) -> Quantity:
    return lambda row: row[measure][method]


def _claims(rows: ResultRows) -> list[Claim]:
    group = rows.where(rate=WANTED)
    errors = {method: group.mean(_of("errors", method)) for method in METHODS}
    queries = {method: group.mean(_of("queries", method)) for method in METHODS}
    return [
        Claim(
            "sized for 0.1 % a look-up, whole searches err in",
            "0.1 % for one look-up",
            ", ".join(f"{name} {part:.2%}" for name, part in errors.items()),
            errors[HYBRID] <= 2 * WANTED,
            headline=True,
        ),
        Claim(
            "many look-ups mean many chances to err, even in emptier bits",
            "not in the paper",
            f"BF makes {queries[BF]:,.0f} look-ups, BFP {queries[BFP]:,.0f}, hybrid "
            f"{queries[HYBRID]:,.1f}",
            True,
        ),
    ]


EXPERIMENT = Experiment(
    name="bloom-errors",
    title="How often is a summary wrong?",
    source="Banno and Watanabe, Section IV; no figure",
    about=(
        "A summary never misses a match. It may say yes where there is none, and then a message is "
        "sent for nothing. Topics are asked for that no filter matches."
    ),
    grid=Grid({"rate": RATES}, 3, {"filters": FILTERS, "topics": TOPICS}),
    measure=measure,
    figures=figures,
)
