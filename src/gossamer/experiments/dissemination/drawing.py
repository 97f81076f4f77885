"""Draws the measures of Figures 13 to 21, one image."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib

from gossamer.experiments.dissemination.measuring import CROWDED, SPREAD, Cell, Findings
from gossamer.mesh.settings import MODES

matplotlib.use("Agg")  # Files only: a server has no screen.

from matplotlib import pyplot

STYLES = {"pf": "-o", "sf": "--s", "ssf": "-.^", "bloom": ":d"}

# Title, unit, and the number of a run: each over the wildcard rate.
OVER_ALPHA: tuple[tuple[str, str, str, Callable[[Cell], float]], ...] = (
    (SPREAD, "14: traffic a broker", "messages", lambda c: c.measures.messages_per_broker),
    (
        SPREAD,
        "16: subscriptions a broker",
        "messages",
        lambda c: c.measures.subscriptions_per_broker,
    ),
    (SPREAD, "17: share of subscriptions", "", lambda c: c.measures.subscription_share),
    (SPREAD, "18: longest average queue", "messages", lambda c: c.measures.longest_average_queue),
    (CROWDED, "20: longest queue, crowded", "messages", lambda c: float(c.measures.longest_queue)),
    (SPREAD, "21: mean latency", "ms", lambda c: c.measures.latency_mean * 1000),
)
# The same over the seconds of a run, at one wildcard rate.
OVER_TIME = (
    ("13, 15: bytes a broker and second", "bytes"),
    ("18: average queue", "queue"),
    ("19: average queue of subscriptions", "queued_interests"),
)


def draw(findings: Findings, folder: Path) -> Path:
    figure, axes = pyplot.subplots(3, 3, figsize=(14, 11), layout="constrained")
    places = axes.flatten()
    for axis, (kind, title, unit, value) in zip(places, OVER_ALPHA, strict=False):
        for mode in MODES:
            cells = findings.of(kind, mode)
            numbers = [value(cell) for cell in cells.values()]
            axis.plot(list(cells), numbers, STYLES[mode], label=mode)
        axis.set(title=f"Figure {title}", xlabel="α", ylabel=unit)
    for axis, (title, field) in zip(places[len(OVER_ALPHA) :], OVER_TIME, strict=True):
        for mode in MODES:
            cells = findings.of(SPREAD, mode)
            output = cells[min(cells, key=lambda alpha: abs(alpha - 0.3))].measures.output
            seconds = [second.second for second in output]
            numbers = [getattr(second, field) for second in output]
            axis.plot(seconds, numbers, STYLES[mode][:-1], label=mode)
        axis.set(title=f"Figure {title}, α≈0.3", xlabel="second")
    places[0].legend()
    path = folder / "figures13-21.png"
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
