"""Pipelines: how far one is, what its batches held, and what is in its tables."""

import asyncio
from typing import Final

from nicegui import ui

from gossamer.console.console import Console
from gossamer.console.lake import LakeFolder, TableSummary, View
from gossamer.console.pages.frame import REFRESH_SECONDS
from gossamer.console.parts.figures import short, size, span
from gossamer.console.parts.panels import LineChart, Tile, row_of_tiles

HINT: Final = (
    "No pipeline to show. Start one with `gossamer pipeline run lake --lake FOLDER`, and this "
    "console with `--lake FOLDER`."
)


def build(console: Console) -> None:
    lake = console.lake
    if lake is None:
        with ui.element("section").classes("panel p-4 w-full"):
            ui.markdown(HINT)
        return
    _PipelinesPage(console, lake)


class _PipelinesPage:
    def __init__(self, console: Console, lake: LakeFolder) -> None:
        self._console = console
        self._lake = lake
        self._seen: View | None = None
        self._tables: dict[str, TableSummary] = {}
        ui.label(str(lake.folder)).classes("mono quiet breaks")
        with row_of_tiles():
            self._batches = Tile("Last batch")
            self._messages = Tile("Messages")
            self._readings = Tile("Readings")
            self._aside = Tile("Set aside")
            self._lag = Tile("Newest reading")
            self._written = Tile("Last written")
        with ui.element("div").classes("w-full flex flex-wrap gap-3"):
            self._chart = LineChart("Messages and readings per batch", "11rem")
        with ui.element("section").classes("panel p-2 w-full"):
            self._list = ui.table(
                columns=[
                    {"name": name, "label": label, "field": name, "align": align}
                    for name, label, align in (
                        ("name", "Table", "left"),
                        ("rows", "Rows", "right"),
                        ("files", "Files", "right"),
                        ("size", "Size", "right"),
                        ("changed", "Written", "right"),
                    )
                ],
                rows=[],
                row_key="name",
                selection="single",
                on_select=self._selected,
            )
            self._list.props("flat dense hide-bottom :rows-per-page-options=[0]").classes("w-full")
        self._rows = ui.element("section").classes("panel p-2 w-full overflow-x-auto")
        self._rows.set_visibility(False)
        self._refresh()
        ui.timer(REFRESH_SECONDS, self._refresh)

    def _refresh(self) -> None:
        view = self._console.lake_view
        if view is None or view is self._seen:
            return
        self._seen = view
        self._tables = {table.name: table for table in view.tables}
        self._show(view)
        self._list.rows = [
            {
                "name": table.name,
                "rows": f"{table.rows:,}",
                "files": f"{len(table.files):,}",
                "size": size(table.size),
                "changed": f"{span(view.at - table.changed)} ago",
            }
            for table in view.tables
        ]
        self._list.update()

    def _show(self, view: View) -> None:
        self._messages.show(short(self._count("bronze/messages")))
        self._readings.show(short(self._count("silver/readings")))
        aside = self._count("silver/aside")
        self._aside.show(short(aside), "warn" if aside else "")
        if not view.batches:
            self._batches.show("none yet")
            return
        last = view.batches[-1]
        self._batches.show(f"{last.number:,}")
        self._lag.show("–" if view.lag is None else f"{span(view.lag)} old")
        self._written.show(f"{span(view.at - last.written)} ago")
        self._chart.show(
            [batch.written for batch in view.batches],
            {
                "messages": [float(batch.messages) for batch in view.batches],
                "readings": [float(batch.readings) for batch in view.batches],
            },
        )

    def _count(self, name: str) -> int:
        table = self._tables.get(name)
        return table.rows if table is not None else 0

    async def _selected(self) -> None:
        chosen = [self._tables.get(row["name"]) for row in self._list.selected]
        table = chosen[0] if chosen else None
        self._rows.clear()
        self._rows.set_visibility(table is not None)
        if table is None:
            return
        columns, rows = await asyncio.to_thread(self._lake.rows, table)
        lines = await asyncio.to_thread(self._lake.series, table)
        with self._rows:
            if lines:
                LineChart("Averages of the busiest topics", from_zero=False).show_each(lines)
            ui.label(f"{table.name}: the newest {len(rows)} rows").classes("text-sm quiet p-2")
            shown = ui.table(
                columns=[
                    {"name": name, "label": name, "field": name, "align": "left"}
                    for name in columns
                ],
                rows=[{"#": number, **row} for number, row in enumerate(rows)],
                row_key="#",
            )
            shown.props("flat dense hide-bottom :rows-per-page-options=[0]").classes("w-full mono")
