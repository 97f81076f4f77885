"""mosquitto.conf, its password and ACL files, as a configuration of ours and a report."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gossamer.net.auth.passwords import is_mosquitto_hash
from gossamer.net.config.loading import read_text
from gossamer.net.migration.acl import rules_of
from gossamer.net.migration.mosquitto_file import MosquittoFile, MosquittoSection, read_mosquitto
from gossamer.net.migration.mosquitto_keys import ADVICE, NUMBERS
from gossamer.net.migration.mosquitto_listeners import listener_of, take_other
from gossamer.net.migration.report import MigrationReport, ReportLine

PASSWORDS: Final = "passwords"
RULES: Final = "rules.toml"
# Mosquitto's 0 means no limit; ours have one, so it becomes the largest that may be said.
_UNLIMITED: Final = {"queue_messages": 10_000_000, "packet_size": 268_435_460, "inflight": 65_535}
_DAYS: Final = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_TRUE: Final = ("true", "1")


@dataclass
class Migrated:
    """`config` and `rules` are tables for TOML files; `passwords` the lines of the file."""

    config: dict[str, Any] = field(default_factory=dict)
    rules: list[dict[str, Any]] = field(default_factory=list)
    passwords: list[str] = field(default_factory=list)
    report: MigrationReport = field(default_factory=MigrationReport)


def migrate(path: Path) -> Migrated:
    """Everything that the file and those it names say. ValueError if no line is Mosquitto's."""
    done = Migrated()
    file = read_mosquitto(path)
    allows_anonymous = _take_general(done, file)
    _take_listeners(done, file, allows_anonymous)
    for bridge in file.bridges:
        _take_bridge(done, bridge)
    if done.report.is_all_unknown():
        raise ValueError("no line of it is a setting of mosquitto.conf")
    done.report.advice += ADVICE
    return done


def _take_general(done: Migrated, file: MosquittoFile) -> bool | None:
    """The settings of the whole broker; answers `allow_anonymous` if it is said."""
    anonymous: bool | None = None
    for line in file.general:
        key, value = line.key, line.value
        if key == "allow_anonymous":
            anonymous = value in _TRUE
            done.report.taken.append((line, "listener.anonymous"))
        elif key == "password_file":
            _take_passwords(done, line)
        elif key == "acl_file":
            done.rules += rules_of(Path(value), done.report)
            _set(done, line, "permissions", "file", RULES)
        elif key == "persistence":
            _set(done, line, "store", "kind", "disk" if value in _TRUE else "memory")
        elif key == "persistence_location":
            _set(done, line, "store", "folder", str(Path(value) / "gossamer"))
        elif key == "persistent_client_expiration":
            _set(done, line, "limits", "session_expiry", _seconds(value))
        elif key in NUMBERS:
            section, name = NUMBERS[key]
            number = int(value) or _UNLIMITED.get(name, 0)
            _set(done, line, section, name, number)
        elif key == "per_listener_settings":
            said = "one set of users and rules" if value not in _TRUE else ""
            (done.report.needless if said else done.report.missing).append(
                (line, said or "logins and rules are the broker's; listener.auth chooses ways")
            )
        else:
            take_other(line, done.report)
    return anonymous


def _take_passwords(done: Migrated, line: ReportLine) -> None:
    for number, text in enumerate(read_text(Path(line.value)).splitlines(), 1):
        user, _, entry = text.strip().partition(":")
        if user and is_mosquitto_hash(entry):
            done.passwords.append(text.strip())
        elif user:
            place = ReportLine(Path(line.value), number, user, "")
            way = "its hash is not mosquitto 2's: set it with gossamer passwd"
            done.report.missing.append((place, way))
    _set(done, line, "auth", "password_file", PASSWORDS)


def _take_listeners(done: Migrated, file: MosquittoFile, anonymous: bool | None) -> None:
    sections = list(file.listeners)
    named = [line for line in file.default if line.key == "port"]
    if named or not sections:
        # An old file's one listener, or none at all: then mosquitto serves this machine only.
        head = (
            named[0]
            if named
            else ReportLine(Path("mosquitto.conf"), 0, "listener", "1883 127.0.0.1")
        )
        head = ReportLine(head.file, head.number, "listener", head.value)
        rest = [line for line in file.default if line.key != "port"]
        sections.insert(0, MosquittoSection(head, rest))
        if not named and anonymous is None:
            anonymous = True
    else:
        for line in file.default:
            take_other(line, done.report)
    for section in sections:
        done.config.setdefault("listener", []).append(
            listener_of(section, bool(anonymous), done.report)
        )


def _take_bridge(done: Migrated, bridge: MosquittoSection) -> None:
    way = "a mesh link or a bridge: docs/mesh.md, docs/bridges.md"
    done.report.missing.append((bridge.head, way))
    done.report.missing += [
        (line, f"belongs to the bridge {bridge.head.value}") for line in bridge.lines
    ]


def _set(done: Migrated, line: ReportLine, section: str, key: str, value: object) -> None:
    done.config.setdefault(section, {})[key] = value
    done.report.taken.append((line, f"{section}.{key} = {value}"))


def _seconds(value: str) -> int:
    """Mosquitto's `14d`, `2m` and the like."""
    return int(float(value[:-1]) * _DAYS[value[-1]] * 86_400)
