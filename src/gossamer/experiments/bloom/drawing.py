"""Draws Figures 4 to 6: one image a preparation, one panel a sweep, a logarithmic scale."""

from pathlib import Path

import matplotlib

from gossamer.bench.bloom_workload import Preparation
from gossamer.experiments.bloom.cells import SWEEPS
from gossamer.experiments.bloom.measuring import METHODS
from gossamer.experiments.bloom.results import Results

matplotlib.use("Agg")  # Files only: a server has no screen.

from matplotlib import pyplot

FIGURES = {
    Preparation.WITH_WILDCARD_ONLY: "figure4",
    Preparation.WITHOUT_WILDCARD_ONLY: "figure5",
    Preparation.WITHOUT_MATCH: "figure6",
}
MARKERS = ("s", "^", "o", "D")
LINEAR_BELOW = 1.0  # A search without any look-up has its place on the scale, too.


def draw(results: Results, folder: Path) -> list[Path]:
    """Writes the three images and returns where they are."""
    return [_draw_figure(results, preparation, folder) for preparation in Preparation]


def _draw_figure(results: Results, preparation: Preparation, folder: Path) -> Path:
    figure, axes = pyplot.subplots(1, len(SWEEPS), figsize=(4 * len(SWEEPS), 3.4))
    for axis, sweep, letter in zip(axes, SWEEPS, "abcd", strict=True):
        panel = results.panel(preparation, sweep)
        for method, marker in zip(METHODS, MARKERS, strict=True):
            averages = [average[method] for average in panel.values()]
            axis.plot(list(panel), averages, marker=marker, label=method)
        axis.set_yscale("symlog", linthresh=LINEAR_BELOW)
        axis.set_ylim(bottom=0)
        axis.set_xlabel(f"({letter}) ${sweep.symbol.replace('_', '_{')}}}$")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("average number of queries")
    axes[0].legend()
    figure.suptitle(f"Queries to the Bloom filter, {preparation}")
    figure.tight_layout()
    path = folder / f"{FIGURES[preparation]}.png"
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
