"""The element that draws tracks and fences, and on which a fence is drawn."""

from collections.abc import Callable
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from gossamer.console.filter_builder import User

DIGITS: Final = 6  # of a degree: a decimetre
TOOLS: Final = {"": "Move", "circle": "Circle", "polygon": "Polygon"}
AREA_ID: Final = 1

STYLE: Final = """
.map { position: relative; height: min(64vh, 40rem); min-height: 20rem; overflow: hidden;
        touch-action: none; cursor: grab; border-radius: 8px; user-select: none; }
.map[data-tool=circle], .map[data-tool=polygon] { cursor: crosshair; }
.map svg { position: absolute; inset: 0; }
.map text { fill: var(--quiet); font-size: 11px; pointer-events: none; }
.map-grid line { stroke: var(--line); }
.map-fence polygon { fill: rgba(99, 102, 241, .10); stroke: #6366f1; stroke-width: 1.5; }
.map-fence.mine polygon { fill: rgba(20, 184, 166, .18); stroke: var(--accent);
        stroke-width: 2.5; }
.map-track polyline { fill: none; stroke: var(--quiet); stroke-width: 1.5; opacity: .6; }
.map-track circle { fill: #f59e0b; stroke: var(--surface); stroke-width: 1.5; }
.map-track text { fill: var(--ink); }
.map-track.chosen circle { fill: var(--accent); stroke: var(--ink); stroke-width: 2; }
.map-track.chosen polyline { stroke: var(--accent); stroke-width: 2.5; opacity: 1; }
.map-draft polygon, .map-draft polyline, .map-round { fill: rgba(20, 184, 166, .15);
        stroke: var(--accent); stroke-width: 2; stroke-dasharray: 5 4; }
.map-draft circle { fill: var(--accent); } .map-draft .map-round { fill: rgba(20, 184, 166, .15); }
.map-scale line { stroke: var(--quiet); stroke-width: 2; } .map-scale text { text-anchor: middle; }
.map-buttons { position: absolute; left: 10px; top: 10px; display: flex; flex-direction: column;
        gap: 4px; }
.map-buttons button { width: 2.1rem; height: 2.1rem; border-radius: 8px; font-size: 1.1rem;
        border: 1px solid var(--line); background: var(--surface); color: var(--ink);
        cursor: pointer; }
"""


class WorldMap(Element, component="world_map.js"):
    """`on_fence` gets what was drawn as the User Properties that say it, `on_choice` the label of
    the mark that was clicked, or nothing."""

    def __init__(self, on_fence: Callable[[User], None], on_choice: Callable[[str], None]) -> None:
        super().__init__()
        ui.add_css(STYLE)
        self._on_fence = on_fence
        self._on_choice = on_choice
        self._props.update(tracks=[], fences=[], tool="", chosen="")
        self.on("choose", self._choose)
        self.on("circle", self._circle)
        self.on("polygon", self._polygon)

    def show(self, tracks: list[dict[str, Any]], fences: list[dict[str, Any]]) -> None:
        if (tracks, fences) != (self._props["tracks"], self._props["fences"]):
            self._props["tracks"] = tracks
            self._props["fences"] = fences
            self.update()

    def use(self, tool: str) -> None:
        """One of TOOLS."""
        self._props["tool"] = tool
        self.update()

    def _choose(self, event: GenericEventArguments) -> None:
        self._props["chosen"] = str(event.args)
        self.update()
        self._on_choice(str(event.args))

    def _circle(self, event: GenericEventArguments) -> None:
        lat, lon, radius = (float(event.args[name]) for name in ("lat", "lon", "radius"))
        text = f"{AREA_ID};m;1;{lat:.{DIGITS}f};{lon:.{DIGITS}f};{radius:.1f}"
        self._on_fence((("gpl_circleStatic", text),))

    def _polygon(self, event: GenericEventArguments) -> None:
        corners = ";".join(
            f"{float(lat):.{DIGITS}f};{float(lon):.{DIGITS}f}" for lat, lon in event.args
        )
        self._on_fence((("gpl_polygonStatic", f"{AREA_ID};m;1;{corners}"),))
