"""How this package reaches the executors of a cluster, without anything being installed there.

Spark unpacks an archive in the working directory of each executor, and PYTHONPATH names it relative
to that. So every Python that an executor starts finds the package, those of the data source too,
which Spark's own list of Python files does not reach. A package whose functions are to run there
goes the same way, in the same archive.
"""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

import gossamer

UNPACKED: Final = "gossamer_code"
_ARCHIVES: Final = "spark.archives"
_PYTHON_PATH: Final = "spark.executorEnv.PYTHONPATH"
# Compiled modules carry their Python and platform in the name; another Python takes the sources.
_SUFFIXES: Final = {".py", ".so", ".pyd"}
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the same files give the same archive, whenever it is made


def shipping(
    config: Mapping[str, str], folder: Path | None = None, packages: Sequence[ModuleType] = ()
) -> dict[str, str]:
    """The settings that take the packages along, beside what they are set to already."""
    archive = f"{packed(folder or scratch('code'), packages)}#{UNPACKED}"
    return {
        _ARCHIVES: ",".join(filter(None, [config.get(_ARCHIVES, ""), archive])),
        _PYTHON_PATH: os.pathsep.join(filter(None, [UNPACKED, config.get(_PYTHON_PATH, "")])),
    }


def packed(folder: Path, packages: Sequence[ModuleType] = ()) -> Path:
    """Gossamer and these packages as an archive in the folder, under a name that says its content.

    The names in it begin at the folder that has the package, which need not be the same for all.
    """
    files: dict[str, Path] = {}
    for package in (gossamer, *packages):
        root = folder_of(package)
        found = [*(root / package.__name__).rglob("*"), *root.glob("*__mypyc.*")]
        files |= {str(path.relative_to(root)): path for path in found if path.suffix in _SUFFIXES}
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(name.encode() + b"\0" + files[name].read_bytes())
    target = folder / f"gossamer-{digest.hexdigest()[:16]}.zip"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(target, files)
    return target


def folder_of(package: ModuleType) -> Path:
    """What a Python that is to import the package has on its path."""
    return Path(str(package.__file__)).parent.parent


def scratch(what: str) -> Path:
    """A folder of this user's for what can be made again."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()) / f"gossamer-{what}-{user}"


def _write(target: Path, files: Mapping[str, Path]) -> None:
    """Whole or not at all: two that start at once do not read each other's half."""
    handle, scrap = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zip:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            zip.writestr(entry, files[name].read_bytes())
    os.replace(scrap, target)
