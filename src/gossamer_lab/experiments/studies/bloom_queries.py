"""Figures 4 to 6 of the Bloom paper: look-ups for a topic, three preparations, four sweeps.

Seed by seed, subscriptions are drawn anew; the paper drew ten times.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from gossamer_lab.bench.bloom_workload import Parameters as Workload
from gossamer_lab.bench.bloom_workload import Preparation
from gossamer_lab.experiments.bloom.queries import BFP, HYBRID, METHODS, PREFIX, average_queries
from gossamer_lab.experiments.experiment import (
    SMALL,
    Cell,
    Claim,
    Experiment,
    Figure,
    ResultRows,
    band,
)
from gossamer_lab.experiments.plots import STYLES, from_zero, line, panels


@dataclass(frozen=True)
class Sweep:
    """One parameter and its values; the others keep their defaults."""

    field: str
    symbol: str
    values: tuple[float, ...]

    def workload(self, value: float) -> Workload:
        default = getattr(Workload(), self.field)
        return replace(Workload(), **{self.field: type(default)(value)})


SWEEPS: Final = (
    Sweep("filters", "n_t", (2_000, 4_000, 6_000, 8_000, 10_000)),
    Sweep("levels", "n_lv", (2, 4, 6, 8, 10)),
    Sweep("wildcard_probability", "p_wc", (0.0, 0.25, 0.5, 0.75, 1.0)),
    Sweep("first_wildcard_level", "l_wc", (0, 1, 2, 3, 4, 5)),
)
FIGURES: Final = {
    Preparation.WITH_WILDCARD_ONLY: (
        "Figure 4",
        "Mostly one query, because some filter such as “#” matches nearly everything and is asked "
        "for first.",
    ),
    Preparation.WITHOUT_WILDCARD_ONLY: (
        "Figure 5",
        "BF is the same whatever n_t, p_wc and l_wc are, and explodes with n_lv; BFP follows the "
        "number of patterns; the prefix method stays low.",
    ),
    Preparation.WITHOUT_MATCH: (
        "Figure 6",
        "Without a match BF and BFP must try every pattern; the prefix method ends where no prefix "
        "goes on. At ten levels it takes 29.7 queries, under 2 % of BFP.",
    ),
}
PUBLISHED: Final = {BFP: 1_570.0, PREFIX: 29.7}  # ten levels, without a match
TOLERANCE: Final = 0.03
LINEAR_BELOW: Final = 1.0  # A search without any look-up has its place on the scale, too.
TOPICS: Final = 20  # published to each draw
_REASON_ALIKE: Final = (
    "Random levels of ten letters never meet, so once wildcard-only filters are excluded nothing "
    "matches, and Figures 5 and 6 are alike here."
)


def grid(scale: str) -> list[Cell]:
    workloads: dict[Workload, None] = {}
    for sweep in SWEEPS:
        values = sweep.values
        if scale == SMALL:
            values = (values[0], values[len(values) // 2], values[-1])
        for value in values:
            workloads[sweep.workload(value)] = None
    return [
        Cell({"preparation": str(preparation), **asdict(workload)}, seed)
        for preparation in Preparation
        for workload in workloads
        for seed in range(1, 2 if scale == SMALL else 11)
    ]


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    values = dict(parameters)
    preparation = Preparation(values.pop("preparation"))
    averages = average_queries(Workload(**values), preparation, TOPICS, seed)
    return {"queries": averages}


def figures(rows: ResultRows) -> list[Figure]:
    return [_figure(rows, preparation) for preparation in Preparation]


def _queries(
    rows: ResultRows, preparation: Preparation, workload: Workload, method: str
) -> list[float]:
    chosen = rows.where(preparation=str(preparation), **asdict(workload))
    return [row["queries"][method] for row in chosen]


def _figure(rows: ResultRows, preparation: Preparation) -> Figure:
    drawing, axes = panels(2, 2, sharey=True)
    for axis, sweep, letter in zip(axes, SWEEPS, "abcd", strict=True):
        for method, style in zip(METHODS, STYLES, strict=False):
            found = {
                value: _queries(rows, preparation, sweep.workload(value), method)
                for value in sweep.values
            }
            xs = [value for value, numbers in found.items() if numbers]
            line(axis, xs, [band(found[x]) for x in xs], style, method)
        axis.set_yscale("symlog", linthresh=LINEAR_BELOW)
        axis.set_xlabel(f"({letter}) ${sweep.symbol.replace('_', '_{')}}}$")
        axis.set_ylabel("queries for a topic, average")
    from_zero(*axes)
    axes[1].legend()
    name, says = FIGURES[preparation]
    is_last = preparation is Preparation.WITHOUT_MATCH
    claims = [*(_published(rows) if is_last else []), _best(rows, preparation)]
    note = _REASON_ALIKE if preparation is Preparation.WITHOUT_WILDCARD_ONLY else ""
    return Figure(name, f"Queries to the Bloom filter, {preparation}", drawing, says, claims, note)


def _published(rows: ResultRows) -> list[Claim]:
    """The two numbers that the papers print, and ours beside them."""
    deep = replace(Workload(), levels=10)
    means = {m: band(_queries(rows, Preparation.WITHOUT_MATCH, deep, m)).mean for m in METHODS}
    claims = [
        Claim(
            f"{method}: queries at ten levels without a match",
            f"{printed:,.1f}",
            f"{means[method]:,.1f}",
            abs(means[method] - printed) <= TOLERANCE * printed,
            headline=True,
        )
        for method, printed in PUBLISHED.items()
    ]
    claims.append(
        Claim(
            "the prefix method takes under 2 % of BFP's queries there",
            "< 2 %",
            f"{means[PREFIX] / means[BFP]:.1%}; our hybrid search {means[HYBRID]:.1f} queries, "
            f"{means[HYBRID] / means[BFP]:.1%}",
            means[PREFIX] < 0.02 * means[BFP],
            headline=True,
        )
    )
    return claims


def _best(rows: ResultRows, preparation: Preparation) -> Claim:
    chosen = rows.where(preparation=str(preparation))
    worse = [row for row in chosen if row["queries"][HYBRID] > min(row["queries"].values())]
    return Claim(
        "beyond the paper: the hybrid search never needs more queries than the best of the others",
        "not in the paper",
        f"in {len(chosen) - len(worse)} of {len(chosen)} cells",
        not worse,
        "where few patterns are in use, trying them is cheaper than any walk" if worse else "",
    )


EXPERIMENT = Experiment(
    name="bloom-queries",
    title="How many times must the Bloom filter be asked?",
    source="Banno and Watanabe, Figures 4 to 6",
    about=(
        "Subscriptions of brokers are kept as bits. Wildcards mean that a published topic is not "
        "the string that was subscribed to, so one topic costs several look-ups. BF tries every "
        "wildcard variant, BFP those whose pattern is in use, the prefix method walks the topic "
        "level by level, and the hybrid search (ours) walks with landmarks."
    ),
    grid=grid,
    measure=measure,
    figures=figures,
)
