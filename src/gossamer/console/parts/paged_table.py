"""A table of which only one page is ever fetched."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

from nicegui import ui
from nicegui.events import TableSelectionEventArguments

ROWS: Final = 50

Rows = tuple[list[dict[str, Any]], int]


class Column(NamedTuple):
    field: str
    label: str
    is_number: bool = False


class PagedTable:
    """`find(offset, limit)` gives the rows and how many there are in all."""

    def __init__(
        self,
        columns: tuple[Column, ...],
        row_key: str,
        find: Callable[[int, int], Awaitable[Rows]],
        on_select: Callable[[TableSelectionEventArguments], Awaitable[None]] | None = None,
    ) -> None:
        self._find = find
        self._offset = 0
        self._total = 0
        with ui.element("section").classes("panel w-full"):
            self._table = ui.table(
                columns=[
                    {
                        "name": column.field,
                        "field": column.field,
                        "label": column.label,
                        "align": "right" if column.is_number else "left",
                    }
                    for column in columns
                ],
                rows=[],
                row_key=row_key,
                selection="single" if on_select is not None else None,
            )
            self._table.props("flat dense wrap-cells hide-selected-banner").classes("w-full")
            if on_select is not None:
                self._table.on_select(on_select)
            with ui.row().classes("w-full items-center justify-end gap-2 px-3 py-1"):
                self._place = ui.label().classes("text-sm quiet").props("role=status")
                self._back = ui.button(icon="chevron_left", on_click=self._go_back)
                self._back.props('flat dense round aria-label="Previous page"')
                self._on = ui.button(icon="chevron_right", on_click=self._go_on)
                self._on.props('flat dense round aria-label="Next page"')

    def restart(self) -> None:
        """The next refresh shows the first page."""
        self._offset = 0

    async def refresh(self) -> None:
        rows, self._total = await self._find(self._offset, ROWS)
        self._table.rows = rows
        self._table.update()
        last = self._offset + len(rows)
        first = self._offset + 1 if rows else 0
        self._place.set_text(f"{first:,} to {last:,} of {self._total:,}")
        self._back.set_enabled(self._offset > 0)
        self._on.set_enabled(last < self._total)

    async def _go_back(self) -> None:
        self._offset = max(0, self._offset - ROWS)
        await self.refresh()

    async def _go_on(self) -> None:
        self._offset += ROWS
        await self.refresh()
