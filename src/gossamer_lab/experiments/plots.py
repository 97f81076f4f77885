"""One look for all figures: told apart by marker and line as well as by colour.

The colours are those of Okabe and Ito, which people with any colour vision can tell apart, in an
order in which neighbours also differ in grey.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gossamer_lab.experiments.experiment import Band, Quantity, ResultRows


@dataclass(frozen=True)
class Style:
    colour: str
    line: Any
    marker: str


BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"

STYLES: Final = (
    Style(BLACK, "-", "o"),
    Style(ORANGE, "--", "s"),
    Style(BLUE, "-.", "^"),
    Style(VERMILION, ":", "D"),
    Style(GREEN, (0, (5, 1, 1, 1, 1, 1)), "v"),
    Style(SKY, (0, (3, 1)), "P"),
    Style(PURPLE, (0, (1, 1)), "X"),
)
# So that a mode looks the same in every figure.
MODE_STYLES: Final = dict(zip(("pf", "sf", "ssf", "bloom", "auto"), STYLES, strict=False))

SEQUENTIAL: Final = "cividis"  # for areas of colour: it reads the same in grey

SETTINGS: Final[dict[Any, Any]] = {
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "svg.fonttype": "none",
    "svg.hashsalt": "gossamer",  # the same figure is the same file
    "figure.constrained_layout.use": True,
}

WIDTH, HEIGHT = 4.3, 3.3  # inches of a panel


def panels(
    columns: int, rows: int = 1, width: float = 0.0, **options: Any
) -> tuple[Any, list[Any]]:
    """A figure and its axes, row by row; as wide as that many inches, if given."""
    import matplotlib
    from matplotlib.figure import Figure  # without a screen, and not kept anywhere

    matplotlib.rcParams.update(SETTINGS)
    figure = Figure(figsize=(width or WIDTH * columns, HEIGHT * rows))
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(axes.flatten())


def from_zero(*axes: Any) -> None:
    """When everything is drawn: a limit that is set before hides what comes later."""
    for axis in axes:
        axis.set_ylim(bottom=0)


def legend_above(drawing: Any, axis: Any) -> None:
    """One for all panels, where it hides nothing."""
    handles, labels = axis.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside upper center", ncols=len(labels))


def line(
    axis: Any, xs: Sequence[float], ys: Sequence[float | Band], style: Style, label: str
) -> None:
    """A line through means; bands become a shade around it."""
    means = [y.mean if isinstance(y, Band) else y for y in ys]
    many = len(xs) > 15
    axis.plot(
        xs,
        means,
        color=style.colour,
        linestyle=style.line,
        marker=None if many else style.marker,
        label=label,
    )
    if any(isinstance(y, Band) and y.half for y in ys):
        # Nothing that is measured here can be below zero.
        low = [max(0.0, y.low) if isinstance(y, Band) else y for y in ys]
        high = [y.high if isinstance(y, Band) else y for y in ys]
        axis.fill_between(xs, low, high, color=style.colour, alpha=0.18, linewidth=0)


def curve(
    axis: Any, rows: ResultRows, x: str, quantity: Quantity, style: Style, label: str
) -> None:
    """A line over the values of a parameter; what differs otherwise, such as the seed, is
    averaged."""
    found = {value: group.band(quantity) for value, group in sorted(rows.by(x).items())}
    line(axis, list(found), list(found.values()), style, label)


def bars(
    axis: Any, groups: Sequence[str], series: Mapping[str, Sequence[float]], unit: str = ""
) -> None:
    """Groups of bars, one of each series, hatched so that grey tells them apart."""
    hatches = ("", "//", "..", "xx", "\\\\", "++")
    width = 0.8 / max(1, len(series))
    for number, (name, values) in enumerate(series.items()):
        places = [index + number * width for index in range(len(groups))]
        style = STYLES[number % len(STYLES)]
        axis.bar(
            places,
            values,
            width,
            label=name,
            color="white" if number else style.colour,
            edgecolor=style.colour,
            hatch=hatches[number % len(hatches)],
        )
    middle = (len(series) - 1) * width / 2
    axis.set_xticks([index + middle for index in range(len(groups))], groups)
    if unit:
        axis.set_ylabel(unit)


def heat(
    axis: Any,
    rows: Sequence[Sequence[float]],
    xs: Iterable[str],
    ys: Iterable[str],
    limits: tuple[float, float],
) -> Any:
    """Numbers as areas of colour, with the number in each."""
    image = axis.imshow(
        rows, origin="lower", aspect="auto", cmap=SEQUENTIAL, vmin=limits[0], vmax=limits[1]
    )
    names = list(xs)
    axis.set_xticks(range(len(names)), names)
    names = list(ys)
    axis.set_yticks(range(len(names)), names)
    axis.grid(visible=False)
    middle = sum(limits) / 2
    for y, row in enumerate(rows):
        for x, number in enumerate(row):
            colour = "white" if number < middle else "black"
            axis.text(x, y, f"{number:.2f}", ha="center", va="center", fontsize=8, color=colour)
    return image
