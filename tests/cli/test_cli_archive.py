"""`gossamer archive`: info, cat, verify and repair of files without a broker."""

import json
import random
from pathlib import Path

import pytest

from gossamer.archive.archive import Archive
from gossamer.archive.folder import ArchiveDamaged
from gossamer.archive.log import log_name
from gossamer.archive.sealed_segment import sealed_name
from gossamer.cli.main import run
from gossamer.wire.properties import Properties
from tests.support.archives import BROKER, Row, keep_up, read, settings, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rows 0 and 1 sealed, 2 to 5 in a log of four transactions."""
    properties = Properties()
    properties.user = [("k", "v")]
    archive = Archive(settings(tmp_path))
    noise = random.Random(8).randbytes(20_000)  # most of the sealed file
    write(archive, [Row("a", b"0"), Row("b", b"\xff" + noise, properties=properties)])
    keep_up(archive)
    for number in range(2, 6):
        write(archive, [Row("a", b"%d" % number)])
    archive.close()
    return tmp_path


def damage(path: Path, share: float) -> None:
    data = bytearray(path.read_bytes())
    data[int(len(data) * share)] ^= 0x55
    path.write_bytes(data)


def test_info(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["archive", "info", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "b1: offsets 0 to 5"
    assert lines[1].startswith("  0-1  sealed  2 rows")
    assert lines[2].startswith("  2-5  log  4 rows")
    assert lines[2].endswith("1970-01-01T00:00:01.000+00:00 to 1970-01-01T00:00:01.000+00:00")


def test_the_data_folder_of_a_broker_will_do(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path_factory.mktemp("data")
    folder.rename(data / "archive")
    assert run(["archive", "info", str(data)]) == 0
    assert capsys.readouterr().out.startswith("b1: offsets 0 to 5")


def test_cat(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["archive", "cat", str(folder)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["offset"] for row in rows] == [0, 1, 2, 3, 4, 5]
    assert rows[0]["payload"] == "0"
    assert rows[1]["payload_base64"].startswith("/")
    assert rows[1]["user_properties"] == {"k": "v"}
    assert "content_type" not in rows[0]
    one = str(folder / BROKER)
    assert run(["archive", "cat", one, "-f", "a", "--start", "1", "--end", "5", "-n", "2"]) == 0
    found = [json.loads(line)["offset"] for line in capsys.readouterr().out.splitlines()]
    assert found == [2, 3]


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["archive", "info", str(tmp_path)]) == 1
    assert "there is no archive in" in capsys.readouterr().err
    assert run(["archive", "cat", str(tmp_path), "-f", "a/#/b"]) == 2


def test_what_is_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["archive", "verify", str(folder)]) == 0
    assert capsys.readouterr().out == "no problems found\n"


def test_a_damaged_log_is_found_and_mended(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = folder / BROKER / log_name(2)
    damage(log, 0.4)
    with pytest.raises(ArchiveDamaged):
        Archive(settings(folder))
    assert run(["archive", "verify", str(folder)]) == 1
    assert "damaged in the middle, after offset 2" in capsys.readouterr().err
    assert run(["archive", "verify", "--repair", str(folder)]) == 1
    captured = capsys.readouterr()
    assert "3 rows of it were saved" in captured.out
    assert "ends before offset 3, and the next segment begins with 4" in captured.err
    archive = Archive(settings(folder))
    assert [row["offset"] for row in read(archive, end=3)] == [0, 1, 2]
    assert [row["offset"] for row in read(archive, start=4)] == [4, 5]
    assert archive.next == 6
    archive.close()


def test_a_log_without_its_header_is_mended(folder: Path) -> None:
    damage(folder / BROKER / log_name(2), 0.02)
    assert run(["archive", "verify", "--repair", str(folder)]) == 0
    archive = Archive(settings(folder))
    assert len(read(archive)) == 6
    archive.close()


@pytest.mark.parametrize("share", [0.3, 0.6, 0.999])
def test_a_damaged_sealed_file_is_set_aside(
    folder: Path, share: float, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed = folder / BROKER / sealed_name(0, 1)
    damage(sealed, share)
    assert run(["archive", "verify", str(folder)]) == 1
    assert sealed.name in capsys.readouterr().err
    assert run(["archive", "verify", "--repair", str(folder)]) == 0
    assert "the offsets 0 to 1 are lost" in capsys.readouterr().out
    assert sealed.with_name(sealed.name + ".damaged").exists()
    archive = Archive(settings(folder))
    assert (archive.catalog.earliest, archive.next) == (2, 6)
    archive.close()


def test_a_folder_in_use_is_not_mended(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = Archive(settings(folder))
    assert run(["archive", "verify", "--repair", str(folder)]) == 1
    assert "in use" in capsys.readouterr().err
    archive.close()


def test_a_gap_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = Archive(settings(folder), 9)
    archive.close()
    assert run(["archive", "verify", str(folder)]) == 1
    assert "begins with 9" in capsys.readouterr().err
