"""Reads mosquitto.conf into its parts: what is global, each listener, each bridge."""

from dataclasses import dataclass, field
from pathlib import Path

from gossamer.net.config.value_types import ConfigError
from gossamer.net.migration.mosquitto_keys import LISTENER_KEYS
from gossamer.net.migration.report import ReportLine, lines_of


@dataclass
class MosquittoSection:
    """A listener or a bridge: the line that began it, and those that follow."""

    head: ReportLine
    lines: list[ReportLine] = field(default_factory=list)


@dataclass
class MosquittoFile:
    """`default` is the listener that old files describe without a `listener` line."""

    general: list[ReportLine] = field(default_factory=list)
    default: list[ReportLine] = field(default_factory=list)
    listeners: list[MosquittoSection] = field(default_factory=list)
    bridges: list[MosquittoSection] = field(default_factory=list)


def read_mosquitto(path: Path) -> MosquittoFile:
    """The file, with those that it includes in their place."""
    found = MosquittoFile()
    for line in _lines(path, 0):
        _place(found, line)
    return found


def _lines(path: Path, depth: int) -> list[ReportLine]:
    lines: list[ReportLine] = []
    for line in lines_of(path):
        if line.key != "include_dir":
            lines.append(line)
            continue
        folder = Path(line.value)
        if depth:
            raise ConfigError(f"{line.place()}: include_dir within an included file")
        if not folder.is_dir():
            raise ConfigError(f"{line.place()}: there is no folder {folder}")
        for included in sorted(folder.glob("*.conf")):
            lines += _lines(included, depth + 1)
    return lines


def _place(found: MosquittoFile, line: ReportLine) -> None:
    """Settings of a listener or a bridge belong to the one that was named last."""
    if line.key == "listener":
        found.listeners.append(MosquittoSection(line))
    elif line.key == "connection":
        found.bridges.append(MosquittoSection(line))
    elif found.bridges and line.key not in LISTENER_KEYS and line.key.startswith(_BRIDGE):
        found.bridges[-1].lines.append(line)
    elif line.key in LISTENER_KEYS:
        (found.listeners[-1].lines if found.listeners else found.default).append(line)
    else:
        found.general.append(line)


# How the settings of a bridge begin; they follow its `connection` line.
_BRIDGE = (
    "address",
    "addresses",
    "bridge_",
    "cleansession",
    "clientid",
    "idle_timeout",
    "keepalive_interval",
    "local_",
    "notification",
    "remote_",
    "restart_timeout",
    "round_robin",
    "start_type",
    "threshold",
    "topic",
    "try_private",
    "password",
    "username",
)
