"""Looks at a store without changing what it holds: every page, every row, every reference."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer.session.records import Snapshot
from gossamer.storage.files import DAMAGE, StoreDamaged, open_existing
from gossamer.storage.load import load
from gossamer.storage.salvage import salvage

# Findings of SQLite's own check to list; the first few tell the story.
_MOST_FINDINGS: Final = 100


@dataclass(frozen=True)
class Contents:
    """How much a store holds."""

    sessions: int
    subscriptions: int
    deliveries: int
    incoming: int
    retained: int
    kept: int  # by rooms, for themselves


@dataclass(frozen=True)
class CheckReport:
    contents: Contents
    problems: list[str]


def contents_of(snapshot: Snapshot) -> Contents:
    return Contents(
        len(snapshot.sessions),
        sum(len(session.subscriptions) for session in snapshot.sessions),
        sum(len(session.deliveries) for session in snapshot.sessions),
        sum(len(session.incoming) for session in snapshot.sessions),
        len(snapshot.retained),
        sum(len(kept) for kept in snapshot.rooms.values()),
    )


def check(path: Path) -> CheckReport:
    """What the store holds and what is wrong with it; raises if it is absent or in use."""
    try:
        connection = open_existing(path)
    except StoreDamaged as damage:
        return CheckReport(contents_of(Snapshot()), damage.problems)
    with closing(connection):
        findings = _integrity(connection)
        found = salvage(connection)
    loaded = load(found.rows)
    problems = [*findings, *found.gaps, *loaded.problems]
    return CheckReport(contents_of(loaded.snapshot), problems)


def _integrity(connection: sqlite3.Connection) -> list[str]:
    try:
        rows = connection.execute(f"PRAGMA integrity_check({_MOST_FINDINGS})").fetchall()
    except DAMAGE as error:
        return [str(error)]
    return [line for (text,) in rows if text != "ok" for line in text.splitlines()]
