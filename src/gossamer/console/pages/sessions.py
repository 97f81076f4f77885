"""Sessions and subscriptions: found by a text, looked at, disconnected."""

from typing import Any, Final

from nicegui import ui
from nicegui.events import TableSelectionEventArguments

from gossamer.console.console import Console
from gossamer.console.parts.broker_choice import BrokerChoice
from gossamer.console.parts.paged_table import Column, PagedTable
from gossamer.net.admin.client import AdminError

SESSIONS: Final = (
    Column("client_id", "Client"),
    Column("user", "User"),
    Column("address", "Address"),
    Column("state", "State"),
    Column("subscriptions", "Subscriptions", True),
    Column("queued", "Queued", True),
    Column("inflight", "In flight", True),
)
SUBSCRIPTIONS: Final = (
    Column("filter", "Filter"),
    Column("client_id", "Client"),
    Column("qos", "QoS", True),
)
SHOWN_FILTERS: Final = 100


def build(console: Console) -> None:
    _SessionsPage(console)


class _SessionsPage:
    def __init__(self, console: Console) -> None:
        self._chosen = ""
        with ui.row().classes("w-full items-center gap-3"):
            self._choice = BrokerChoice(console, self._refresh)
            self._search = ui.input(placeholder="Search by client, user or filter")
            self._search.props('dense outlined clearable debounce=300 aria-label="Search"')
            self._search.classes("grow max-w-md").on_value_change(self._searched)
            ui.button("Refresh", icon="refresh", on_click=self._refresh).props("flat no-caps")
        with ui.tabs().props("dense no-caps align=left").classes("w-full") as tabs:
            ui.tab("Sessions")
            ui.tab("Subscriptions")
        with ui.tab_panels(tabs, value="Sessions").classes("w-full bg-transparent"):
            with ui.tab_panel("Sessions").classes("p-0"):
                self._sessions = PagedTable(
                    SESSIONS, "client_id", self._find_sessions, self._selected
                )
                self._details = ui.element("section").classes("panel p-4 mt-3 w-full")
                self._details.set_visibility(False)
            with ui.tab_panel("Subscriptions").classes("p-0"):
                self._subscriptions = PagedTable(SUBSCRIPTIONS, "key", self._find_subscriptions)
        ui.timer(0, self._refresh, once=True)

    async def _searched(self) -> None:
        self._sessions.restart()
        self._subscriptions.restart()
        await self._refresh()

    async def _refresh(self) -> None:
        await self._sessions.refresh()
        await self._subscriptions.refresh()

    async def _find(self, path: str, offset: int, limit: int) -> tuple[list[dict[str, Any]], int]:
        query = {"offset": offset, "limit": limit, "search": self._search.value or ""}
        try:
            answer = await self._choice.broker.ask("GET", path, query)
        except AdminError as error:
            ui.notify(str(error), type="negative")
            return [], 0
        return answer["entries"], answer["total"]

    async def _find_sessions(self, offset: int, limit: int) -> tuple[list[dict[str, Any]], int]:
        rows, total = await self._find("/v1/sessions", offset, limit)
        for row in rows:
            row["state"] = "connected" if row["connected"] else "away"
        return rows, total

    async def _find_subscriptions(
        self, offset: int, limit: int
    ) -> tuple[list[dict[str, Any]], int]:
        rows, total = await self._find("/v1/subscriptions", offset, limit)
        for row in rows:
            row["key"] = f"{row['client_id']} {row['filter']}"
        return rows, total

    async def _selected(self, event: TableSelectionEventArguments) -> None:
        rows = event.selection
        self._chosen = str(rows[0]["client_id"]) if rows else ""
        self._details.clear()
        self._details.set_visibility(bool(rows))
        if rows:
            filters = await self._filters_of(self._chosen)
            with self._details:
                self._show(filters)

    async def _filters_of(self, client_id: str) -> list[str]:
        query = {"client_id": client_id, "limit": SHOWN_FILTERS}
        try:
            answer = await self._choice.broker.ask("GET", "/v1/subscriptions", query)
        except AdminError:
            return []
        return [f"{entry['filter']}  (QoS {entry['qos']})" for entry in answer["entries"]]

    def _show(self, filters: list[str]) -> None:
        with ui.row().classes("w-full items-center gap-3"):
            ui.label(self._chosen).classes("font-semibold mono breaks grow")
            ui.button("Disconnect", on_click=lambda: self._end(False)).props("outline no-caps")
            ui.button("End session", on_click=lambda: self._end(True)).props(
                "outline no-caps color=negative"
            )
        for text in filters or ["no subscriptions"]:
            ui.label(text).classes("mono breaks")

    async def _end(self, discard: bool) -> None:
        client_id = self._chosen
        if discard and not await _confirmed(client_id):
            return
        try:
            await self._choice.broker.disconnect(client_id, discard)
        except AdminError as error:
            ui.notify(str(error), type="negative")
        else:
            ui.notify(f"{client_id} disconnected")
        await self._refresh()


async def _confirmed(client_id: str) -> bool:
    with ui.dialog() as dialog, ui.card():
        ui.label(f"End the session of {client_id} and discard its queued messages?")
        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=lambda: dialog.submit(False)).props("flat no-caps")
            ui.button("End the session", on_click=lambda: dialog.submit(True)).props(
                "unelevated no-caps color=negative"
            )
    return bool(await dialog)
