"""The typer application of `gossamer`: its commands, their help, and its complaints in one line."""

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from gossamer import __version__
from gossamer.cli.commands import CommandSet, wanted
from gossamer.cli.completion import words_so_far
from gossamer.cli.errors import FAILED, CommandError

SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["--help"], "max_content_width": 100},
}


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"gossamer {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """A network of MQTT brokers that you can compute in."""


def build(sets: Sequence[CommandSet]) -> typer.Typer:
    """The application with the commands of these sets."""
    app = typer.Typer(**SETTINGS, no_args_is_help=True)
    app.callback()(_root)
    for each in sets:
        _add(app, each)
    return app


def _add(app: typer.Typer, each: CommandSet) -> None:
    groups: dict[str, typer.Typer] = {}
    for command in each.names:
        group, _, name = command.rpartition(" ")
        if command in each.groups:  # a command with others below it
            groups[command] = typer.Typer(**SETTINGS, help=each.groups[command])
            groups[command].callback(invoke_without_command=True)(each.function(command))
            app.add_typer(groups[command], name=command, short_help=each.groups[command])
            continue
        if group and group not in groups:
            groups[group] = typer.Typer(**SETTINGS, no_args_is_help=True, help=each.groups[group])
            groups[group].callback()(lambda: None)
            app.add_typer(groups[group], name=group, short_help=each.groups[group])
        function = each.function(command)
        (groups[group] if group else app).command(
            name, short_help=summary(function), context_settings=dict(each.context)
        )(function)


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


def _in_one_line(problem: Exception) -> str:
    """Typer's own complaint about the arguments, with where to read more."""
    text = " ".join(problem.format_message().split())  # type: ignore[attr-defined]
    context = getattr(problem, "ctx", None)
    path = context.command_path if context is not None else "gossamer"
    return f"{path}: {text} (see {path} --help)"


def invoke(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code; CommandError is the caller's to tell."""
    try:
        command: Any = typer.main.get_command(build(wanted(words_so_far(arguments))))
        name_values(command)
        result = command(args=list(arguments), prog_name="gossamer", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except (CommandError, KeyboardInterrupt):
        raise
    except typer.Abort:
        return FAILED
    except Exception as problem:
        if type(problem).__name__ == "NoArgsIsHelpError":
            print(problem.format_message())  # type: ignore[attr-defined]
        elif hasattr(problem, "format_message") and hasattr(problem, "exit_code"):
            print(_in_one_line(problem), file=sys.stderr)
        else:
            raise
        return int(problem.exit_code)  # type: ignore[attr-defined]
