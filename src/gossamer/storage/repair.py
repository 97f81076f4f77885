"""Checks a store without changing what it holds, and repairs a damaged one.

A check looks at every page, every row and every reference. A repair writes what can be read into a
new file, and keeps the old one beside it.
"""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer.session.message_bytes import stored_bytes
from gossamer.session.queue import AWAY_MESSAGES
from gossamer.session.records import QUEUED, Snapshot
from gossamer.storage.files import DAMAGE, StoreDamaged, companions, open_existing, open_store
from gossamer.storage.index import Index
from gossamer.storage.journal import CollectingJournal
from gossamer.storage.load import whole
from gossamer.storage.salvage import opened_for_salvage, salvage
from gossamer.storage.writer import write

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
    loaded = whole(found.rows)
    problems = [*findings, *found.gaps, *loaded.problems]
    return CheckReport(contents_of(loaded.snapshot), problems)


def _integrity(connection: sqlite3.Connection) -> list[str]:
    try:
        rows = connection.execute(f"PRAGMA integrity_check({_MOST_FINDINGS})").fetchall()
    except DAMAGE as error:
        return [str(error)]
    return [line for (text,) in rows if text != "ok" for line in text.splitlines()]


@dataclass(frozen=True)
class RepairReport:
    contents: Contents  # of the mended store
    problems: list[str]  # what could not be saved
    kept: Path  # the damaged file


def repair(path: Path) -> RepairReport:
    """Replace the store by what can be read of it. Interrupted, it leaves the old one in place."""
    with opened_for_salvage(path) as connection:
        found = salvage(connection)
    loaded = whole(found.rows)
    mended = path.with_name(path.name + ".mended")
    for file in (mended, *companions(mended)):
        file.unlink(missing_ok=True)
    fill(mended, loaded.snapshot)
    kept = _set_aside(path)
    os.replace(mended, path)
    return RepairReport(contents_of(loaded.snapshot), [*found.gaps, *loaded.problems], kept)


def fill(path: Path, snapshot: Snapshot) -> None:
    """Make a new store that holds exactly the snapshot."""
    journal = CollectingJournal(Index())
    for session in snapshot.sessions:
        client_id = session.record.client_id
        journal.session_saved(session.record)
        for subscription in session.subscriptions:
            journal.subscription_saved(client_id, subscription)
        waiting = 0
        for delivery in session.deliveries:
            waiting += delivery.state == QUEUED
            # As the core has it: the head of a queue in memory, the rest of it in a lane.
            if waiting > AWAY_MESSAGES and delivery.message is not None:
                delivery.size = stored_bytes(delivery.message)
                journal.delivery_spilled(client_id, delivery)
            else:
                journal.delivery_queued(client_id, delivery)
        for packet_id in session.incoming:
            journal.incoming_added(client_id, packet_id)
    for message in snapshot.retained:
        journal.retained_saved(message, 0)
    for state, part, data in snapshot.operators:
        journal.operator_saved(state, part, data)
    for room, kept in snapshot.rooms.items():
        for key, value in kept.items():
            journal.keep(room, key, value)
    with closing(open_store(path)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        write(connection, journal.take())


def _set_aside(path: Path) -> Path:
    """Give the damaged file, and its log if SQLite left one, a second name that is not taken."""
    number = 1
    while (kept := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    os.link(path, kept)  # not renamed: a repair that is killed now has not lost the store
    for old, new in zip(companions(path), companions(kept), strict=True):
        if old.exists():
            old.rename(new)
    return kept
