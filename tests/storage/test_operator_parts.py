"""Parts of operators' states in a store: asked for once, kept, replaced, dropped, mended."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.session.journal import Part, PartSource
from gossamer.storage.export import export
from gossamer.storage.files import FILE_NAME
from gossamer.storage.repair import repair
from gossamer.storage.sqlite_store import SqliteStore
from tests.support.stores import MemoryUnderTest, SqliteUnderTest


class Changes(PartSource):
    def __init__(self) -> None:
        self.changed: list[Part] = []
        self.dropped: list[str] = []
        self.asked = 0

    def take_changed(self) -> list[Part]:
        self.asked += 1
        taken, self.changed = self.changed, []
        return taken

    def take_dropped(self) -> list[str]:
        taken, self.dropped = self.dropped, []
        return taken


@pytest.fixture(params=[MemoryUnderTest, SqliteUnderTest])
def store(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[MemoryUnderTest | SqliteUnderTest]:
    made = request.param(tmp_path)
    yield made
    made.close()


def commit(
    store: MemoryUnderTest | SqliteUnderTest, changed: list[Part], dropped: list[str]
) -> None:
    changes = Changes()
    changes.changed, changes.dropped = changed, dropped
    store.journal.parts = changes
    store.journal.dirty = True
    store.commit()
    assert changes.asked == 1


def test_parts_are_kept_replaced_and_dropped(store: MemoryUnderTest | SqliteUnderTest) -> None:
    commit(store, [("a", "x", b"1"), ("a", "y", b"2"), ("b", "", b"3")], [])
    assert sorted(store.reopen().operators) == [
        ("a", "x", b"1"),
        ("a", "y", b"2"),
        ("b", "", b"3"),
    ]
    commit(store, [("a", "x", b"4"), ("a", "y", None), ("a", "never", None)], ["b", "unknown"])
    commit(store, [("a", "z", b"5")], [])
    assert sorted(store.reopen().operators) == [("a", "x", b"4"), ("a", "z", b"5")]
    commit(store, [("a", "x", b"6")], ["a"])
    assert store.reopen().operators == [("a", "x", b"6")]


def test_what_is_not_committed_is_lost(store: MemoryUnderTest | SqliteUnderTest) -> None:
    commit(store, [("a", "x", b"1")], [])
    store.journal.operator_saved("a", "x", b"2")
    assert store.reopen().operators == [("a", "x", b"1")]


def test_repair_and_export_know_them(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, "off")
    store.journal.operator_saved("skr 0.0 $AVG/+", "a", b"[1]")
    store.close()
    path = tmp_path / FILE_NAME
    repair(path)
    written = io.StringIO()
    assert export(path, written) == []
    line = {"kind": "operator", "state": "skr 0.0 $AVG/+", "part": "a", "data": "[1]"}
    assert [json.loads(text) for text in written.getvalue().splitlines()] == [line]
