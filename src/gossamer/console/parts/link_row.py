"""One link of the mesh in a line, changed in place; in demonstrations with a button to cut it."""

import time
from typing import Final

from nicegui import ui

from gossamer.console.broker_watch import BrokerWatch
from gossamer.console.mesh_graph import DOWN, STANDBY, GraphLink
from gossamer.console.parts.figures import short, size, span
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
