"""`gossamer ctl subscriptions`: who subscribed to what."""

from typing import Annotated

import typer

from gossamer.cli.ctl.api import DEFAULT_URL, Json, TokenFile, Url
from gossamer.cli.ctl.listing import show

COLUMNS = ("client_id", "filter", "qos")


def subscriptions(
    client: Annotated[str | None, typer.Option("--client", help="Only this client's.")] = None,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """List subscriptions."""
    query = None if client is None else {"client_id": client}
    show("/v1/subscriptions", COLUMNS, url, token_file, json, query)
