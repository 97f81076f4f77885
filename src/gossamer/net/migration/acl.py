"""Mosquitto's ACL file as rules: same users, same topics, same directions."""

from pathlib import Path
from typing import Any, Final

from gossamer.net.migration.report import MigrationReport, ReportLine, lines_of

_ACCESS: Final = {
    "read": ("subscribe",),
    "write": ("publish",),
    "readwrite": ("subscribe", "publish"),
    "deny": ("deny_subscribe", "deny_publish"),
}
_NOBODY: Final = ""  # the user name of a client without one


def rules_of(path: Path, report: MigrationReport) -> list[dict[str, Any]]:
    """The tables of a rule file. `topic` before any `user` speaks of clients without a name,
    `pattern` of everyone."""
    by_user: dict[str | None, dict[str, Any]] = {}
    user: str | None = _NOBODY
    for line in lines_of(path):
        if line.key == "user":
            user = line.value
            report.taken.append((line, "rules of its own"))
        elif line.key in ("topic", "pattern"):
            whom = None if line.key == "pattern" else user
            _add(by_user.setdefault(whom, _rule_for(whom)), line, report)
        else:
            report.missing.append((line, "unknown line; it was left out"))
    return list(by_user.values())


def _rule_for(user: str | None) -> dict[str, Any]:
    return {} if user is None else {"users": [user]}


def _add(rule: dict[str, Any], line: ReportLine, report: MigrationReport) -> None:
    first, _, rest = line.value.partition(" ")
    access, topic = (
        (first, rest.strip()) if first in _ACCESS and rest else ("readwrite", line.value)
    )
    for key in _ACCESS[access]:
        rule.setdefault(key, []).append(topic)
    report.taken.append((line, " and ".join(_ACCESS[access])))
