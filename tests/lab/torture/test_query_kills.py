"""A short torture of a stream on Spark: everybody is killed once, and every row is there once."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from gossamer.spark.java import NoJava
from gossamer_lab.torture.spark.query_kills import (
    VICTIMS,
    ArchivePublisher,
    Row,
    torture,
    wrong_rows,
)

# Four Java machines start one after the other; a busy computer takes a minute for each.
LONGEST_SECONDS = 1_800


@pytest.mark.processes
@pytest.mark.timeout(LONGEST_SECONDS)
def test_everybody_is_killed_once_and_every_row_is_there_once(tmp_path: Path) -> None:
    killed: list[str] = []
    try:
        outcome = asyncio.run(torture(len(VICTIMS), 3, tmp_path, killed.append))
    except NoJava as problem:
        pytest.skip(str(problem))
    assert outcome.faults == []
    assert sorted(killed) == sorted(VICTIMS)
    assert outcome.kills == dict.fromkeys(VICTIMS, 1)
    assert 0 < outcome.acknowledged <= outcome.rows


def publisher() -> ArchivePublisher:
    """Of five messages sent, three were acknowledged."""
    one = ArchivePublisher("mqtt://127.0.0.1", "p")
    one.sent = 5
    one.acknowledged = {b"p:0", b"p:1", b"p:3"}
    return one


GOOD: list[Row] = [(0, b"p:0"), (1, b"p:1"), (2, b"p:3"), (3, b"p:4")]

WRONG = {
    "a message is lost": (
        [*GOOD[:2], GOOD[3]],
        3,
        [
            "1 rows of the archive are missing, the first is 2",
            "1 acknowledged messages are missing, such as b'p:3'",
        ],
    ),
    "a row is written twice": (
        [*GOOD, GOOD[0]],
        4,
        ["offset 0 is there 2 times", "b'p:0' is there 2 times"],
    ),
    "a row comes from nowhere": (
        [*GOOD, (4, b"p:9")],
        5,
        ["b'p:9' was never published"],
    ),
    "the archive has more": (GOOD, 6, ["2 rows of the archive are missing, the first is 4"]),
}


def test_nothing_is_wrong() -> None:
    assert wrong_rows(GOOD, 4, [publisher()]) == []


@pytest.mark.parametrize(("rows", "archived", "said"), WRONG.values(), ids=WRONG)
def test_every_fault_is_named(rows: list[Row], archived: int, said: list[str]) -> None:
    assert wrong_rows(rows, archived, [publisher()]) == said
