"""`gossamer models verify`: are the installed files what they should be?"""

import typer

from gossamer.cli.errors import CommandError
from gossamer.cli.models.choosing import Folder, folder_or_default
from gossamer.vision.catalogue import MODELS
from gossamer.vision.models import DAMAGED, INSTALL_HINT, MISSING, state_of


def verify(folder: Folder = None) -> None:
    """Check every installed model against its SHA-256."""
    place = folder_or_default(folder)
    states = {model: state_of(model, place) for model in MODELS}
    damaged = [model.name for model, state in states.items() if state == DAMAGED]
    if damaged:
        names = " ".join(damaged)
        raise CommandError(f"damaged in {place}: run `gossamer models install {names}`")
    if all(state == MISSING for state in states.values()):
        raise CommandError(f"there are no models in {place}: {INSTALL_HINT}")
    for model, state in states.items():
        if state != MISSING:
            typer.echo(f"{model.name}: {', '.join(file.name for file in model.files)}: ok")
