"""`gossamer models`: the models that look at images, installed, listed and verified."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.vision.model_catalog import MODELS, MODELS_BY_NAME, Model
from gossamer.vision.model_install import install as install_models
from gossamer.vision.models import (
    DAMAGED,
    INSTALL_HINT,
    MISSING,
    ModelError,
    default_models,
    models_folder,
    state_of,
)

Folder = Annotated[
    Path | None,
    typer.Option("--folder", help="Folder of the models; by default in the user's data folder."),
]


def folder_or_default(folder: Path | None) -> Path:
    return folder if folder is not None else models_folder()


def models_named(names: list[str]) -> tuple[Model, ...]:
    unknown = [name for name in names if name not in MODELS_BY_NAME]
    if unknown:
        raise WrongUse(f"there is no model {unknown[0]}; models are {', '.join(MODELS_BY_NAME)}")
    return tuple(MODELS_BY_NAME[name] for name in dict.fromkeys(names))


def install(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of models (gossamer models list); by default those that are needed."
        ),
    ] = None,
    folder: Folder = None,
) -> None:
    """Download models with pip and npm and verify their SHA-256."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    models = models_named(names) if names else default_models()
    place = folder_or_default(folder)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("looking", total=None)

        def tell(model: Model) -> None:
            progress.update(task, description=f"fetching {model.name} with {model.client}")

        try:
            fetched = install_models(models, place, tell)
        except ModelError as error:
            raise CommandError(str(error)) from error
    for model in models:
        what = "installed" if model in fetched else "was there"
        typer.echo(f"{model.name} {what} ({model.licence}): {model.purpose}")
    typer.echo(f"in {place}; restart brokers to use them")


def list_(folder: Folder = None) -> None:
    """Show the models that can be installed, with their packages and licences."""
    place = folder_or_default(folder)
    for model in MODELS:
        size = sum(file.size for file in model.files) / 1e6
        typer.echo(
            f"{model.name:<13} {state_of(model, place):<10} {size:5.1f} MB  {model.purpose}\n"
            f"{'':<13} {model.client}: {model.package} {model.version}, {model.licence}"
        )
    typer.echo(f"in {place}")


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
