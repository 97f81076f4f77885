"""Where a store lives, who may read it, how its file is opened, and what can be wrong with it.

The text of every error names the file and says what to do.
"""

import logging
import os
import sqlite3
import stat
import struct
from pathlib import Path
from typing import Final

from gossamer.storage.schema import APPLICATION, FORMAT, creation
from gossamer.storage.upgrade import upgrade

logger = logging.getLogger("gossamer.storage")

FILE_NAME: Final = "gossamer.db"

# SQLite's companions of a file in WAL mode.
COMPANIONS: Final = ("-wal", "-shm")

# SQLite's default, named because `salvage` relies on it.
PAGE_BYTES: Final = 4096

# How long to wait for the lock: a broker that was just killed may not have let go yet.
LOCK_SECONDS: Final = 5.0

# What a batch can need: eight tables, puts and deletes, nine sizes each.
CACHED_STATEMENTS: Final = 160

# What SQLite raises on damage; its messages quote the damaged file and may be no text themselves.
DAMAGE: Final = (sqlite3.DatabaseError, UnicodeDecodeError)

# In SQLite's file header: the user version and the application's identity, after 60 bytes and four
# between them.
_HEAD: Final = struct.Struct(">60xI4xI")

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class StoreError(Exception):
    """The store cannot be used; the text is for the operator."""


class StoreDamaged(StoreError):
    """The file does not hold what was written into it."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        self.path = path
        self.problems = problems
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(
            f"the store {path} is damaged: {problems[0]}{more}; check it with `gossamer store "
            "check`, "
            f"repair it with `gossamer store repair`, save what can be read with "
            f"`gossamer store export` (each with --data {path.parent})"
        )


class StoreInUse(StoreError):
    """Another process holds the file."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"the store {path} is in use by another process: stop it, "
            f"or give this one its own folder with --data"
        )


class StoreTooNew(StoreError):
    """Written by a later version; reading it with this one could lose state."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"the store {path} has format {found} and this version knows {known}; it is left as it "
            f"is: use a newer gossamer, restore what was saved before the upgrade, or name another "
            f"folder with --data"
        )


class ValuesTooNew(StoreError):
    """What a later version saved inside of a store whose format is known."""

    def __init__(self, path: Path, what: str, found: int, known: int) -> None:
        super().__init__(
            f"the store {path} has {what} of version {found} and this version knows {known}; it is "
            f"left as it is: use a newer gossamer, or restore what was saved before the upgrade"
        )


class StoreNotUpgraded(StoreError):
    """Of an earlier format, and the disk did not take what the present one needs."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"the store {path} is of an earlier version and could not be upgraded to this one "
            f"({why}): it is unchanged; free disk space and start again"
        )


class NotAStore(StoreError):
    """An SQLite file, but of another program."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is not a gossamer store: choose another folder with --data")


class NoStore(StoreError):
    """Nothing there to look at."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"there is no store at {path}: name its folder with --data")


def default_folder() -> Path:
    """`$XDG_DATA_HOME/gossamer`, or `~/.local/share/gossamer`."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "gossamer"


def make_private(path: Path) -> None:
    """Create the file readable by its owner only; take the rights of others away if it is there."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    for file in (path, *companions(path)):
        if not file.exists():
            continue
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & _OTHERS:
            logger.warning(
                "%s was readable by other users (mode %o): its mode has been corrected", file, mode
            )
            file.chmod(mode & ~_OTHERS)


def companions(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in COMPANIONS]


def open_store(path: Path) -> sqlite3.Connection:
    """Open for this process alone, creating the tables in an empty file, and bringing a file of an
    earlier format to the present one."""
    _refuse_newer(path)
    make_private(path)
    connection = _identified(path, create=True)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        upgrade(connection, version)
    except DAMAGE as error:
        connection.close()
        if isinstance(error, sqlite3.OperationalError):
            raise StoreNotUpgraded(path, str(error)) from error
        raise StoreDamaged(path, [str(error)]) from error
    except BaseException:
        connection.close()
        raise
    return connection


def open_existing(path: Path) -> sqlite3.Connection:
    """Open what must be there already, in whatever format this version knows."""
    if not path.exists():
        raise NoStore(path)
    _refuse_newer(path)
    return _identified(path, create=False)


def _refuse_newer(path: Path) -> None:
    """Before the file is opened to be written: whoever closes it copies its log into it."""
    found = _format_of(path)
    if found > FORMAT:
        raise StoreTooNew(path, found, FORMAT)


def _format_of(path: Path) -> int:
    """As far as it can be told without changing anything; 0 leaves it to those who open it."""
    log, index = companions(path)
    if not path.exists():
        return 0
    if not log.exists() or not log.stat().st_size:
        with path.open("rb") as file:
            head = file.read(_HEAD.size)
        version, application = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, 0)
        return int(version) if application == APPLICATION else 0
    is_new = not index.exists()  # then reading makes one, which is taken away again
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
    except DAMAGE:
        return 0
    finally:
        if connection is not None:
            connection.close()
        if is_new:
            index.unlink(missing_ok=True)
    return int(version) if application == APPLICATION else 0


def _identified(path: Path, create: bool) -> sqlite3.Connection:
    connection = connect(path)
    try:
        identify(connection, path, create)
    except BaseException:
        connection.close()
        raise
    return connection


def connect(path: Path) -> sqlite3.Connection:
    """A connection that locks the file against every other process, in WAL mode.

    Exclusive locking needs no shared memory file, and its lock dies with the process.
    """
    connection = sqlite3.connect(
        path,
        timeout=LOCK_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS,
    )
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        # Before WAL, which fixes it.
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode = WAL")
        # SQLite takes the lock with the first write: it is wanted now, and kept from then on.
        connection.execute("BEGIN IMMEDIATE").execute("COMMIT")
    except DAMAGE as error:
        connection.close()
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            raise StoreInUse(path) from error
        raise StoreDamaged(path, [str(error)]) from error
    return connection


def any_text(raw: bytes) -> str:
    """Text that is no UTF-8 must not stop the reading: the checksum of its row tells of it."""
    return raw.decode("utf-8", "surrogateescape")


def identify(connection: sqlite3.Connection, path: Path, create: bool) -> None:
    """Refuse a file of another program or of a later format; fill an empty one if asked to."""
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if create and tables == 0 and application == 0 and version == 0:
            connection.execute("BEGIN IMMEDIATE")
            for statement in creation():
                connection.execute(statement)
            connection.execute("COMMIT")
            return
    except DAMAGE as error:
        raise StoreDamaged(path, [str(error)]) from error
    if application != APPLICATION:
        raise NotAStore(path)
    if version > FORMAT:
        raise StoreTooNew(path, version, FORMAT)
