"""`gossamer models list`: what there is, and what is installed."""

import typer

from gossamer.cli.models.choosing import Folder, folder_or_default
from gossamer.vision.catalogue import MODELS
from gossamer.vision.models import state_of


def list(folder: Folder = None) -> None:
    """Show the models that can be installed, with their packages and licences."""
    place = folder_or_default(folder)
    for model in MODELS:
        size = sum(file.size for file in model.files) / 1e6
        typer.echo(
            f"{model.name:<13} {state_of(model, place):<10} {size:5.1f} MB  {model.purpose}\n"
            f"{'':<13} {model.client}: {model.package} {model.version}, {model.licence}"
        )
    typer.echo(f"in {place}")
