"""Machine code that only the start ran through is given back to the kernel.

Importing modules runs through most of the interpreter's code and ours once, and all of it stays
counted to the process: ten megabytes, a quarter of an empty broker. These pages are copies of files
that nobody has written to. What is needed again comes back from the kernel's cache, sixteen pages
at a time, in a microsecond or two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

SMAPS: Final = Path("/proc/self/smaps")
# A mapping of a file with code; its place in memory, and what is said of it below.
_HEAD: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \S+ *(.*)\n")
CODE: Final = "r-xp"
# Pages that the process has written to, where they are now.
_OWN: Final = ("Anonymous:", "Swap:")


class CodeMapping(NamedTuple):
    start: int
    end: int


def unwritten_code(lines: Iterable[str]) -> Iterator[CodeMapping]:
    """Of a process's smaps: files' code of which no page is the process's own (a debugger's, say),
    in memory or swapped out, since that would be lost."""
    mapping: CodeMapping | None = None
    unwritten: set[str] = set()
    for line in lines:
        head = _HEAD.fullmatch(line)
        if head is not None:
            is_code = head[3] == CODE and head[4].startswith("/")
            mapping = CodeMapping(int(head[1], 16), int(head[2], 16)) if is_code else None
            unwritten.clear()
        elif mapping is not None and line.startswith(_OWN) and line.split()[1] == "0":
            unwritten.add(line.split(":")[0])
            if len(unwritten) == len(_OWN):
                yield mapping


def give_back_code() -> None:
    """Does nothing where the system has no such list, or refuses."""
    try:
        with SMAPS.open(encoding="utf-8", errors="replace") as lines:
            mappings = list(unwritten_code(lines))
    except OSError:
        return
    from gossamer.vision.linux_calls import forget_pages

    for mapping in mappings:
        forget_pages(mapping.start, mapping.end - mapping.start)
