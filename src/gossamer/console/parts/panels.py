"""Panels of a page: side by side where there is room, tiles with one figure, line charts."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nicegui import ui


def columns(least: str) -> ui.element:
    """As many columns as fit, each at least so wide."""
    grid = ui.element("div").classes("w-full grid gap-3 items-start")
    return grid.style(f"grid-template-columns: repeat(auto-fit, minmax(min(100%, {least}), 1fr))")


class Tile:
    """`name` is also how tests and screen readers find it."""

    def __init__(self, name: str, tone: str = "") -> None:
        with ui.element("div").classes("panel px-4 py-3 grow min-w-[8.5rem]") as self.element:
            ui.label(name).classes("text-xs quiet")
            self._figure = ui.label("–").classes(f"figure {tone}")
        self._figure.props(f'data-figure="{name}"')
        self._tone = tone

    def show(self, text: str, tone: str = "") -> None:
        self._figure.set_text(text)
        if tone != self._tone:
            self._tone = tone
            self._figure.classes(replace=f"figure {tone}")


def row_of_tiles() -> ui.element:
    return ui.element("div").classes("w-full flex flex-wrap gap-3")


# Greys and hues that can be read on light and on dark ground.
GREY: Final = "#7c8799"
FAINT: Final = "rgba(124, 135, 153, .22)"
COLOURS: Final = ("#14b8a6", "#6366f1", "#f59e0b", "#ec4899", "#84cc16", "#0ea5e9", "#a855f7")


class LineChart:
    """Some lines that share a time axis; `show` gives it all the points anew."""

    def __init__(self, title: str, height: str = "15rem", from_zero: bool = True) -> None:
        with ui.element("div").classes("panel p-3 grow basis-80 min-w-0"):
            ui.label(title).classes("text-sm quiet")
            self._chart = (
                ui.echart(_options(from_zero)).style(f"height: {height}").classes("w-full")
            )
            self._chart.props(f'role=img aria-label="{title}"')

    def show(self, times: Sequence[float], lines: Mapping[str, Sequence[float]]) -> None:
        """Lines at the same times, which are seconds since 1970."""
        self.show_each(
            {name: list(zip(times, values, strict=False)) for name, values in lines.items()}
        )

    def show_each(self, lines: Mapping[str, Sequence[tuple[float, float]]]) -> None:
        """Each line with times of its own."""
        options: dict[str, Any] = self._chart.options
        options["series"] = [
            {
                "name": name,
                "type": "line",
                "showSymbol": False,
                "lineStyle": {"width": 2},
                "areaStyle": {"opacity": 0.08},
                "data": [[round(at * 1000), round(value, 2)] for at, value in points],
            }
            for name, points in lines.items()
        ]
        self._chart.update()


def _options(from_zero: bool) -> dict[str, Any]:
    axis = {"axisLabel": {"color": GREY}, "axisLine": {"lineStyle": {"color": FAINT}}}
    lines = {"splitLine": {"lineStyle": {"color": FAINT}}}
    legend = {"type": "scroll", "top": 0, "right": 0, "icon": "roundRect"}
    return {
        "animation": False,
        "color": list(COLOURS),
        "grid": {"left": 48, "right": 12, "top": 30, "bottom": 24},
        "legend": {**legend, "textStyle": {"color": GREY}},
        "tooltip": {"trigger": "axis"},
        "xAxis": {"type": "time", "splitLine": {"show": False}, "splitNumber": 4, **axis},
        "yAxis": {"type": "value", "scale": not from_zero, **lines, **axis},
        "series": [],
    }
