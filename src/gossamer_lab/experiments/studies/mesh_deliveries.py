"""Not in the papers, but under all of them: every mode delivers the same messages."""

from __future__ import annotations

from typing import Final

from gossamer.mesh.settings import MODES
from gossamer_lab.experiments.dissemination.simulation import TENTH, simulate
from gossamer_lab.experiments.experiment import Claim, Experiment, Figure, Grid, ResultRows, Scaled
from gossamer_lab.experiments.plots import bars, panels

ALPHAS: Final = (0.0, 0.9)
# Few seconds of publishing; every subscriber is looked at.
SETTLED: Final = {"seconds": [5.0], "settled": [True], "observed": [1.0]}


def figures(rows: ResultRows) -> list[Figure]:
    by_mode = rows.by("mode")
    drawing, axes = panels(len(ALPHAS))
    for axis, alpha in zip(axes, ALPHAS, strict=True):
        series = {
            "delivered to subscribers": _sums(by_mode, alpha, "deliveries"),
            "sent between brokers": _sums(by_mode, alpha, "forwards"),
        }
        bars(axis, list(by_mode), series, "publications")
        axis.set_title(f"α = {alpha:g}", fontsize=10)
    axes[0].legend()
    return [
        Figure("Deliveries", "The same messages arrive, by fewer links", drawing, "", [_same(rows)])
    ]


def _sums(by_mode: dict[str, ResultRows], alpha: float, name: str) -> list[float]:
    return [sum(group.where(alpha=alpha).values(name)) for group in by_mode.values()]


def _same(rows: ResultRows) -> Claim:
    """Every subscriber is observed: which messages each got, not only how many."""
    wanted = {(row["alpha"], row.seed): row["received"] for row in rows.where(mode="pf")}
    wrong = [row for row in rows if row["received"] != wanted[row["alpha"], row.seed]]
    return Claim(
        "every mode delivers the same messages to the same subscribers",
        "assumed",
        f"{len(rows) - len(wrong)} of {len(rows)} runs agree with PF, subscriber by subscriber",
        not wrong,
        headline=True,
    )


EXPERIMENT = Experiment(
    name="mesh-deliveries",
    title="Does everybody get the same?",
    source="An assumption of Hao et al., Section III",
    about=(
        "Publishers wait until all subscriptions are known everywhere. Then what each subscriber "
        "got is compared between the modes."
    ),
    grid=Grid({"mode": MODES, "alpha": ALPHAS, **SETTLED}, Scaled(1, 3), TENTH),
    measure=simulate,
    figures=figures,
)
