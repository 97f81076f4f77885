"""The client's side of the admin API, for all `gossamer ctl` commands."""

import os
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import typer

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.net.admin.client import AdminClient, AdminError, Unreachable
from gossamer.net.admin.tokens import default_token_file, read_token
from gossamer.net.config import ConfigError

TOKEN_VARIABLE = "GOSSAMER_ADMIN_TOKEN"

Url = Annotated[str, typer.Option("--url", help="Where the admin API listens.")]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", help=f"File with the token (or set {TOKEN_VARIABLE})."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DEFAULT_URL = "http://127.0.0.1:8090"


def call(
    method: str, path: str, url: str, token_file: Path | None, query: dict[str, Any] | None = None
) -> Any:
    """The JSON answer; CommandError in one line if there is none."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise WrongUse(f"--url is like {DEFAULT_URL}, not {url!r}")
    client = AdminClient(parts.hostname, parts.port or 80, read_admin_token(token_file))
    try:
        return client.call(method, path, query)
    except Unreachable as error:
        raise CommandError(
            f"no admin API at {url}: {error}; a broker needs enabled = true in [admin] for it, and "
            "says at its start where it is: name that with --url"
        ) from error
    except AdminError as error:
        raise CommandError(str(error)) from error


def part(text: str) -> str:
    """A client id as part of a path."""
    return quote(text, safe="")


def read_admin_token(token_file: Path | None) -> str:
    """The token in the file, in the variable, or where a broker of this user keeps it."""
    given = os.environ.get(TOKEN_VARIABLE)
    if given and token_file is None:
        return given
    try:
        return read_token(token_file or default_token_file())
    except ConfigError as error:
        raise CommandError(
            f"{error.problems[0]}; a broker with enabled = true in [admin] says at its start where "
            "its token is: name that file with --token-file"
        ) from error
