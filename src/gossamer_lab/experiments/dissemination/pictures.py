"""The pictures of the simulated meshes: over the wildcard rate, over time, and as boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from gossamer_lab.experiments.experiment import Band, Quantity, ResultRow, ResultRows, band
from gossamer_lab.experiments.plots import (
    MODE_STYLES,
    STYLES,
    Style,
    curve,
    from_zero,
    legend_above,
    line,
    panels,
)

TIME_ALPHAS: Final = (0.3, 0.9)  # of Figure 15: the paper's example, and its worst


def over_alpha(
    rows: ResultRows, measures: Sequence[tuple[Quantity, str]], without: Sequence[str] = ()
) -> Any:
    """A panel for each measure, a line for each mode."""
    drawing, axes = panels(len(measures))
    for axis, (quantity, unit) in zip(axes, measures, strict=True):
        for mode, group in rows.by("mode").items():
            if mode not in without:
                curve(axis, group, "alpha", quantity, MODE_STYLES[mode], mode)
        axis.set(xlabel="α (β = α/10)", ylabel=unit)
    from_zero(*axes)
    legend_above(drawing, axes[0])
    return drawing


def over_time(rows: ResultRows, names: Sequence[str], alpha: float) -> Any:
    """Of an average broker, by second: "messages" or one of the series."""
    drawing, axes = panels(len(names))
    for axis, name in zip(axes, names, strict=True):
        for mode, group in rows.where(alpha=alpha).by("mode").items():
            _over_seconds(axis, group, name, MODE_STYLES[mode], mode)
        axis.set(xlabel="second", ylabel=f"{name} a broker sends")
        axis.set_yscale("symlog", linthresh=1)
    from_zero(*axes)
    legend_above(drawing, axes[0])
    return drawing


def throughput(rows: ResultRows) -> Any:
    alphas = [alpha for alpha in TIME_ALPHAS if alpha in rows.distinct("alpha")]
    drawing, axes = panels(len(alphas), 2, sharex=True)
    kinds = (("bytes", "average"), ("most_bytes", "highest"))
    for row, (name, kind) in enumerate(kinds):
        for column, alpha in enumerate(alphas):
            axis = axes[row * len(alphas) + column]
            for mode, group in rows.where(alpha=alpha).by("mode").items():
                if mode != "pf":  # as in the paper: it is constant
                    _over_seconds(axis, group, name, MODE_STYLES[mode], mode)
            axis.set_title(f"{kind}, α = {alpha:g}", fontsize=10)
            axis.set(xlabel="second", ylabel="bytes a second")
    from_zero(*axes)
    legend_above(drawing, axes[0])
    return drawing


def queues(rows: ResultRows, name: str, modes: Sequence[str]) -> Any:
    """A panel for each mode, a line for each wildcard rate."""
    drawing, axes = panels(2, (len(modes) + 1) // 2, sharey=True)
    styles = dict(zip(sorted(rows.distinct("alpha")), STYLES, strict=False))
    for axis, mode in zip(axes, modes, strict=False):
        for alpha, group in _by_alpha(rows.where(mode=mode)):
            _over_seconds(axis, group, name, styles[alpha], f"α = {alpha:g}")
        axis.set_title(mode, fontsize=10)
        axis.set(xlabel="second", ylabel="messages waiting, average")
        axis.set_yscale("symlog", linthresh=0.1)
    from_zero(*axes)
    for axis in axes[len(modes) :]:
        axis.set_visible(False)
    max(axes, key=lambda axis: len(axis.get_lines())).legend()
    return drawing


def latencies(rows: ResultRows) -> Any:
    """A box for each mode and wildcard rate, averaged over seeds."""
    alphas = [alpha for alpha, _ in _by_alpha(rows)]
    found = list(rows.by("mode"))
    drawing, (axis,) = panels(1, width=9.0)
    width = 0.8 / len(found)
    for number, mode in enumerate(found):
        style = MODE_STYLES[mode]
        stats = []
        places = []
        for index, alpha in enumerate(alphas):
            group = rows.where(mode=mode, alpha=alpha)
            if len(group):
                stats.append(_box(group))
                places.append(index + number * width)
        boxes = axis.bxp(stats, places, widths=width * 0.85, showfliers=False, patch_artist=True)
        for box in boxes["boxes"]:
            box.set(facecolor=style.colour, alpha=0.45, edgecolor=style.colour)
        for median in boxes["medians"]:
            median.set(color="black", linewidth=1.6)
        axis.plot(
            places,
            [stat["med"] for stat in stats],
            linestyle="none",
            marker=style.marker,
            color=style.colour,
            markeredgecolor="black",
            label=mode,
        )
    middle = (len(found) - 1) * width / 2
    axis.set_xticks([index + middle for index in range(len(alphas))], [f"{a:g}" for a in alphas])
    axis.set(xlabel="α (β = α/10)", ylabel="from publisher to subscriber, ms")
    axis.set_yscale("log")
    axis.legend(ncols=len(found))
    return drawing


def _over_seconds(axis: Any, group: ResultRows, name: str, style: Style, label: str) -> None:
    bands = by_second(group, name)
    line(axis, range(len(bands)), bands, style, label)


def by_second(group: ResultRows, name: str) -> list[Band]:
    """Over the seeds; a run that was over earlier counts as silent."""
    series = [_series(row, name) for row in group]
    longest = max(len(one) for one in series)
    return [
        band([one[second] if second < len(one) else 0.0 for one in series])
        for second in range(longest)
    ]


def _series(row: ResultRow, name: str) -> list[float]:
    if name == "messages":
        return [a + b for a, b in zip(row["publications"], row["interests"], strict=True)]
    return list(row[name])


def _by_alpha(rows: ResultRows) -> list[tuple[float, ResultRows]]:
    return sorted(rows.by("alpha").items())


def _box(group: ResultRows) -> dict[str, Any]:
    """In milliseconds."""
    names = {
        "whislo": "latency_low",
        "q1": "latency_quarter",
        "med": "latency_median",
        "q3": "latency_three_quarters",
        "whishi": "latency_high",
    }
    return {key: group.mean(name) * 1000 for key, name in names.items()}
