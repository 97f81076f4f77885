"""`gossamer mesh-key FILE`: makes the key that the brokers of a mesh share."""

import os
import secrets
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError


def mesh_key(
    file: Annotated[Path, typer.Argument(help="File to create; must not exist.")],
) -> None:
    """Create a mesh key; copy it to every broker of the mesh (mesh.key_file)."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CommandError(f"cannot write {file}: {error.strerror}") from error
    with os.fdopen(handle, "w") as out:
        out.write(secrets.token_urlsafe(32) + "\n")
    typer.echo(f"wrote {file}: copy it to every broker of the mesh and set mesh.key_file")
