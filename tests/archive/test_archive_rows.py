"""What is put into an archive comes out again: every column, live and sealed, whole or selected."""

from pathlib import Path
from typing import Any

import pytest

from gossamer.archive.archive import Archive
from gossamer.archive.folder import RowsLost
from gossamer.archive.sealed_segment import SealedSegment
from gossamer.archive.selection import Selection
from gossamer.topics.names import matches
from gossamer.wire.properties import Properties
from tests.support.archives import Row, keep_up, read, settings, write


def with_properties(**fields: Any) -> Properties:
    properties = Properties()
    for name, value in fields.items():
        setattr(properties, name, value)
    return properties


ROWS = [
    Row(),
    Row(),  # the same run
    Row(topic="a/b/c", payload=b"", qos=0, retain=True, time=2_000_000),
    Row(topic="ä/€", payload=bytes(range(256)), qos=2, publisher="ß", user="ann"),
    Row(publisher="", user=""),
    Row(
        properties=with_properties(
            content_type="text/plain",
            payload_format=1,
            response_topic="r/t",
            correlation_data=b"\0\1",
            message_expiry=3600,
            user=[("k", "1"), ("gossamer-stamp", "l;1;b"), ("k", "2"), ("é", "")],
        ),
        shown={
            "content_type": "text/plain",
            "format_indicator": 1,
            "response_topic": "r/t",
            "correlation_data": b"\0\1",
            "expiry": 3600,
            "user_properties": [("k", "2"), ("é", "")],
        },
    ),
    Row(
        properties=with_properties(user=[("gpl_current_pos", "45.5;9.25"), ("gpl_x", "ö")]),
        shown={
            "lat": 45.5,
            "lon": 9.25,
            "glp": '[["gpl_current_pos", "45.5;9.25"], ["gpl_x", "ö"]]',
        },
    ),
    Row(
        properties=with_properties(user=[("gpl_current_pos", "north")]),
        shown={"glp": '[["gpl_current_pos", "north"]]'},
    ),
    Row(properties=with_properties(content_type=""), shown={"content_type": ""}),
    Row(topic="a/b", time=3_000_000),
]


@pytest.fixture(params=["live", "sealed", "both"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The rows above in one log, in one sealed file, or half and half."""
    archive = Archive(settings(tmp_path))
    half = len(ROWS) // 2
    write(archive, ROWS[:half])
    if request.param == "both":
        keep_up(archive)
    write(archive, ROWS[half:])
    if request.param == "sealed":
        keep_up(archive)
    kinds = {type(segment) for segment in archive.catalog.segments if segment.end > segment.first}
    assert (SealedSegment in kinds) == (request.param != "live")
    yield archive
    archive.close()


def expected(**wanted: Any) -> list[dict[str, Any]]:
    return [row.seen(offset) for offset, row in enumerate(ROWS)]


def test_every_column_comes_back(archive: Archive) -> None:
    assert read(archive) == expected()


@pytest.mark.parametrize("start", range(len(ROWS) + 1))
@pytest.mark.parametrize("length", [0, 1, 3, 100])
def test_a_range_of_offsets(archive: Archive, start: int, length: int) -> None:
    assert read(archive, start=start, end=start + length) == expected()[start : start + length]


@pytest.mark.parametrize("filter", ["#", "a/#", "a/+", "a/b", "+/€", "a/b/c", "x/#", "+/+/+"])
def test_a_filter(archive: Archive, filter: str) -> None:
    wanted = [row for row in expected() if matches(filter, row["topic"])]
    assert read(archive, [filter]) == wanted
    assert read(archive, [filter, "ä/#"]) == [
        row for row in expected() if row in wanted or row["topic"].startswith("ä")
    ]


def test_topics_that_a_reader_may_not_see(archive: Archive) -> None:
    found = read(archive, ["#"], allows=lambda topic: topic != "a/b")
    assert found == [row for row in expected() if row["topic"] != "a/b"]


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, 2_000_000), (1_000_001, 3_000_000), (2_000_000, 2_000_001), (4_000_000, 9)],
)
def test_a_range_of_times(archive: Archive, start: int, end: int) -> None:
    wanted = [row for row in expected() if start <= row["time"] < end]
    assert read(archive, start_time=start, end_time=end) == wanted


@pytest.mark.parametrize(
    "columns",
    [["payload"], ["topic", "offset"], ["lat", "user_properties"], ["broker", "user"], []],
)
def test_only_the_columns_asked_for(archive: Archive, columns: list[str]) -> None:
    wanted = columns or ["offset"]
    assert read(archive, ["a/#"], columns=columns, start_time=1) == [
        {name: row[name] for name in row if name in wanted}
        for row in expected()
        if row["topic"].startswith("a/")
    ]


def test_where_a_time_begins(archive: Archive) -> None:
    for time in (0, 1_000_000, 1_000_001, 2_000_000, 2_000_001, 3_000_000, 3_000_001):
        later = [row["offset"] for row in expected() if row["time"] >= time]
        assert archive.reader.locate(time) == min(later, default=len(ROWS))


def test_it_describes_itself(archive: Archive) -> None:
    told = archive.reader.describe()
    assert (told["broker"], told["earliest"], told["next"]) == ("b1", 0, len(ROWS))
    assert sum(segment["rows"] for segment in told["segments"]) == len(ROWS)
    assert min(segment["min_time"] for segment in told["segments"]) == 1_000_000
    assert max(segment["max_time"] for segment in told["segments"]) == 3_000_000
    assert all(segment["bytes"] > 0 for segment in told["segments"])


def test_a_run_of_packets_is_rows(tmp_path: Path) -> None:
    archive = Archive(settings(tmp_path))
    data = b"..HEADaaHEADbbHEADcc.."
    assert archive.collector.append_run(b"t", data, 2, 4, 6, 20, 0, "p", "u", 1.0)
    assert archive.collector.append(b"t", b"d", 0, "p", "u", 1.0)
    assert archive.collector.archived == 4
    write(archive, [])
    rows = read(archive, columns=["payload", "topic", "publisher", "user", "qos"])
    assert [row["payload"] for row in rows] == [b"aa", b"bb", b"cc", b"d"]
    assert {(row["topic"], row["publisher"], row["user"], row["qos"]) for row in rows} == {
        ("t", "p", "u", 0)
    }
    archive.close()


def test_publishers_are_left_out_where_they_are_not_kept(tmp_path: Path) -> None:
    archive = Archive(settings(tmp_path))
    archive.collector.keeps_publishers = False
    write(archive, [Row(publisher="c", user="ann"), Row(publisher="d", user="bob")])
    assert read(archive, columns=["publisher", "user"]) == [{"publisher": None, "user": None}] * 2
    archive.close()


def test_whole_files_are_skipped_by_what_their_footers_say(tmp_path: Path) -> None:
    archive = Archive(settings(tmp_path))
    for number in range(3):
        write(archive, [Row(topic=f"t/{number}", time=number * 1_000_000 + 1)])
        keep_up(archive)
    segments = [one for one in archive.catalog.segments if isinstance(one, SealedSegment)]
    by_topic, by_time = Selection(["t/1"]), Selection(start_time=2_000_000)
    assert [segment.may_have(by_topic) for segment in segments] == [False, True, False]
    assert [segment.may_have(by_time) for segment in segments] == [False, False, True]
    assert [len(segment.row_groups(by_topic)) for segment in segments] == [0, 1, 0]
    assert [len(segment.row_groups(Selection(end=1))) for segment in segments] == [1, 0, 0]
    archive.close()


@pytest.mark.parametrize("filter", ["#", "a/#", "a/+/c", "+/b", "a/b", "a"])
@pytest.mark.parametrize("topic", ["a", "a/b", "a/b/c", "b/b", "ab", "a/\U0010ffff/c"])
def test_no_topic_of_a_filter_is_skipped(filter: str, topic: str) -> None:
    wanted = Selection([filter])
    if matches(filter, topic):
        assert wanted.may_want(topic, topic)
        assert wanted.may_want("", topic)
        assert wanted.may_want(topic, topic + "z")


@pytest.mark.parametrize(
    ("filter", "first", "last"),
    [("a/#", "b", "c"), ("b/+", "a", "b"), ("b", "c", "d"), ("b", "a", "az"), ("a/+/c", "a0", "b")],
)
def test_topics_in_between_cannot_be_of_the_filter(filter: str, first: str, last: str) -> None:
    assert not Selection([filter]).may_want(first, last)


def test_offsets_that_are_gone_are_an_error(tmp_path: Path) -> None:
    archive = Archive(settings(tmp_path, retention_bytes=1))
    for _ in range(3):
        write(archive, [Row(), Row()])
        archive.roll(is_forced=True)
    keep_up(archive, roll=False)
    assert archive.catalog.earliest == archive.next == 6
    with pytest.raises(RowsLost, match="0 to 3"):
        archive.reader.check(0, 4)
    with pytest.raises(RowsLost, match="2 to 5"):
        read(archive, start=2)
    archive.close()
