"""A tile: one figure and what it is, changed in place."""

from nicegui import ui


class Tile:
    """`name` is also how tests and screen readers find it."""

    def __init__(self, name: str, tone: str = "") -> None:
        with ui.element("div").classes("panel px-4 py-3 grow min-w-[8.5rem]") as self.element:
            ui.label(name).classes("text-xs quiet")
            self._figure = ui.label("–").classes(f"figure {tone}")
        self._figure.props(f'data-figure="{name}"')
        self._tone = tone

    def show(self, text: str, tone: str = "") -> None:
        self._figure.set_text(text)
        if tone != self._tone:
            self._tone = tone
            self._figure.classes(replace=f"figure {tone}")


def row_of_tiles() -> ui.element:
    return ui.element("div").classes("w-full flex flex-wrap gap-3")
