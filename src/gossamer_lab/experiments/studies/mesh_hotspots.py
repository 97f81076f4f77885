"""Figure 20 of the SSF paper: subscribers close together, and the longest queue anywhere."""

from __future__ import annotations

from typing import Any, Final

from gossamer_lab.experiments.bands import band
from gossamer_lab.experiments.dissemination.simulation import modes, simulate, tenth
from gossamer_lab.experiments.experiment import (
    LARGE,
    SMALL,
    Cell,
    Claim,
    Experiment,
    Figure,
    ResultRows,
    cells,
)
from gossamer_lab.experiments.plots import MODE_STYLES, from_zero, legend_above, line, panels

ALPHAS: Final = (0.0, 0.3, 0.9)
SEEDS: Final = {SMALL: 3, LARGE: 20}
PAPER_SEEDS: Final = 5


def grid(scale: str) -> list[Cell]:
    chosen: list[dict[str, Any]] = [
        {"mode": mode, "alpha": alpha, **tenth(scale), "crowding": 1.0}
        for mode in modes()
        for alpha in ALPHAS
    ]
    return cells(chosen, range(1, 1 + SEEDS.get(scale, PAPER_SEEDS)))


def figures(rows: ResultRows) -> list[Figure]:
    drawing, axes = panels(2)
    for mode, group in rows.by("mode").items():
        by_alpha = sorted(group.by("alpha").items())
        xs = [alpha for alpha, _ in by_alpha]
        peaks = [band(found.values("longest_queue_of_all")) for _, found in by_alpha]
        line(axes[0], xs, peaks, MODE_STYLES[mode], mode)
        seconds = [_highest(found) for found in (group.where(alpha=0.3),) if len(found)]
        for curve in seconds:
            line(axes[1], range(len(curve)), curve, MODE_STYLES[mode], mode)
    axes[0].set(xlabel="α (β = α/10)", ylabel="longest queue of any broker, messages")
    axes[1].set(xlabel="second (α = 0.3)", ylabel="longest queue in that second")
    axes[1].set_yscale("symlog", linthresh=1)
    from_zero(*axes)
    legend_above(drawing, axes[0])
    return [
        Figure(
            "Figure 20",
            "Hotspots: all subscribers on a tenth of the brokers",
            drawing,
            "SF and SSF may cause hotspots above PF's peaks, largely at random.",
            [_claim(rows)],
            "A tenth of the network, as in the paper; at scale small a tenth of that.",
        )
    ]


def _highest(group: ResultRows) -> list[float]:
    """Of any seed, second by second."""
    series = group.values("longest_queue")
    longest = max(len(one) for one in series)
    return [
        float(max(one[second] if second < len(one) else 0 for one in series))
        for second in range(longest)
    ]


def _claim(rows: ResultRows) -> Claim:
    peaks = {
        mode: max(group.values("longest_queue_of_all")) for mode, group in rows.by("mode").items()
    }
    return Claim(
        "with subscribers close together SF or SSF may have hotspots above PF's",
        "observed",
        ", ".join(f"{mode} {peak:,}" for mode, peak in peaks.items()),
        max(peaks["sf"], peaks["ssf"]) > peaks["pf"],
        "hotspots depend on where subscribers are; SSF's subscriptions stop where they are known",
        headline=True,
    )


EXPERIMENT = Experiment(
    name="mesh-hotspots",
    title="Where does it get crowded?",
    source="Hao et al., Figure 20",
    about=(
        "The same simulation with all subscribers on a tenth of the brokers. What is looked at is "
        "the longest queue that any broker has at any time."
    ),
    grid=grid,
    measure=simulate,
    figures=figures,
)
