"""`gossamer ctl reload`: the broker reads its configuration again."""

import typer

from gossamer.cli.ctl.api import DEFAULT_URL, TokenFile, Url, call


def reload(url: Url = DEFAULT_URL, token_file: TokenFile = None) -> None:
    """Read configuration, certificates, passwords and rules again; a wrong file is refused."""
    answer = call("POST", "/v1/reload", url, token_file)
    for note in answer["notes"]:
        typer.echo(f"note: {note}")
    typer.echo("the configuration is in force")
