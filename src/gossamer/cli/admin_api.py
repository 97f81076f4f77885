"""How commands ask a running broker: its address and token, one question, or a whole list.

A list is a table for people and JSON lines for programs.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import typer
from rich.console import Console
from rich.table import Table

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.net.admin.client import AdminClient, AdminError, AdminUnreachable
from gossamer.net.admin.tokens import default_token_file, read_token
from gossamer.net.config import ConfigError

TOKEN_VARIABLE = "GOSSAMER_ADMIN_TOKEN"

Url = Annotated[
    str, typer.Option("--url", envvar="GOSSAMER_ADMIN_URL", help="Address of the admin API.")
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", help=f"File with the token (or set {TOKEN_VARIABLE})."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
DEFAULT_URL = "http://127.0.0.1:8090"


def call(
    method: str,
    path: str,
    url: str,
    token_file: Path | None,
    query: dict[str, Any] | None = None,
    sent: bytes = b"",
) -> Any:
    """The JSON answer; CommandError in one line if there is none."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise WrongUse(f"--url expects a URL such as {DEFAULT_URL}, not {url!r}")
    client = AdminClient(parts.hostname, parts.port or 80, read_admin_token(token_file))
    try:
        return client.call(method, path, query, sent)
    except AdminUnreachable as error:
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


ENTRIES_PER_REQUEST = 1000
WIDTH_OF_A_PIPE = 200


def show(
    path: str,
    columns: str,
    url: str,
    token_file: Path | None,
    as_json: bool,
    query: dict[str, Any] | None = None,
) -> None:
    """Every entry, fetched page by page; a table has the columns that are named."""
    entries = _entries(path, url, token_file, query or {})
    if as_json:
        for entry in entries:
            print(json.dumps(entry, ensure_ascii=False))
        return
    names = columns.split()
    table = Table(*names, box=None, pad_edge=False)
    for entry in entries:
        table.add_row(*(_cell(entry[name]) for name in names))
    width = None if sys.stdout.isatty() else WIDTH_OF_A_PIPE
    Console(width=width, markup=False, highlight=False).print(table)


def _entries(
    path: str, url: str, token_file: Path | None, query: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    offset = 0
    while True:
        page = {**query, "limit": ENTRIES_PER_REQUEST, "offset": offset}
        answer = call("GET", path, url, token_file, page)
        yield from answer["entries"]
        offset += ENTRIES_PER_REQUEST
        if offset >= answer["total"]:
            return


def _cell(value: Any) -> str:
    """Names come from the network: control characters must not reach the terminal."""
    shown = ("yes" if value else "no") if isinstance(value, bool) else str(value)
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in shown)
