"""The mesh: brokers and links as a graph, what each link carries, what changed and when."""

import time
from typing import Final

from nicegui import ui

from gossamer.console.broker_watch import BrokerWatch
from gossamer.console.console import Console
from gossamer.console.mesh_graph import DOWN, STANDBY, GraphChange, GraphLink, Pair
from gossamer.console.pages.frame import REFRESH_SECONDS
from gossamer.console.parts.figures import short, size, span
from gossamer.console.parts.mesh_picture import STYLE, picture
from gossamer.console.parts.panels import columns
from gossamer.net.admin.client import AdminError

TONES: Final = {DOWN: "bad", STANDBY: "warn"}


class LinkRow:
    """`dialler` is the broker that can cut it, None where nobody may."""

    def __init__(self, link: GraphLink, dialler: BrokerWatch | None) -> None:
        self._link = link
        self._dialler = dialler
        with ui.element("div").classes("w-full flex flex-wrap items-center gap-x-3 gap-y-1"):
            ui.label(link.label).classes("font-medium")
            ui.label(link.state).classes(f"text-sm {TONES.get(link.state, 'good')}")
            self._figures = ui.label().classes("text-sm quiet")
            if dialler is not None:
                word = "Restore" if link.state == DOWN else "Cut"
                button = ui.button(word, on_click=self._switch)
                button.props(f'outline dense no-caps size=sm aria-label="{word} {link.label}"')
                button.classes("px-3")
        self.show(link)

    def show(self, link: GraphLink) -> None:
        since = f"for {span(time.time() - link.since)}, " if link.since else ""
        flow = f"{short(link.messages)}/s, {size(link.bytes)}/s"
        self._figures.set_text(f"{since}{flow}, {link.queued:,} queued")

    async def _switch(self) -> None:
        broker, link = self._dialler, self._link
        assert broker is not None
        neighbour = link.far if link.near == broker.name else link.near
        try:
            await (broker.heal(neighbour) if link.state == DOWN else broker.cut(neighbour))
        except AdminError as error:
            ui.notify(str(error), type="negative")


SHOWN_CHANGES: Final = 30


def build(console: Console) -> None:
    _MeshPage(console)


class _MeshPage:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._rows: list[LinkRow] = []
        self._shape: list[tuple[Pair, str, str]] = []
        self._latest: GraphChange | None = None
        ui.add_css(STYLE)
        with ui.element("section").classes("panel p-4 w-full"):
            self._legend()
            self._picture = ui.html("", sanitize=False).classes("w-full")
            self._alone = ui.label("These brokers are not part of a mesh.").classes("quiet")
        with columns("22rem"):
            with ui.element("section").classes("panel p-4 min-w-0"):
                ui.label("Links").classes("font-semibold mb-2")
                self._list = ui.column().classes("w-full gap-2")
            with ui.element("section").classes("panel p-4 min-w-0"):
                ui.label("Recent changes").classes("font-semibold mb-2")
                self._log = ui.column().classes("w-full gap-1").props("data-changes")
        self._refresh()
        ui.timer(REFRESH_SECONDS, self._refresh)

    @staticmethod
    def _legend() -> None:
        with ui.row().classes("gap-4 text-sm"):
            for text, tone in (("in use", "accent"), ("standby", "warn"), ("down", "bad")):
                with ui.row().classes("items-center gap-1"):
                    ui.icon("horizontal_rule").classes(tone).props("aria-hidden=true")
                    ui.label(text).classes("quiet")

    def _refresh(self) -> None:
        graph = self._console.mesh
        self._alone.set_visibility(not graph.nodes)
        self._picture.set_content(picture(graph))
        links = [graph.links[pair] for pair in sorted(graph.links)]
        shape = [(link.pair, link.state, link.dialler) for link in links]
        if shape != self._shape:
            self._shape = shape
            self._list.clear()
            with self._list:
                self._rows = [LinkRow(link, self._dialler(link)) for link in links]
        for row, link in zip(self._rows, links, strict=True):
            row.show(link)
        latest = graph.changes[0] if graph.changes else None
        if latest is None or latest is not self._latest:
            self._latest = latest
            self._log.clear()
            with self._log:
                self._show_changes()

    def _dialler(self, link: GraphLink) -> BrokerWatch | None:
        """Who can cut the link, where that is allowed."""
        if not self._console.settings.controls:
            return None
        return next((one for one in self._console.brokers if one.name == link.dialler), None)

    def _show_changes(self) -> None:
        changes = list(self._console.mesh.changes)[:SHOWN_CHANGES]
        if not changes:
            ui.label("No changes since this console started.").classes("quiet")
        for change in changes:
            at = time.strftime("%H:%M:%S", time.localtime(change.at))
            with ui.row().classes("gap-3 no-wrap w-full"):
                ui.label(at).classes("mono quiet shrink-0")
                ui.label(change.text).classes("text-sm " + ("good" if change.is_good else "bad"))
