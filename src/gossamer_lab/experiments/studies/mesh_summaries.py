"""Beyond the papers: many distinct filters on one broker, told as filters and as a summary."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from gossamer_lab.experiments.bands import band
from gossamer_lab.experiments.dissemination.storm import measure_storm
from gossamer_lab.experiments.experiment import (
    SMALL,
    Cell,
    Claim,
    Experiment,
    Figure,
    Measures,
    Parameters,
    ResultRows,
    cells,
)
from gossamer_lab.experiments.plots import STYLES, from_zero, line, panels

FILTERS: Final = (1_000, 3_000, 10_000, 30_000, 100_000)
SMALL_FILTERS: Final = (1_000, 3_000, 10_000)
FEWER_BYTES: Final = 5.0
MOST_NEEDLESS: Final = 0.01


def grid(scale: str) -> list[Cell]:
    counts = SMALL_FILTERS if scale == SMALL else FILTERS
    chosen: list[dict[str, Any]] = [
        {"mode": mode, "filters": count, "is_storm": is_storm}
        for count in reversed(counts)
        for mode in ("ssf", "bloom")
        for is_storm in (False, True)
    ]
    return cells(chosen, (1,) if scale == SMALL else (1, 2, 3))


def measure(parameters: Parameters, seed: int) -> Measures:
    storm = asdict(measure_storm(**parameters, seed=seed))
    return {name: value for name, value in storm.items() if name not in parameters}


def figures(rows: ResultRows) -> list[Figure]:
    drawing, (sizes, errors) = panels(2)
    kinds = [(mode, is_storm) for mode in ("ssf", "bloom") for is_storm in (False, True)]
    for style, (mode, is_storm) in zip(STYLES, kinds, strict=False):
        found = sorted(rows.where(mode=mode, is_storm=is_storm).by("filters").items())
        bytes_each = [band(group.values("control_bytes")) for _, group in found]
        label = f"{mode}, {'arriving in ten seconds' if is_storm else 'known before'}"
        line(sizes, [count for count, _ in found], bytes_each, style, label)
    for mode, style in (("ssf", STYLES[0]), ("bloom", STYLES[2])):
        found = sorted(rows.where(mode=mode, is_storm=False).by("filters").items())
        rates = [
            band([row["needless"] / row["unwanted"] * 100 for row in group]) for _, group in found
        ]
        line(errors, [count for count, _ in found], rates, style, mode)
    sizes.set(xlabel="distinct filters", ylabel="bytes to tell one neighbour")
    sizes.set_xscale("log")
    sizes.set_yscale("log")
    sizes.legend()
    errors.set(xlabel="distinct filters", ylabel="forwarded though nobody wants it, %")
    errors.set_xscale("log")
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


def _claims(rows: ResultRows) -> list[Claim]:
    most = max(rows.distinct("filters"))

    def told(mode: str, is_storm: bool) -> float:
        return band(
            rows.where(mode=mode, filters=most, is_storm=is_storm).values("control_bytes")
        ).mean

    ratio = told("ssf", False) / told("bloom", False)
    stormy = told("ssf", True) / told("bloom", True)
    needless = max(row["needless"] / row["unwanted"] for row in rows)
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
    grid=grid,
    measure=measure,
    figures=figures,
)
