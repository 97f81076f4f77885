"""`gossamer ctl peer add|remove HOST:PORT`: neighbours of a broker that is running."""

from typing import Annotated

import typer

from gossamer.cli.ctl.api import DEFAULT_URL, TokenFile, Url, call
from gossamer.cli.errors import WrongUse

METHODS = {"add": "POST", "remove": "DELETE"}


def peer(
    action: Annotated[str, typer.Argument(help="`add` or `remove`.")],
    address: Annotated[str, typer.Argument(help="HOST:PORT of one of its listeners.")],
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
) -> None:
    """Dial one more broker of the mesh, or dial one no more, until the next restart.

    Removing takes the link down; `ctl mesh-forget` then frees what is kept for that neighbour.
    """
    host, _, port = address.rpartition(":")
    if action not in METHODS:
        raise WrongUse(f"say add or remove, not {action!r}")
    if not host or not port.isdigit():
        raise WrongUse(f"an address is like 10.0.0.7:1883, not {address!r}")
    query = {"host": host.strip("[]"), "port": port}
    call(METHODS[action], "/v1/mesh/peers", url, token_file, query)
    typer.echo(f"{address} is {'dialled' if action == 'add' else 'not dialled any more'}")
