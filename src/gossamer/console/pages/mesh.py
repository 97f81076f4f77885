"""The mesh: brokers and links as a graph, what each link carries, what changed and when."""

import time
from typing import Final

from nicegui import ui

from gossamer.console.console import Console
from gossamer.console.mesh_graph import DOWN, STANDBY, Link
from gossamer.console.pages.frame import REFRESH_SECONDS
from gossamer.console.parts.figures import short, size, span
from gossamer.console.parts.mesh_picture import STYLE, picture

SHOWN_CHANGES: Final = 30
TONES: Final = {DOWN: "bad", STANDBY: "warn"}


def build(console: Console) -> None:
    _MeshPage(console)


class _MeshPage:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._links: list[Link] | None = None
        self._changes = -1
        ui.add_css(STYLE)
        with ui.element("section").classes("panel p-4 w-full"):
            self._legend()
            self._picture = ui.html("", sanitize=False).classes("w-full")
            self._alone = ui.label("These brokers belong to no mesh.").classes("quiet")
        with (
            ui.element("div")
            .classes("w-full grid gap-3 items-start")
            .style("grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr))")
        ):
            with ui.element("section").classes("panel p-4 min-w-0"):
                ui.label("Links").classes("font-semibold mb-2")
                self._list = ui.column().classes("w-full gap-2")
            with ui.element("section").classes("panel p-4 min-w-0"):
                ui.label("What changed").classes("font-semibold mb-2")
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
        if links != self._links:
            self._links = links
            self._list.clear()
            with self._list:
                for link in links:
                    self._show_link(link)
        if len(graph.changes) != self._changes:
            self._changes = len(graph.changes)
            self._log.clear()
            with self._log:
                self._show_changes()

    def _show_link(self, link: Link) -> None:
        with ui.element("div").classes("w-full flex flex-wrap items-center gap-x-3 gap-y-1"):
            ui.label(f"{link.near} – {link.far}").classes("font-medium")
            ui.label(link.state).classes(f"text-sm {TONES.get(link.state, 'good')}")
            since = f"for {span(time.time() - link.since)}, " if link.since else ""
            flow = f"{short(link.messages)}/s, {size(link.bytes)}/s"
            figures = f"{since}{flow}, {link.queued:,} waiting"
            ui.label(figures).classes("text-sm quiet")

    def _show_changes(self) -> None:
        changes = list(self._console.mesh.changes)[:SHOWN_CHANGES]
        if not changes:
            ui.label("Nothing since this console was started.").classes("quiet")
        for change in changes:
            at = time.strftime("%H:%M:%S", time.localtime(change.at))
            with ui.row().classes("gap-3 no-wrap w-full"):
                ui.label(at).classes("mono quiet shrink-0")
                ui.label(change.text).classes("text-sm " + ("good" if change.is_good else "bad"))
