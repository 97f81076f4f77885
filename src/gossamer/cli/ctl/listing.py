"""How `gossamer ctl` shows a list: a table for people, JSON lines for programs."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from gossamer.cli.ctl.api import call

ENTRIES_PER_REQUEST = 1000
WIDTH_OF_A_PIPE = 200


def show(
    path: str,
    columns: tuple[str, ...],
    url: str,
    token_file: Path | None,
    as_json: bool,
    query: dict[str, Any] | None = None,
) -> None:
    """Every entry, fetched page by page."""
    entries = _entries(path, url, token_file, query or {})
    if as_json:
        for entry in entries:
            print(json.dumps(entry, ensure_ascii=False))
        return
    table = Table(*columns, box=None, pad_edge=False)
    for entry in entries:
        table.add_row(*(_cell(entry[column]) for column in columns))
    width = None if sys.stdout.isatty() else WIDTH_OF_A_PIPE
    Console(width=width, markup=False, highlight=False).print(table)


def _entries(
    path: str, url: str, token_file: Path | None, query: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    offset = 0
    while True:
        page = {**query, "limit": ENTRIES_PER_REQUEST, "offset": offset}
        answer = call("GET", path, url, token_file, page)
        yield from answer["entries"]
        offset += ENTRIES_PER_REQUEST
        if offset >= answer["total"]:
            return


def _cell(value: Any) -> str:
    """Names come from the network: control characters must not reach the terminal."""
    shown = ("yes" if value else "no") if isinstance(value, bool) else str(value)
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in shown)
