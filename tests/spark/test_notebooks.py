"""The notebooks of the guides, cell by cell, on the archive of a real broker."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.spark.overview import archives
from tests.support.archive_brokers import archiving, endpoint, publish

pytest.importorskip("pyspark")
pytest.importorskip("matplotlib")

from gossamer.spark.source.archives import SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
# What each leaves behind: an expression of its last cells.
FOUND = {
    "first-look": ("sorted(found['topic'])", ["room/1/temp", "room/2/temp", "van/1"]),
    "geofences": ("[(row.fence, row.positions) for row in stays.collect()]", [("yard", 2)]),
    "windows": ("day['count'].tolist()", [2.0, 1.0]),
}


def test_every_notebook_is_run() -> None:
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == sorted(FOUND)


@pytest.mark.parametrize("name", FOUND)
def test_a_notebook(
    spark: "SparkSession", name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text())["cells"]
    known: dict[str, Any] = {}
    with archiving(tmp_path, "b1") as broker:
        publish(broker, [("room/1/temp", b"21"), ("room/1/temp", b"23"), ("room/2/temp", b"30")])
        for longitude in (9.5, 10.5, 10.6, 11.5):
            publish(broker, [("van/1", b"")], {"gpl_current_pos": f"43.5;{longitude}"})
        monkeypatch.setenv("GOSSAMER_BROKERS", endpoint(broker))
        for cell in cells:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), known)
        expression, wanted = FOUND[name]
        assert eval(expression, known) == wanted


def test_archives_are_shown(tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as broker:
        publish(broker, [("a", b"1"), ("a", b"2")])
        shown = archives(endpoint(broker))
        assert "<td>b1</td>" in shown._repr_html_()
        assert repr(shown).splitlines()[0].split() == [
            "broker",
            "address",
            "earliest",
            "next",
            "rows",
        ]
        assert repr(shown).splitlines()[1].split() == ["b1", endpoint(broker), "0", "2", "2"]
    with pytest.raises(ValueError, match="unknown option"):
        archives("127.0.0.1:1", colour="red")
    with pytest.raises(SourceError, match="no archive at"):
        archives("127.0.0.1:1", retrySeconds="0")
