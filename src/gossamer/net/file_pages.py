"""Pages of libraries that only the start went through are given back to the kernel.

Importing modules touches most of the interpreter's and our machine code once, and the constants,
symbols and relocations beside it; all of that stays counted to the process: fifteen megabytes, a
third of an empty broker. These pages are copies of files that nobody has written to. What is needed
again comes back from the kernel's cache, sixteen pages at a time, in a microsecond or two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

SMAPS: Final = Path("/proc/self/smaps")
# A mapping, with its place in memory, what may be done with it, and of which file it is.
_HEAD: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \S+ *(.*)\n")
# Code and constants. What may be written is left alone: it could be, while its pages are forgotten.
READ_ONLY: Final = ("r-xp", "r--p")
# Pages that the process has written to, where they are now.
_OWN: Final = ("Anonymous:", "Swap:")


class FileMapping(NamedTuple):
    start: int
    end: int


def unwritten_files(lines: Iterable[str]) -> Iterator[FileMapping]:
    """Of a process's smaps: read-only parts of files of which no page is the process's own (with
    addresses that the linker entered, or a debugger's break), in memory or swapped out, since that
    would be lost."""
    mapping: FileMapping | None = None
    unwritten: set[str] = set()
    for line in lines:
        head = _HEAD.fullmatch(line)
        if head is not None:
            is_file = head[3] in READ_ONLY and head[4].startswith("/")
            mapping = FileMapping(int(head[1], 16), int(head[2], 16)) if is_file else None
            unwritten.clear()
        elif mapping is not None and line.startswith(_OWN) and line.split()[1] == "0":
            unwritten.add(line.split(":")[0])
            if len(unwritten) == len(_OWN):
                yield mapping


def give_back_file_pages() -> None:
    """Does nothing where the system has no such list, or refuses."""
    try:
        with SMAPS.open(encoding="utf-8", errors="replace") as lines:
            mappings = list(unwritten_files(lines))
    except OSError:
        return
    from gossamer.vision.linux_calls import forget_pages

    for mapping in mappings:
        forget_pages(mapping.start, mapping.end - mapping.start)
