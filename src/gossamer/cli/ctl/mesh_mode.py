"""`gossamer ctl mesh-mode MODE`: another mode for the whole mesh, while it works."""

from typing import Annotated

import typer

from gossamer.cli.ctl.api import DEFAULT_URL, TokenFile, Url, call
from gossamer.cli.errors import WrongUse
from gossamer.mesh.settings import MODES


def mesh_mode(
    mode: Annotated[str, typer.Argument(help=f"One of {', '.join(MODES)}.")],
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
) -> None:
    """Change how the brokers of a mesh tell each other what is wanted; no message is lost."""
    if mode not in MODES:
        raise WrongUse(f"MODE is one of {', '.join(MODES)}, not {mode!r}")
    call("POST", f"/v1/mesh/mode/{mode}", url, token_file)
    typer.echo(f"the mesh changes to mode {mode}; gossamer ctl mesh shows how each link is told")
