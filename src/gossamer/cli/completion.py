"""`gossamer completion SHELL`: typer's completion, which asks gossamer at every press of Tab."""

import os
import re
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from gossamer.cli.errors import WrongUse

SHELLS: Final = ("bash", "zsh", "fish", "powershell", "pwsh")
ASKING: Final = "_GOSSAMER_COMPLETE"  # set by the shell when it asks
# Where the shells put the line so far.
LINES: Final = ("_TYPER_COMPLETE_ARGS", "COMP_WORDS")


def completion(
    shell: Annotated[
        str, typer.Argument(metavar="|".join(SHELLS), help="The shell to complete for.")
    ],
) -> None:
    """Print a completion script for your shell: source <(gossamer completion bash)."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    if shell not in SHELLS:
        raise WrongUse(f"completion supports {', '.join(SHELLS)}, not {shell!r}")
    typer.echo(get_completion_script(prog_name="gossamer", complete_var=ASKING, shell=shell))


def words_so_far(arguments: Sequence[str]) -> Sequence[str]:
    """The words before the one to complete if a shell asks, else the arguments.

    They name the command whose options are wanted, so that no other is imported.
    """
    if ASKING not in os.environ:
        return arguments
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    line = next((os.environ[name] for name in LINES if name in os.environ), "")
    return re.split(r"\s+", line.lstrip())[1:-1]
