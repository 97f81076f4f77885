"""Figures as files: SVG inside the page, PNG beside it."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

PNG_DPI = 120
PAGE_DPI = 112


def inline(drawing: Any) -> str:
    """For the source of an image in the page."""
    data = BytesIO()
    # Without a date the same figure is the same file.
    drawing.savefig(data, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + b64encode(data.getvalue()).decode()


def width(drawing: Any) -> int:
    """In pixels of the page, so that text is as large in a small figure as in a wide one."""
    return int(drawing.get_figwidth() * PAGE_DPI)


def save_png(drawing: Any, path: Path) -> Path:
    drawing.savefig(path, format="png", dpi=PNG_DPI)
    return path
