"""What the commands share: the folder, and models by their names."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import WrongUse
from gossamer.vision.catalogue import MODELS_BY_NAME, Model
from gossamer.vision.models import models_folder

Folder = Annotated[
    Path | None,
    typer.Option("--folder", help="Where they are; by default in the user's data folder."),
]


def folder_or_default(folder: Path | None) -> Path:
    return folder if folder is not None else models_folder()


def models_named(names: list[str]) -> tuple[Model, ...]:
    unknown = [name for name in names if name not in MODELS_BY_NAME]
    if unknown:
        raise WrongUse(f"no model is called {unknown[0]}; there are {', '.join(MODELS_BY_NAME)}")
    return tuple(MODELS_BY_NAME[name] for name in dict.fromkeys(names))
