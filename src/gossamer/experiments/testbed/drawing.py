"""Draws Figures 10 and 12."""

from pathlib import Path

import matplotlib

from gossamer.experiments.testbed.grid import Cell
from gossamer.experiments.testbed.shapes import Curve
from gossamer.experiments.testbed.workload import BROKERS
from gossamer.net.local.topologies import PARENTS

matplotlib.use("Agg")  # Files only: a server has no screen.

from matplotlib import pyplot

MARKERS = {"pf": "-", "sf": "--", "ssf": "-.", "bloom": ":"}
# The colours of equation 5, from 0 to 2 around 1, without the darkest on either side.
COLOURS = {"vmin": -0.4, "vmax": 2.4, "cmap": "RdBu_r"}


def draw(cells: list[Cell], curves: list[Curve], folder: Path) -> list[Path]:
    """Writes both images and returns where they are."""
    return [_draw_grid(cells, folder / "figure10.png"), _draw_shapes(curves, folder)]


def _draw_grid(cells: list[Cell], path: Path) -> Path:
    counts = sorted({cell.interested for cell in cells})
    ratios = sorted({cell.spr for cell in cells})
    by_place = {(cell.interested, cell.spr): cell for cell in cells}
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for axis, title, value in (
        (axes[0], "measured on the links", "measured"),
        (axes[1], "equation 5", "expected"),
    ):
        rows = [[getattr(by_place[k, ratio], value) for k in counts] for ratio in ratios]
        image = axis.imshow(rows, origin="lower", aspect="auto", **COLOURS)
        axis.set_xticks(range(len(counts)), [f"{count}/{BROKERS}" for count in counts])
        axis.set_yticks(range(len(ratios)), [f"{ratio:g}" for ratio in ratios])
        axis.set_xlabel("IBR")
        axis.set_ylabel("SPR")
        axis.set_title(title)
        for y, row in enumerate(rows):
            for x, number in enumerate(row):
                axis.text(x, y, f"{number:.2f}", ha="center", va="center", fontsize=7)
    figure.colorbar(image, ax=axes, label="T_SF / T_PF (blue: SF needs less)")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path


def _draw_shapes(curves: list[Curve], folder: Path) -> Path:
    figure, axes = pyplot.subplots(1, len(PARENTS), figsize=(4.2 * len(PARENTS), 3.6), sharey=True)
    for axis, topology in zip(axes, PARENTS, strict=True):
        for curve in curves:
            if curve.topology == topology:
                axis.plot(
                    [seconds for seconds, _ in curve.samples],
                    [count / 1024 for _, count in curve.samples],
                    MARKERS[curve.mode],
                    label=curve.mode,
                )
        axis.set_title(topology)
        axis.set_xlabel("seconds")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("cumulative traffic on all links, KiB")
    axes[0].legend()
    figure.tight_layout()
    path = folder / "figure12.png"
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
