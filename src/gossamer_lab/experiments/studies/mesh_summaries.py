"""Beyond the papers: many distinct filters on one broker, told as filters and as a summary."""

from __future__ import annotations

from dataclasses import asdict
from itertools import product
from typing import Any, Final

from gossamer_lab.experiments.dissemination.storm import measure_storm
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

FILTERS: Final = Scaled((10_000, 3_000, 1_000), (100_000, 30_000, 10_000, 3_000, 1_000))
FEWER_BYTES: Final = 5.0
MOST_NEEDLESS: Final = 0.01
MODES: Final = ("ssf", "bloom")
STORMY: Final = (False, True)


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    storm = asdict(measure_storm(**parameters, seed=seed))
    return {name: value for name, value in storm.items() if name not in parameters}


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
