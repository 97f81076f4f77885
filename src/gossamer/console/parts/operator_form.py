"""The form that builds a subscription: conditions, aggregates, windows, an area."""

from collections.abc import Callable
from typing import Any, Final

from nicegui import ui

from gossamer.console.filter_builder import BUILT_IN, Capabilities, User, WantedFilter
from gossamer.geo.glp import EVENT_NAMES

NONE: Final = "–"
CIRCLE: Final = "gpl_circleStatic"


class OperatorForm:
    """Tells of each change; `wanted` is what is chosen."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        with self._row():
            self._topics = self._text("Topics", "city/+/temp").props("data-wanted-topics")
        self._caption("Condition")
        with self._row():
            self._rule = self._select("Operator")
            self._operand = self._text("Value", "30")
            self._field = self._text("JSON field", "sensor.temp")
        self._caption("Each topic by itself")
        with self._row():
            self._sequence = self._select("Sequence")
            self._argument = self._text("Change or time", "0.5 or 10s")
            self._group = self._text("Group by field", "sensor")
            self._follows = ui.checkbox("Apply it to the result", on_change=self._tell)
        self._caption("Aggregate")
        with self._row():
            self._over_topics = self._select("Over topics")
            self._window = self._select("Window")
            self._over_time = self._select("Over time")
            self._every = self._text("Minimum interval (s)", "5")
        with self._row():
            self._judges = ui.checkbox("Apply the condition to each value", on_change=self._tell)
            self._names = ui.checkbox("List the topics in results", on_change=self._tell)
        self._caption("Image processing")
        with self._row():
            self._processor = self._select("Processor")
        self._caption("Area (circle)")
        with self._row():
            self._lat = self._text("Latitude", "43.72")
            self._lon = self._text("Longitude", "10.40")
            self._radius = self._text("Radius (km)", "2")
        self._events = ui.select(list(EVENT_NAMES), multiple=True, label="Events")
        self._events.props("dense outlined use-chips").classes("w-full")
        self._events.on_value_change(self._tell)
        self.offer(BUILT_IN)

    def offer(self, capabilities: Capabilities) -> None:
        """The operators that can be chosen."""
        functions = _options(capabilities.functions)
        self._rule.set_options(_options(capabilities.rules))
        self._sequence.set_options(_options(capabilities.sequences))
        self._over_topics.set_options(functions)
        self._over_time.set_options(functions)
        self._window.set_options({"": NONE, **{name: name for name in capabilities.windows}})
        self._processor.set_options(_options(capabilities.processors))
        self._processor.set_enabled(bool(capabilities.processors))

    @property
    def wanted(self) -> WantedFilter:
        return WantedFilter(
            topics=self._topics.value.strip() or "#",
            rule=self._rule.value or "",
            operand=self._operand.value.strip(),
            field=self._field.value.strip(),
            judges_values=bool(self._judges.value),
            sequence=self._sequence.value or "",
            argument=self._argument.value.strip(),
            group=self._group.value.strip(),
            follows_results=bool(self._follows.value),
            over_topics=self._over_topics.value or "",
            names_topics=bool(self._names.value),
            window=self._window.value or "",
            over_time=self._over_time.value or "",
            processor=self._processor.value or "",
            every=self._every.value.strip(),
            areas=self._areas(),
            events=tuple(self._events.value or ()),
        )

    def _areas(self) -> User:
        fields = [box.value.strip() for box in (self._lat, self._lon, self._radius)]
        return ((CIRCLE, f"1;km;1;{';'.join(fields)}"),) if any(fields) else ()

    def _tell(self, _: Any = None) -> None:
        self._on_change()

    @staticmethod
    def _row() -> ui.element:
        return ui.element("div").classes("w-full flex flex-wrap gap-2")

    @staticmethod
    def _caption(text: str) -> None:
        ui.label(text).classes("text-xs quiet mt-1")

    def _text(self, label: str, example: str) -> ui.input:
        box = ui.input(label, placeholder=f"e.g. {example}", on_change=self._tell)
        return box.props(f'dense outlined stack-label aria-label="{label}"').classes(
            "grow basis-24 min-w-0"
        )

    def _select(self, label: str) -> ui.select:
        box = ui.select({"": NONE}, value="", label=label, on_change=self._tell)
        return box.props(f'dense outlined options-dense aria-label="{label}"').classes(
            "grow basis-28 min-w-0"
        )


def _options(described: dict[str, str]) -> dict[str, str]:
    return {"": NONE, **{keyword: f"{keyword}: {text}" for keyword, text in described.items()}}
