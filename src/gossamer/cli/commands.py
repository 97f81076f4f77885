"""Which commands there are: the product's own, and those that other packages bring.

A package brings commands by an entry point of the group `gossamer.commands` that names its
`CommandSet`. `"serve"` is the function `serve` of the file `serve` in the set's package,
`"ctl reload"` the function `reload` of the file `ctl` (`list_` where Python has a `list` of its
own), or of the file `ctl/reload`. Only what is called is imported.

The laboratory's commands keep their place in the help where it is not installed, and say how to
get it.
"""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

import gossamer
from gossamer.cli.errors import CommandError
from gossamer.plugins import entry_points

ENTRY_POINTS: Final = "gossamer.commands"
LAB: Final = "gossamer-lab"
LAB_COMMANDS: Final = ("demo", "torture", "sim", "bench", "experiment")


@dataclass(frozen=True)
class CommandSet:
    """What one package brings: where its commands are, their names, what their groups are for."""

    package: str
    names: tuple[str, ...]
    groups: Mapping[str, str] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)  # typer's, of each command

    def function(self, command: str) -> Callable[..., Any]:
        *group, name = command.replace("-", "_").split()
        file = import_module(".".join([self.package, *(group or [name])]))
        for spelling in (name, f"{name}_"):
            found = getattr(file, spelling, None)
            if callable(found):
                return cast(Callable[..., Any], found)
        function: Callable[..., Any] = getattr(import_module(f"{file.__name__}.{name}"), name)
        return function


OWN: Final = CommandSet(
    package="gossamer.cli",
    names=(
        "serve",
        "mesh",
        "pub",
        "sub",
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
        "ctl loop",
        "ctl memory",
        "ctl backup",
        "ctl disconnect",
        "ctl mesh",
        "ctl mesh-forget",
        "ctl mesh-mode",
        "ctl mesh-choices",
        "ctl mesh-interests",
        "ctl mesh-windows",
        "ctl peer",
        "ctl place",
        "ctl places",
        "store check",
        "store repair",
        "store export",
        "archive info",
        "archive cat",
        "archive verify",
        "pipeline list",
        "pipeline run",
        "pipeline convert",
        "pipeline offload",
    ),
    groups={
        "migrate": "Migrate from another broker.",
        "models": "Install and check the models for image processing.",
        "store": "Check, repair and export the store of a broker.",
        "archive": "Inspect the messages that a broker has archived.",
        "pipeline": "Process archived messages with Spark.",
        "ctl": "Control a running broker.",
    },
)


_ANYTHING: Final = {"allow_extra_args": True, "ignore_unknown_options": True}


class _Absent(CommandSet):
    """Commands of a package that is not here: each says how to get it, whatever follows it."""

    def function(self, command: str) -> Callable[..., Any]:
        def absent() -> None:
            raise CommandError(
                f"{command} is part of {LAB}, which is not installed: {way_to_lab()}"
            )

        absent.__doc__ = f"(part of {LAB}, which is not installed)\n\nTo get it: {way_to_lab()}"
        return absent


def way_to_lab() -> str:
    """The line that installs the laboratory beside this package, from where this one came."""
    pip = f"{shlex.quote(sys.executable)} -m pip install"
    checkout = Path(gossamer.__file__).parents[2] / "packaging" / "lab"
    if (checkout / "pyproject.toml").is_file():
        return f"{pip} -e {shlex.quote(str(checkout))}"
    wanted = f"{LAB}=={gossamer.__version__}"
    return f"{pip} {wanted} (add --find-links FOLDER if the wheels are in a folder)"


def command_sets() -> list[CommandSet]:
    """The product's and the installed packages'; a package that does not load is not there."""
    sets = [OWN]
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            sets.append(entry.load())
        except (ImportError, AttributeError):
            continue
    there = {name.split()[0] for each in sets for name in each.names}
    absent = tuple(name for name in LAB_COMMANDS if name not in there)
    return [*sets, _Absent("", absent, context=_ANYTHING)] if absent else sets


def command_names(sets: Sequence[CommandSet]) -> list[str]:
    return [name for each in sets for name in each.names]


def wanted(arguments: Sequence[str]) -> list[CommandSet]:
    """Sets with the commands that these arguments can mean: one, a group, or (for help) all."""
    words = [word for word in arguments[:2] if not word.startswith("-")]
    # Who asks for a command of the product does not wait for the list of installed packages.
    if words and any(name.split()[0] == words[0] for name in OWN.names):
        sets = [OWN]
    else:
        sets = command_sets()
    for count in (2, 1):
        prefix = words[:count]
        if len(prefix) < count:
            continue
        for each in sets:
            names = tuple(name for name in each.names if name.split()[:count] == prefix)
            if names:
                return [replace(each, names=names)]
    return sets
