"""The command ``gossamer``: one file a command, all named in one tuple.

``"serve"`` is the function ``serve`` of ``gossamer.cli.serve``; ``"bench brokers"`` is the function
``brokers`` of ``gossamer.cli.bench.brokers``. Only the command that is called is imported.

Exit codes: 0 it worked, 1 it failed, 2 something wrong was asked for. Errors are one line.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from gossamer import __version__
from gossamer.cli.ending import not_written, watched, written
from gossamer.cli.errors import FAILED, CommandError
from gossamer.cli.helping import name_values, summary

COMMANDS: tuple[str, ...] = (
    "serve",
    "mesh",
    "pub",
    "sub",
    "demo",
    "console",
    "check",
    "passwd",
    "migrate mosquitto",
    "completion",
    "models install",
    "models list",
    "models verify",
    "mesh-key",
    "ctl reload",
    "ctl sessions",
    "ctl subscriptions",
    "ctl retained",
    "ctl memory",
    "ctl disconnect",
    "ctl mesh",
    "ctl mesh-forget",
    "ctl mesh-mode",
    "ctl mesh-choices",
    "ctl peer",
    "torture",
    "torture spark",
    "torture soak",
    "torture fuzz",
    "sim",
    "sim torture",
    "sim replay",
    "store check",
    "store repair",
    "store export",
    "archive info",
    "archive cat",
    "archive verify",
    "pipeline list",
    "pipeline run",
    "pipeline offload",
    "bench brokers",
    "bench plus",
    "bench images",
    "bench durable",
    "bench archive",
    "bench spark",
    "bench mesh",
    "bench heal",
    "bench flood",
    "bench attacks",
    "bench topics",
    "bench bloom",
    "bench geo",
    "experiment list",
    "experiment run",
    "experiment report",
    "experiment speedup",
)

GROUPS = {
    "migrate": "Come from another broker.",
    "bench": "Measure this broker beside others.",
    "experiment": "Repeat the experiments of the papers.",
    "torture": "Kill what runs at random moments, and hold it to its promises.",
    "sim": "Simulate a mesh: the brokers that ship, on a virtual network.",
    "models": "Models that look at images.",
    "store": "Look after the files that a broker keeps.",
    "archive": "Look into the messages that a broker has archived.",
    "pipeline": "Keep what comes through the brokers, and put it in order, with Spark.",
    "ctl": "Speak with a running broker.",
}

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


def _function(command: str) -> Callable[..., Any]:
    words = command.replace("-", "_").split()
    module = import_module(".".join(["gossamer", "cli", *words]))
    function: Callable[..., Any] = getattr(module, words[-1])
    return function


def build(commands: Sequence[str]) -> typer.Typer:
    """The application with these commands."""
    app = typer.Typer(**SETTINGS, no_args_is_help=True)
    app.callback()(_root)
    groups: dict[str, typer.Typer] = {}
    for command in commands:
        group, _, name = command.rpartition(" ")
        if command in GROUPS:  # a command with others below it
            groups[command] = typer.Typer(**SETTINGS, help=GROUPS[command])
            groups[command].callback(invoke_without_command=True)(_function(command))
            app.add_typer(groups[command], name=command, short_help=GROUPS[command])
            continue
        if group and group not in groups:
            groups[group] = typer.Typer(**SETTINGS, no_args_is_help=True, help=GROUPS[group])
            groups[group].callback()(lambda: None)
            app.add_typer(groups[group], name=group, short_help=GROUPS[group])
        function = _function(command)
        (groups[group] if group else app).command(name, short_help=summary(function))(function)
    return app


def _wanted(arguments: Sequence[str]) -> tuple[str, ...]:
    """The commands that these arguments can mean: one, a group, or (for help) all."""
    words = [word for word in arguments[:2] if not word.startswith("-")]
    for count in (2, 1):
        prefix = words[:count]
        found = tuple(c for c in COMMANDS if len(prefix) == count and c.split()[:count] == prefix)
        if found:
            return found
    return COMMANDS


def _in_one_line(problem: Exception) -> str:
    """Typer's own complaint about the arguments, with where to read more."""
    text = " ".join(problem.format_message().split())  # type: ignore[attr-defined]
    context = getattr(problem, "ctx", None)
    path = context.command_path if context is not None else "gossamer"
    return f"{path}: {text} (see {path} --help)"


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    try:
        command: Any = typer.main.get_command(build(_wanted(arguments)))
        name_values(command)
        result = command(args=list(arguments), prog_name="gossamer", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except CommandError as problem:
        print(f"gossamer: {problem}", file=sys.stderr)
        return problem.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return FAILED
    except Exception as problem:
        if type(problem).__name__ == "NoArgsIsHelpError":
            print(problem.format_message())  # type: ignore[attr-defined]
        elif hasattr(problem, "format_message") and hasattr(problem, "exit_code"):
            print(_in_one_line(problem), file=sys.stderr)
        else:
            raise
        return int(problem.exit_code)  # type: ignore[attr-defined]


def main() -> None:
    output = watched()
    try:
        code = run(sys.argv[1:])
    except (OSError, SystemExit):  # typer and rich end the process where nobody reads any more
        if output is None or output.error is None:
            raise
        code = not_written(output.error)
    sys.exit(written(code))
