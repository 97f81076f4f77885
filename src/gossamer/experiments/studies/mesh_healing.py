"""Beyond the papers: how long a mesh with spare links takes to heal, and how that grows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from gossamer.experiments.bands import band
from gossamer.experiments.dissemination.healing import CRASH, CUT, outage
from gossamer.experiments.experiment import (
    LARGE,
    SMALL,
    Cell,
    Claim,
    Experiment,
    Figure,
    Measures,
    Parameters,
    Rows,
    cells,
)
from gossamer.experiments.plotting import STYLES, from_zero, line, panels
from gossamer.mesh.settings import SILENCE_SECONDS

FAULTS: Final = (CUT, CRASH)
BROKERS: Final = {SMALL: (5, 10, 30), LARGE: (10, 30, 100, 300)}
PAPER_BROKERS: Final = (10, 30, 100)
SEEDS: Final = {SMALL: 3}
PAPER_SEEDS: Final = 10
MOST_SECONDS: Final = 2.0  # past the silence by which a crash is found out


def grid(scale: str) -> list[Cell]:
    chosen: list[dict[str, Any]] = [
        {"brokers": brokers, "fault": fault}
        for brokers in reversed(BROKERS.get(scale, PAPER_BROKERS))
        for fault in FAULTS
    ]
    return cells(chosen, range(1, 1 + SEEDS.get(scale, PAPER_SEEDS)))


def measure(parameters: Parameters, seed: int) -> Measures:
    return asdict(outage(**parameters, seed=seed))


def figures(rows: Rows) -> list[Figure]:
    drawing, axes = panels(2)
    for fault, style in zip(FAULTS, STYLES, strict=False):
        by_size = sorted(rows.where(fault=fault).by("brokers").items())
        xs = [brokers for brokers, _ in by_size]
        longest = [band(group.values("longest")) for _, group in by_size]
        parts = [
            band([row["affected"] / row["brokers"] * 100 for row in group]) for _, group in by_size
        ]
        line(axes[0], xs, longest, style, fault)
        line(axes[1], xs, parts, style, fault)
    axes[0].axhline(SILENCE_SECONDS, color="grey", linewidth=1, label="silence that is noticed")
    axes[0].set(xlabel="brokers", ylabel="longest outage of a subscriber, s")
    axes[1].set(xlabel="brokers", ylabel="subscribers that notice, %")
    for axis in axes:
        axis.set_xscale("log")
    from_zero(*axes)
    axes[0].legend()
    return [
        Figure(
            "Healing",
            "A link or a broker of the tree is lost",
            drawing,
            "The papers assume a tree and leave its upkeep to others.",
            _claims(rows),
            "Simulated: random graphs with one spare link for two brokers, the brokers that ship "
            "keep the tree. A crash is found out by silence. A subscriber whose broker nobody "
            "reaches any more is not counted as an outage.",
        )
    ]


def _claims(rows: Rows) -> list[Claim]:
    largest = max(rows.distinct("brokers"))
    worst = {fault: max(rows.where(fault=fault).values("longest")) for fault in FAULTS}
    least, most = (
        band(rows.where(fault=CRASH, brokers=brokers).values("longest")).mean
        for brokers in (min(rows.distinct("brokers")), largest)
    )
    silent = sum(rows.values("silent"))
    return [
        Claim(
            f"a mesh of up to {largest} brokers heals by itself",
            "not in the papers",
            f"after at most {worst[CUT]:.2f} s if a link is cut and {worst[CRASH]:.2f} s if a "
            f"broker is gone, {SILENCE_SECONDS:g} s of it the silence that is waited for; "
            f"{silent} subscribers were on brokers that nothing led to any more",
            worst[CRASH] <= SILENCE_SECONDS + MOST_SECONDS,
            headline=True,
        ),
        Claim(
            "healing time at internet scale",
            "not in the papers",
            f"from {least:.2f} s on the smallest to {most:.2f} s on the largest of these meshes: "
            "the news crosses the mesh once, so it grows with its diameter, which beyond these "
            "sizes is extrapolated, not simulated",
            True,
        ),
    ]


EXPERIMENT = Experiment(
    name="mesh-healing",
    title="How long does it take to heal?",
    source="Beyond the papers",
    about=(
        "Meshes with more links than a tree needs. One publisher says something twenty times a "
        "second, every broker has a subscriber, and a link that carries messages, or a broker "
        "behind one, is taken away."
    ),
    grid=grid,
    measure=measure,
    figures=figures,
)
