"""Entry points are found where the library finds them, which is not asked where there are none."""

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.plugins import entry_points

GROUP = "gossamer.tests"
LISTED = f"[{GROUP}]\none = some.place:One\ntwo = some.place:Two\n"


def as_wheel(folder: Path) -> str:
    package = folder / "some-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: some\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(LISTED)
    return str(folder)


def as_checkout(folder: Path) -> str:
    package = folder / "some.egg-info"
    package.mkdir()
    (package / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: some\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(LISTED)
    return str(folder)


def as_zip(folder: Path) -> str:
    file = folder / "some.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("some-1.0.dist-info/METADATA", "Name: some\nVersion: 1.0\n")
        archive.writestr("some-1.0.dist-info/entry_points.txt", LISTED)
    return str(file)


@pytest.mark.parametrize("install", [as_wheel, as_checkout, as_zip], ids=lambda one: one.__name__)
def test_what_a_package_brings_is_found(
    install: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, install(tmp_path)])
    assert {one.value for one in entry_points(GROUP)} == {"some.place:One", "some.place:Two"}
    assert [one.value for one in entry_points(GROUP, name="two")] == ["some.place:Two"]
    assert entry_points(GROUP, name="three") == []


def test_nothing_is_found_where_nothing_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other.dist-info").mkdir()
    (tmp_path / "file.egg-info").write_text("Name: file\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "gone"), ""])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "importlib.metadata", None)  # it would be an error to ask
    assert entry_points(GROUP) == []
