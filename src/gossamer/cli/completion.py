"""`gossamer completion SHELL`: prints the script that completes commands and options."""

from typing import Annotated

import typer

from gossamer.cli.completing import SHELLS, words_of
from gossamer.cli.errors import WrongUse


def completion(
    shell: Annotated[str, typer.Argument(metavar="|".join(SHELLS), help="Your shell.")],
) -> None:
    """Print what makes your shell complete gossamer: source <(gossamer completion bash)."""
    from gossamer.cli.main import COMMANDS, build

    script = SHELLS.get(shell)
    if script is None:
        raise WrongUse(f"completion is for {', '.join(SHELLS)}, not {shell!r}")
    typer.echo(script(words_of(build(COMMANDS))), nl=False)
