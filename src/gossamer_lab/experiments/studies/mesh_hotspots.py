"""Figure 20 of the SSF paper: subscribers close together, and the longest queue anywhere."""

from __future__ import annotations

from typing import Final

from gossamer.mesh.settings import MODES
from gossamer_lab.experiments.dissemination.simulation import TENTH, simulate
from gossamer_lab.experiments.experiment import Claim, Experiment, Figure, Grid, ResultRows, Scaled
from gossamer_lab.experiments.plots import MODE_STYLES, curve, from_zero, legend_above, line, panels

ALPHAS: Final = (0.0, 0.3, 0.9)


def figures(rows: ResultRows) -> list[Figure]:
    drawing, axes = panels(2)
    for mode, group in rows.by("mode").items():
        curve(axes[0], group, "alpha", "longest_queue_of_all", MODE_STYLES[mode], mode)
        example = group.where(alpha=0.3)
        if len(example):
            highest = _highest(example)
            line(axes[1], range(len(highest)), highest, MODE_STYLES[mode], mode)
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
    grid=Grid({"mode": MODES, "alpha": ALPHAS, "crowding": [1.0]}, Scaled(3, 5, 20), TENTH),
    measure=simulate,
    figures=figures,
)
