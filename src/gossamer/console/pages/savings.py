"""Savings: bytes before and after, by the mesh, by operators and by places; and link by link."""

from typing import Final

from nicegui import ui

from gossamer.console.console import Console
from gossamer.console.pages.frame import REFRESH_SECONDS
from gossamer.console.parts.figures import size
from gossamer.console.parts.panels import columns
from gossamer.console.savings import LinkSaving, Saving, link_savings, savings

SHOWN_LINKS: Final = 50


def build(console: Console) -> None:
    with columns("20rem"):
        cards = [_Card(saving) for saving in savings(console.brokers)]
    ui.label("Since the brokers started.").classes("text-sm quiet")
    links = _Links()

    def refresh() -> None:
        links.show(link_savings(console.brokers))
        for card, saving in zip(cards, savings(console.brokers), strict=True):
            card.show(saving)

    refresh()
    ui.timer(REFRESH_SECONDS, refresh)


class _Links:
    """A table that is only there in a mesh."""

    def __init__(self) -> None:
        with ui.element("section").classes("panel w-full") as self._section:
            self._table = ui.table(
                columns=[
                    {"name": name, "field": name, "label": label, "align": align}
                    for name, label, align in (
                        ("link", "Link", "left"),
                        ("sent", "Messages sent", "right"),
                        ("kept", "Kept back by rules and areas", "right"),
                        ("bytes", "Bytes kept back", "right"),
                    )
                ],
                rows=[],
                row_key="link",
            )
            self._table.props("flat dense wrap-cells hide-pagination data-link-savings")
            self._table.props(':rows-per-page-options="[0]"').classes("w-full")

    def show(self, found: list[LinkSaving]) -> None:
        self._section.set_visibility(bool(found))
        rows = [
            {
                "link": one.label,
                "sent": f"{one.sent:,}",
                "kept": f"{one.kept_back:,}",
                "bytes": size(one.kept_back_bytes),
            }
            for one in found[:SHOWN_LINKS]
        ]
        if rows != self._table.rows:
            self._table.rows = rows


class _Card:
    def __init__(self, saving: Saving) -> None:
        with ui.element("section").classes("panel p-4 min-w-0 flex flex-col gap-2"):
            ui.label(saving.name).classes("font-semibold")
            self._part = ui.label().classes("figure accent").props(f'data-saved="{saving.name}"')
            self._before = _Bar("before", "#94a3b8")
            self._after = _Bar("after", "#14b8a6")
            ui.label(saving.meaning).classes("text-sm quiet")

    def show(self, saving: Saving) -> None:
        if not saving.before:
            self._part.set_text("no traffic yet")
        elif saving.part >= 0.0:
            self._part.set_text(f"{saving.part:.1%} saved")
        else:
            self._part.set_text(f"{saving.after / saving.before:.1f} times as much")
        most = max(saving.before, saving.after, 1.0)
        self._before.show(saving.before, most)
        self._after.show(saving.after, most)


class _Bar:
    def __init__(self, name: str, colour: str) -> None:
        with ui.element("div").classes("w-full flex items-center gap-2 no-wrap text-sm"):
            ui.label(name).classes("quiet w-14 shrink-0")
            with ui.element("div").classes("grow h-4 rounded").style("background: var(--line)"):
                self._filled = ui.element("div").classes("h-4 rounded")
                self._filled.style(f"background: {colour}; width: 0")
            self._figure = ui.label().classes("w-20 text-right shrink-0")

    def show(self, value: float, most: float) -> None:
        self._filled.style(f"width: {100 * value / most:.1f}%")
        self._figure.set_text(size(value))
