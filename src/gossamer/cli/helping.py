"""Help texts that are even: whole summaries, and a word in capitals for every value."""

import inspect
from collections.abc import Callable
from typing import Any


def summary(function: Callable[..., Any]) -> str:
    """The first sentence of what a command says of itself, for the list of commands."""
    first = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0]
    sentence, _, _ = " ".join(first.split()).partition(". ")
    return sentence.rstrip(".") + "."


def name_values(command: Any) -> None:
    """Calls each value by the last word of its name, below a group too: `--token-file FILE`."""
    for below in getattr(command, "commands", {}).values():
        name_values(below)
    for parameter in command.params:
        if parameter.metavar is None and not getattr(parameter, "is_flag", False):
            parameter.metavar = parameter.name.split("_")[-1].upper()
