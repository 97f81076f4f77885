"""What other packages bring to this one, by entry points.

Most machines have none, which is seen here from the folders of installed packages: the library that
reads entry points brings a mail parser and a zip reader, two megabytes of an empty broker.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Of a package that is installed, beside its code.
_METADATA: Final = (".dist-info", ".egg-info")


def entry_points(group: str, name: str | None = None) -> list[EntryPoint]:
    """Of that group, and if one is asked for of that name, in no particular order."""
    if not any(_may_have(place, group) for place in dict.fromkeys(sys.path)):
        return []
    from importlib.metadata import entry_points as read

    found = read(group=group)
    return [one for one in found if name is None or one.name == name]


def _may_have(place: str, group: str) -> bool:
    """Whether a package there may have some: of what is no folder, only the library can tell."""
    folder = place or os.curdir
    if not os.path.isdir(folder):
        return os.path.exists(folder)
    try:
        with os.scandir(folder) as entries:
            packages = [one.path for one in entries if one.name.endswith(_METADATA)]
    except OSError:
        return False
    return any(_names(Path(package, "entry_points.txt"), group) for package in packages)


def _names(file: Path, group: str) -> bool:
    try:
        return f"[{group}]" in file.read_text(encoding="utf-8", errors="replace")
    except OSError:  # most have no such file, and some packages are a file themselves
        return False
