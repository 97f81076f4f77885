"""A store that is being brought to the present format is killed at any statement, or has no room:
the next start finds all of it, in the one format or in the other."""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.storage.files import FILE_NAME, StoreError
from gossamer.storage.schema import FORMAT
from gossamer.storage.sqlite_store import SqliteStore
from tests.support.fixtures.process import HERE, environment
from tests.support.kept_fixtures import Fixture

# Opens a copy of a store again and again, each time in a process that dies without a word before a
# later statement, until one lives; prints how many statements each of them had.
OPENING = """
import os, shutil, sqlite3, sys
from pathlib import Path
from gossamer.storage import files

given, root, step = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
left = 0
done = 0

def count(statement):
    global done
    if done == left:
        os._exit(9)
    done += 1

connect = sqlite3.connect
def traced(*arguments, **more):
    connection = connect(*arguments, **more)
    connection.set_trace_callback(count)
    return connection

sqlite3.connect = traced
while True:
    folder = root / str(left)
    shutil.copytree(given, folder)
    child = os.fork()
    if child == 0:
        files.open_store(folder / files.FILE_NAME)
        os._exit(0)  # without closing: the log is left as it is
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, 9):
        sys.exit(f"{left}: {code}")
    print(left)
    if code == 0:
        break
    left += max(step, left // 3)
"""
# At least; those that move rows are many and alike, so the steps grow.
STEP = 3


def contents(folder: Path) -> dict[str, object]:
    """What a broker starts from."""
    store = SqliteStore(folder, "off")
    snapshot = store.snapshot
    found: dict[str, object] = {
        "sessions": sorted(
            (
                one.record.client_id,
                one.record.expiry,
                sorted(asked.filter for asked in one.subscriptions),
                [(sent.number, sent.qos, sent.packet_id, sent.state) for sent in one.deliveries],
                (one.spilled, one.spilled_bytes, one.last_number),
                sorted(one.incoming),
            )
            for one in snapshot.sessions
        ),
        "retained": sorted((one.topic, one.payload) for one in snapshot.retained),
        "operators": sorted(snapshot.operators),
        "rooms": {room: sorted(kept.items()) for room, kept in snapshot.rooms.items()},
    }
    store.close()
    return found


@pytest.mark.parametrize("part", ["broker", "mesh"])
def test_killed_again_and_again(fixture: Fixture, part: str, tmp_path: Path) -> None:
    given = fixture.unpack(part, tmp_path / "given")
    given = given if part == "broker" else given / "b" / "data"
    root = tmp_path / "killed"
    done = subprocess.run(
        [sys.executable, "-c", OPENING, str(given), str(root), str(STEP)],
        env=environment(HERE),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    *killed, lived = done.stdout.split()
    assert len(killed) > 6
    formats = {format_of(root / left / FILE_NAME) for left in killed}
    assert min(formats) < FORMAT
    expected = contents(root / lived)
    for left in killed:
        assert contents(root / left) == expected, f"killed before statement {left} of {lived}"


def format_of(path: Path) -> int:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    return int(version)


def test_a_store_that_finds_no_room(
    fixture: Fixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start is refused with the reason, and the next one has everything."""
    given = fixture.unpack("broker", tmp_path / "given")
    whole = tmp_path / "whole"
    shutil.copytree(given, whole)
    expected = contents(whole)
    connect = sqlite3.connect

    def narrow(*arguments: object, **more: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **more)  # type: ignore[call-overload]
        connection.execute("PRAGMA max_page_count = 1")  # as many as there are, and no more
        return connection

    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", narrow)
        with pytest.raises(StoreError, match="full"):
            SqliteStore(given)
    assert contents(given) == expected
