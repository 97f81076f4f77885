"""Opens a file whose first page is lost, by giving a copy of it the first page of an empty store.

The first page says where each table's tree begins. Every store makes the same tables in the same
order, so the trees begin at the same pages in all of them.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from gossamer.storage.files import (
    FILE_NAME,
    PAGE_BYTES,
    StoreDamaged,
    companions,
    open_existing,
    open_store,
)

# Fields of SQLite's file header, each a big-endian number of four bytes.
_CHANGE_COUNTER: Final = 24
_PAGE_COUNT: Final = 28
_FIRST_FREE_PAGE: Final = 32
_FREE_PAGES: Final = 36
_COUNTER_OF_PAGE_COUNT: Final = 92


@contextmanager
def opened_for_salvage(path: Path) -> Iterator[sqlite3.Connection]:
    """The file itself where SQLite takes it, else a copy with a new head."""
    try:
        connection = open_existing(path)
    except StoreDamaged:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="salvage-") as folder:
            copy = _with_new_head(path, Path(folder))
            with closing(open_existing(copy)) as connection:
                yield connection
    else:
        with closing(connection):
            yield connection


def _with_new_head(path: Path, folder: Path) -> Path:
    empty = folder / "empty" / FILE_NAME
    open_store(empty).close()
    head = bytearray(empty.read_bytes()[:PAGE_BYTES])
    copy = folder / FILE_NAME
    for file in (path, *companions(path)):
        if file.exists():
            shutil.copy(file, folder / file.name)
    numbers = {
        _CHANGE_COUNTER: 1,
        _COUNTER_OF_PAGE_COUNT: 1,
        _PAGE_COUNT: copy.stat().st_size // PAGE_BYTES,
        _FIRST_FREE_PAGE: 0,
        _FREE_PAGES: 0,
    }
    for offset, number in numbers.items():
        head[offset : offset + 4] = number.to_bytes(4, "big")
    with copy.open("r+b") as target:
        target.write(head)
    return copy
