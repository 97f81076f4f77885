"""`gossamer passwd FILE USER`: adds, changes or removes one user of a password file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.net.auth.passwords import (
    HASHER,
    check_user_name,
    load_passwords,
    read_entries,
    write_entries,
)
from gossamer.net.auth.scram import METHOD, Verifier
from gossamer.net.config import ConfigError


def passwd(
    file: Annotated[Path, typer.Argument(help="The password file; created if missing.")],
    user: Annotated[str, typer.Argument(help="User name.")],
    delete: Annotated[bool, typer.Option("--delete", "-D", help="Remove the user.")] = False,
    scram: Annotated[
        bool, typer.Option("--scram", help="Write a SCRAM-SHA-256 verifier, for auth.scram_file.")
    ] = False,
    stdin: Annotated[
        bool,
        typer.Option("--stdin", help="Read the password from the first line of standard input."),
    ] = False,
) -> None:
    """Set the password of USER in FILE (argon2id, or a verifier for SCRAM)."""
    try:
        check_user_name(user)
    except ValueError as error:
        raise WrongUse(str(error)) from error
    try:
        if not file.exists():
            entries: dict[str, str] = {}
        else:
            entries = read_entries(file, f"{METHOD}$") if scram else load_passwords(file)
    except ConfigError as error:
        raise CommandError(error.problems[0]) from error
    if delete:
        if entries.pop(user, None) is None:
            raise CommandError(f"{file} has no user {user}")
    else:
        password = _password(stdin)
        entries[user] = str(Verifier.of(password)) if scram else HASHER.hash(password)
    try:
        write_entries(file, entries)
    except OSError as error:
        raise CommandError(f"{file}: cannot be written: {error.strerror}") from error
    typer.echo(f"{file}: {user} {'removed' if delete else 'set'}; running brokers need a reload")


def _password(stdin: bool) -> str:
    if stdin:
        password = sys.stdin.readline().rstrip("\n")
    elif not sys.stdin.isatty():
        raise WrongUse("there is no terminal to prompt on: pipe the password in and add --stdin")
    else:
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    if not password:
        raise WrongUse("the password must not be empty")
    return str(password)
