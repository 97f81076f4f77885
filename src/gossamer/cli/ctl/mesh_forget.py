"""`gossamer ctl mesh-forget NAME`: a neighbour that will not come back."""

from typing import Annotated

import typer

from gossamer.cli.ctl.api import DEFAULT_URL, TokenFile, Url, call, part


def mesh_forget(
    name: Annotated[str, typer.Argument(help="The neighbour's name.")],
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
) -> None:
    """Free what is kept for a neighbour that is gone for good: its queue and its interests."""
    call("DELETE", f"/v1/mesh/{part(name)}", url, token_file)
    typer.echo(f"{name} is forgotten")
