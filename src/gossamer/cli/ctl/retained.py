"""`gossamer ctl retained`: the retained messages, and who published them."""

from typing import Annotated

import typer

from gossamer.cli.ctl.api import DEFAULT_URL, Json, TokenFile, Url
from gossamer.cli.ctl.listing import show

COLUMNS = ("topic", "qos", "size", "publisher", "user")


def retained(
    filter: Annotated[str, typer.Argument(help="A topic filter.")] = "#",
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """List retained messages (with --json, their payloads too)."""
    show("/v1/retained", COLUMNS, url, token_file, json, {"filter": filter})
