"""Tables of results, as every command of the laboratory prints and keeps them."""

from collections.abc import Iterable, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

# A table in a file or a pipe has no window that it must fit.
FILE_WIDTH = 120


def console(file_width: int = FILE_WIDTH) -> Console:
    """As wide as the window; where there is none, as wide as tables need."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(width=file_width, highlight=False)


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1
) -> Table:
    """So many columns from the left hold names, the others numbers."""
    made = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        made.add_column(column, justify="left" if index < left else "right")
    for cells in rows:
        made.add_row(*cells)
    return made


def records(
    title: str, columns: Mapping[str, str], found: Iterable[object], *, left: int = 1
) -> Table:
    """A row for each thing that was found; a column is its name and a format: `{.seconds:.1f}`."""
    rows = [[form.format(one) for form in columns.values()] for one in found]
    return table(title, list(columns), rows, left=left)


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The same as lines of markdown."""
    rule = "| --- |" + " ---: |" * (len(columns) - 1)
    return [markdown_row(columns), rule, *map(markdown_row, rows)]


def markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
