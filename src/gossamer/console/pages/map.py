"""The map: who is where and where they came from, whose fences are around, and a fence of one's own
to subscribe with."""

import time
from typing import Any, Final

from nicegui import ui

from gossamer.console.console import Console
from gossamer.console.filter_builder import User, WantedFilter, built
from gossamer.console.map_model import Places, rings_of
from gossamer.console.pages.frame import REFRESH_SECONDS
from gossamer.console.parts.broker_choice import BrokerChoice
from gossamer.console.parts.figures import span
from gossamer.console.parts.world_map import TOOLS, WorldMap
from gossamer.console.payloads import preview
from gossamer.console.try_out import TryOut
from gossamer.geo.glp import EVENT_NAMES

ASK_SECONDS: Final = 5.0  # between two questions about fences
SHOWN_RESULTS: Final = 20
LONGEST_SAID: Final = 120  # characters of a message below the map


def build(console: Console) -> None:
    _MapPage(console)


class _MapPage:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._places = Places()
        self._trial = TryOut()
        self._fence: User = ()
        self._chosen_label = ""
        self._shown = -1
        with ui.row().classes("w-full items-center gap-3"):
            self._choice = BrokerChoice(console, self._refresh)
            self._tool = ui.toggle(TOOLS, value="", on_change=self._chosen)
            self._tool.props('no-caps unelevated aria-label="Tool"')
            self._hint = ui.label().classes("text-sm quiet").props("role=status")
        with ui.element("section").classes("panel w-full"):
            self._map = WorldMap(self._drawn, self._choose)
        self._detail = ui.label().classes("mono breaks text-sm w-full")
        self._detail.props("role=status data-chosen-track")
        with ui.element("section").classes("panel p-4 w-full flex flex-col gap-2"):
            self._form()
        self._hear_of_tool()
        ui.timer(ASK_SECONDS, self._ask, immediate=True)
        ui.timer(REFRESH_SECONDS, self._refresh)
        ui.context.client.on_delete(self._trial.stop)

    def _form(self) -> None:
        ui.label("Subscribe to the geofence").classes("font-semibold")
        with ui.row().classes("w-full items-center gap-2"):
            self._topics = ui.input("Topics", value="#", on_change=self._describe)
            self._topics.props("dense outlined data-fence-topics").classes("grow basis-40")
            self._events = ui.select(list(EVENT_NAMES), multiple=True, label="Events")
            self._events.props("dense outlined use-chips options-dense").classes("grow basis-40")
            self._events.on_value_change(self._describe)
            self._start = ui.button("Subscribe", on_click=self._subscribe)
            self._start.props("unelevated no-caps data-fence-subscribe")
            self._stop = ui.button("Stop", on_click=self._trial.stop).props("outline no-caps")
        self._property = ui.label().classes("mono breaks accent").props("data-fence-property")
        self._trouble = ui.label().classes("text-sm bad breaks").props("role=alert")
        self._status = ui.label().classes("text-sm quiet").props("data-fence-status")
        self._results = ui.column().classes("w-full gap-1").props("data-fence-results")
        self._describe()

    def _chosen(self) -> None:
        self._map.use(str(self._tool.value))
        self._hear_of_tool()

    def _hear_of_tool(self) -> None:
        hints = {
            "circle": "Press at the centre and draw outwards.",
            "polygon": "Click the corners; a double click or Enter closes it.",
        }
        self._hint.set_text(hints.get(str(self._tool.value), ""))

    def _drawn(self, fence: User) -> None:
        self._fence = fence
        self._tool.value = ""
        self._describe()
        self._refresh()

    def _choose(self, label: str) -> None:
        self._chosen_label = label
        self._show_chosen()

    def _show_chosen(self) -> None:
        """What the mark that was clicked said last, where and when."""
        watcher = self._choice.watcher
        track = watcher.tracks.by_topic.get(self._chosen_label)
        topic = watcher.model.find(self._chosen_label)
        if not self._chosen_label:
            self._detail.set_text("Click a mark to see what it says.")
        elif track is None or topic is None or topic.last is None:
            self._detail.set_text(
                f"{self._chosen_label}: a client of which only the place is known"
            )
        else:
            lat, lon = track.position
            age = span(max(0.0, time.time() - track.at))
            said = preview(topic.last.payload, LONGEST_SAID)
            self._detail.set_text(
                f"{track.topic}  {said}  at {lat:.5f}, {lon:.5f}, {age} ago, "
                f"{len(track.points)} places"
            )

    def _wanted(self) -> WantedFilter:
        events = tuple(self._events.value or ())
        return WantedFilter(topics=self._topics.value or "#", areas=self._fence, events=events)

    def _describe(self) -> None:
        made = built(self._wanted())
        properties = [f"{key} = {text}" for key, text in made.user]
        self._property.set_text("\n".join(properties) or "Draw a circle or a polygon on the map.")
        self._trouble.set_text(made.trouble)
        self._start.set_enabled(bool(self._fence) and not made.trouble)

    async def _subscribe(self) -> None:
        made = built(self._wanted())
        await self._trial.subscribe(self._choice.broker.address, made.filter, list(made.user))
        self._trouble.set_text(self._trial.trouble)
        await self._ask()

    async def _ask(self) -> None:
        await self._places.ask([one for one in self._console.brokers if one.is_up])
        self._refresh()

    def _refresh(self) -> None:
        watcher = self._choice.watcher
        watcher.look()
        fences: list[dict[str, Any]] = list(self._places.fences)
        if self._fence:
            rings = rings_of(list(self._fence), None)
            fences.append({"label": "the geofence drawn here", "rings": rings, "mine": True})
        self._map.show(self._places.tracks(watcher.tracks), fences)
        self._stop.set_enabled(bool(self._trial.filter))
        self._show_chosen()
        self._show_results()

    def _show_results(self) -> None:
        trial = self._trial
        words = f"{trial.count:,} messages from inside it" if trial.filter or trial.count else ""
        self._status.set_text(words)
        if trial.count == self._shown:
            return
        self._shown = trial.count
        self._results.clear()
        with self._results:
            for seen in list(trial.results)[: -SHOWN_RESULTS - 1 : -1]:
                at = time.strftime("%H:%M:%S", time.localtime(seen.at))
                text = f"{at}  {seen.topic}  {preview(seen.payload, 120)}"
                ui.label(text).classes("mono truncate w-full")
