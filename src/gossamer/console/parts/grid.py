"""Panels side by side where there is room, and below each other on a phone."""

from nicegui import ui


def columns(least: str) -> ui.element:
    """As many columns as fit, each at least so wide."""
    grid = ui.element("div").classes("w-full grid gap-3 items-start")
    return grid.style(f"grid-template-columns: repeat(auto-fit, minmax(min(100%, {least}), 1fr))")
