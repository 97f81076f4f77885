"""`gossamer ctl disconnect CLIENT`: ends a client's connection."""

from typing import Annotated

import typer

from gossamer.cli.ctl.api import DEFAULT_URL, TokenFile, Url, call, part


def disconnect(
    client_id: Annotated[str, typer.Argument(help="The client id.")],
    discard: Annotated[
        bool, typer.Option("--discard", help="End its session too, with all that waits in it.")
    ] = False,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
) -> None:
    """Disconnect a client."""
    query = {"discard": "true"} if discard else None
    call("DELETE", f"/v1/sessions/{part(client_id)}", url, token_file, query)
    typer.echo(f"{client_id} is disconnected")
