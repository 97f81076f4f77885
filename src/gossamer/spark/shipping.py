"""How this package reaches the executors of a cluster, without anything being installed there.

Spark unpacks an archive in the working directory of each executor, and PYTHONPATH names it relative
to that. So every Python that an executor starts finds the package, those of the data source too,
which Spark's own list of Python files does not reach.
"""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import gossamer

UNPACKED: Final = "gossamer_code"
_ARCHIVES: Final = "spark.archives"
_PYTHON_PATH: Final = "spark.executorEnv.PYTHONPATH"
# Compiled modules carry their Python and platform in the name; another Python takes the sources.
_SUFFIXES: Final = {".py", ".so", ".pyd"}
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the same files give the same archive, whenever it is made


def shipping(config: Mapping[str, str], folder: Path | None = None) -> dict[str, str]:
    """The settings that take the package along, beside what they are set to already."""
    archive = f"{packed(folder or scratch('code'))}#{UNPACKED}"
    return {
        _ARCHIVES: ",".join(filter(None, [config.get(_ARCHIVES, ""), archive])),
        _PYTHON_PATH: os.pathsep.join(filter(None, [UNPACKED, config.get(_PYTHON_PATH, "")])),
    }


def packed(folder: Path) -> Path:
    """The package as an archive in the folder, under a name that says its content."""
    root = Path(gossamer.__file__).parent
    files = sorted(path for path in root.rglob("*") if path.suffix in _SUFFIXES)
    files += sorted(path for path in root.parent.glob("*__mypyc.*") if path.suffix in _SUFFIXES)
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file.relative_to(root.parent)).encode() + b"\0" + file.read_bytes())
    target = folder / f"gossamer-{digest.hexdigest()[:16]}.zip"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(target, files, root.parent)
    return target


def scratch(what: str) -> Path:
    """A folder of this user's for what can be made again."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()) / f"gossamer-{what}-{user}"


def _write(target: Path, files: list[Path], root: Path) -> None:
    """Whole or not at all: two that start at once do not read each other's half."""
    handle, name = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zip:
        for path in files:
            entry = zipfile.ZipInfo(str(path.relative_to(root)), _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            zip.writestr(entry, path.read_bytes())
    os.replace(name, target)
