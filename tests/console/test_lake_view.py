"""A pipeline's lake as the console reads it, and what it makes of damaged or vanished files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gossamer.console.lake import LakeFolder
from tests.support.lakes import NEWEST, fill_lake


def test_tables_and_batches(tmp_path: Path) -> None:
    fill_lake(tmp_path)
    view = LakeFolder(tmp_path).look()
    assert [(table.name, table.rows, len(table.files)) for table in view.tables] == [
        ("batches", 3, 3),
        ("gold/minute", 2, 1),
        ("silver/readings", 30, 3),
    ]
    assert [(batch.number, batch.messages) for batch in view.batches] == [(0, 10), (1, 10), (2, 10)]
    assert view.batches[-1].newest == NEWEST.timestamp()
    assert view.lag is not None


def test_rows_can_be_shown(tmp_path: Path) -> None:
    fill_lake(tmp_path)
    lake = LakeFolder(tmp_path)
    table = next(one for one in lake.look().tables if one.name == "gold/minute")
    columns, rows = lake.rows(table)
    assert columns == ["topic", "start", "avg", "payload", "hour"]
    assert rows[0]["topic"] == "city/0/temp"
    assert (rows[0]["avg"], rows[1]["avg"]) == (21.5, "nan")
    assert rows[0]["start"] == "2031-05-24 15:36:25+00:00"
    assert rows[0]["payload"] == "1,000 bytes"


def test_aggregates_make_lines(tmp_path: Path) -> None:
    fill_lake(tmp_path)
    lake = LakeFolder(tmp_path)
    tables = {table.name: table for table in lake.look().tables}
    assert lake.series(tables["gold/minute"]) == {"city/0/temp": [(NEWEST.timestamp(), 21.5)]}
    assert lake.series(tables["silver/readings"]) == {}


def test_what_is_no_table_is_left_out(tmp_path: Path) -> None:
    fill_lake(tmp_path)
    (tmp_path / "_checkpoints").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "_checkpoints" / "state.parquet")
    damaged = tmp_path / "gold" / "hour" / "_delta_log" / f"{0:020}.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("no log")
    view = LakeFolder(tmp_path).look()
    assert [table.name for table in view.tables] == ["batches", "gold/minute", "silver/readings"]


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    fill_lake(tmp_path)
    lake = LakeFolder(tmp_path)
    table = next(one for one in lake.look().tables if one.name == "gold/minute")
    table.files[0].unlink()
    assert lake.rows(table) == ([], [])


@pytest.mark.parametrize("folder", ["nothing", "empty"])
def test_an_empty_lake(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    view = LakeFolder(tmp_path / folder).look()
    assert (view.tables, view.batches, view.lag) == ((), (), None)
