"""Any history of an archive against a plain list of rows: nothing lost, nothing twice, nothing
changed."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gossamer.archive.archive import Archive
from gossamer.topics.names import matches
from gossamer.wire.properties import Properties
from tests.support.archives import Row, keep_up, read, settings, write

TOPICS = ("a", "a/b", "a/c", "b/b/b", "$x/a")
FILTERS = ("#", "a/#", "+/b", "a/c", "b/#", "$x/+")


def _with_content(text: str) -> Properties:
    properties = Properties()
    properties.content_type = text
    properties.user = [("n", text)]
    return properties


@st.composite
def rows(draw: st.DrawFn) -> Row:
    row = Row(
        topic=draw(st.sampled_from(TOPICS)),
        payload=draw(st.binary(max_size=20)),
        qos=draw(st.integers(0, 2)),
        retain=draw(st.booleans()),
        time=draw(st.integers(1, 9)) * 1_000_000,
        publisher=draw(st.sampled_from(("p", "q"))),
        user=draw(st.sampled_from(("", "ann"))),
    )
    if draw(st.booleans()):
        text = draw(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=5))
        row.properties = _with_content(text)
        row.shown = {"content_type": text, "user_properties": [("n", text)]}
    return row


ACTIONS: st.SearchStrategy[tuple[str, list[Row]]] = st.one_of(
    st.tuples(st.just("write"), st.lists(rows(), min_size=1, max_size=6)),
    st.tuples(st.just("lose"), st.lists(rows(), min_size=1, max_size=3)),
    st.tuples(st.sampled_from(("seal", "roll", "reopen")), st.just([])),
    st.tuples(st.just("forget"), st.just([])),
)
QUESTIONS = st.tuples(
    st.integers(0, 30),
    st.integers(0, 30),
    st.lists(st.sampled_from(FILTERS), min_size=1, max_size=2),
    st.integers(0, 10),
    st.integers(0, 10),
)


class History:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive = Archive(settings(folder))
        self.rows: list[Row] = []  # by offset
        self.earliest = 0

    def act(self, action: str, given: list[Row]) -> None:
        if action == "write":
            write(self.archive, given, is_joint=len(given) % 2 == 0)
            self.rows += given
        elif action == "lose":
            self._crash_while_writing(given)
        elif action == "seal":
            keep_up(self.archive)
        elif action == "roll":
            self.archive.roll(is_forced=True)
        elif action == "reopen":
            self._reopen()
        else:
            self._forget()

    def _crash_while_writing(self, given: list[Row]) -> None:
        """The log has the transaction, and the store does not: it never was."""
        for row in given:
            row.collect(self.archive.collector)
        log = self.archive.catalog.current
        log.append(self.archive.collector.take(), is_joint=True)
        self._reopen()

    def _reopen(self) -> None:
        self.archive.close()
        self.archive = Archive(settings(self.folder), len(self.rows))

    def _forget(self) -> None:
        """Everything complete is old enough to go."""
        self.archive.roll(is_forced=True)
        self.archive.close()
        strict = settings(self.folder, retention_seconds=1.0)
        self.archive = Archive(strict, len(self.rows))
        keep_up(self.archive, roll=False)
        self.earliest = len(self.rows)
        self._reopen()

    def expected(self) -> list[dict[str, Any]]:
        return [self.rows[offset].seen(offset) for offset in range(self.earliest, len(self.rows))]


@given(st.lists(ACTIONS, max_size=12), st.lists(QUESTIONS, max_size=4))
def test_an_archive_is_a_list_of_rows(
    actions: list[tuple[str, list[Row]]],
    questions: list[tuple[int, int, list[str], int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder))
        for action, rows in actions:
            history.act(action, rows)
            assert history.archive.next == len(history.rows)
        archive = history.archive
        assert archive.catalog.earliest == history.earliest
        assert read(archive) == history.expected()
        for start, length, filters, since, until in questions:
            first = min(history.earliest + start, len(history.rows))
            wanted = [
                row
                for row in history.expected()
                if first <= row["offset"] < first + length
                and since * 1_000_000 <= row["time"] < until * 1_000_000
                and any(matches(filter, row["topic"]) for filter in filters)
            ]
            found = read(
                archive,
                filters,
                first,
                first + length,
                start_time=since * 1_000_000,
                end_time=until * 1_000_000,
            )
            assert found == wanted
            later = [r["offset"] for r in history.expected() if r["time"] >= since * 1_000_000]
            assert archive.reader.locate(since * 1_000_000) == min(later, default=archive.next)
        archive.close()
