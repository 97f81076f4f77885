"""The benchmark's tables: ratios, empty columns, and files that can be read again."""

import json
from pathlib import Path

import pytest

from gossamer.cli import main
from gossamer_lab.bench import report
from gossamer_lab.bench.measurement import Measurement
from gossamer_lab.bench.peers import PeerBroker

FAST = Measurement(seconds=2.0, sent=400, delivered=400, broker_cpu_seconds=0.002)
SLOW = Measurement(seconds=2.0, sent=40, delivered=40, lost=3, broker_cpu_seconds=0.02)
BROKEN = Measurement(failure="it did not start")


def test_a_table_has_ratios_and_no_empty_columns() -> None:
    results = {"burst-1-1": {"gossamer": FAST, "slow": SLOW, "broken": BROKEN}}
    (table,) = report.tables(results)
    assert "p99 µs" not in table.columns
    by_name = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert by_name["gossamer"]["out/s"] == "200"
    assert by_name["gossamer"]["CPU µs"] == "5.00"
    assert by_name["slow"]["gossamer/it"] == "10.0×"
    assert by_name["slow"]["its CPU/ours"] == "100.0×"
    assert by_name["gossamer"]["its CPU/ours"] == ""
    assert by_name["slow"]["lost"] == "3"
    assert table.notes == ["broken: it did not start"]


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        (Measurement(p99_microseconds=50), Measurement(p99_microseconds=100), "0.50× (p99)"),
        (
            Measurement(bytes_per_connection=8),
            Measurement(bytes_per_connection=2),
            "4.0× (bytes)",
        ),
        (FAST, BROKEN, ""),
        (None, FAST, ""),
    ],
)
def test_ratio(own: Measurement | None, other: Measurement, expected: str) -> None:
    assert report.ratio(own, other) == expected


def test_what_is_saved_can_be_read_again(tmp_path: Path) -> None:
    results = {"burst-1-1": {"gossamer": FAST, "slow": SLOW}}
    as_json, as_markdown = report.save_brokers(
        results, [PeerBroker("gossamer", "1")], tmp_path / "new"
    )
    assert json.loads(as_json.read_text())["results"]["burst-1-1"]["slow"]["lost"] == 3
    assert "| slow | 20 | 20 |" in as_markdown.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--scenario", "zork"], "no scenario zork: choose from burst-1-1"),
        (["--peer", "zork"], "NAME=HOST:PORT"),
        (["--only", "zork"], "--only"),
    ],
)
def test_wrong_use(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["bench", "brokers", *arguments]) == 2
    assert words in capsys.readouterr().err
