"""What ships beside the code: wheels, the unit, the container's configuration, the dashboard."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gossamer import __version__
from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.settings import MeshSettings
from gossamer.net.admin.metrics import exposition
from gossamer.net.admin.tokens import token_for
from gossamer.net.config import load
from gossamer.session.journal import Journal
from tools import compile_core
from tools.build_wheels import compiled_wheel, lab_wheel, pure_wheel

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"


def test_the_dashboard_shows_metrics_that_exist() -> None:
    broker = Broker(Settings(), Journal(), 0.0)
    mesh = Mesh(broker.core, MeshSettings("a", key="k"))
    mesh.neighbour_table.link_of(mesh.neighbour_table.session_for("b"))
    told = exposition(broker.core).decode()
    dashboard = json.loads((PACKAGING / "grafana-dashboard.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel.get("targets", ())
        for name in re.findall(r"gossamer_\w+", target["expr"])
    }
    assert len(asked) > 20
    kinds = set(re.findall(r"^# TYPE (\w+)", told, re.MULTILINE))
    assert asked - kinds == set()


def test_the_container_has_a_right_configuration(tmp_path: Path) -> None:
    text = (PACKAGING / "container.toml").read_text().replace("/data", str(tmp_path))
    (tmp_path / "container.toml").write_text(text)
    config = load(tmp_path / "container.toml")
    assert config.admin.enabled
    assert config.admin.host == "127.0.0.1"
    assert token_for(config.admin.token_file)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "gossamer.service"
    text = (PACKAGING / "gossamer.service").read_text()
    unit.write_text(text.replace("/opt/gossamer/bin/gossamer", sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60
    )
    complaints = [line for line in done.stderr.splitlines() if unit.name in line]
    assert complaints == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pure_wheel(tmp_path_factory.mktemp("wheels"))


def test_the_wheel_has_the_version_that_the_package_states(wheel: Path) -> None:
    assert wheel.name.split("-")[1] == __version__


def test_the_pure_wheel_has_no_compiled_module(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
    assert "gossamer/py.typed" in names
    assert {name.split("/")[0] for name in names} == {
        "gossamer",
        f"gossamer-{__version__}.dist-info",
    }


def test_the_laboratory_is_a_wheel_of_its_own_for_the_same_version(tmp_path: Path) -> None:
    made = lab_wheel(tmp_path)
    assert made.name == f"gossamer_lab-{__version__}-py3-none-any.whl"
    content = zipfile.ZipFile(made)
    info = f"gossamer_lab-{__version__}.dist-info"
    assert {name.split("/")[0] for name in content.namelist()} == {"gossamer_lab", info}
    assert (
        f"\nRequires-Dist: gossamer=={__version__}\n" in content.read(f"{info}/METADATA").decode()
    )
    assert "[gossamer.commands]" in content.read(f"{info}/entry_points.txt").decode()


def test_the_wheel_runs(wheel: Path, tmp_path: Path) -> None:
    """From its own folder, without the sources of this project in sight."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    done = subprocess.run(
        [sys.executable, "-c", "import gossamer; print(gossamer.__file__)"],
        env={"PYTHONPATH": str(tmp_path / "installed")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert str(tmp_path) in done.stdout, done.stderr
    listed = subprocess.run(
        [sys.executable, "-m", "gossamer", "--help"],
        env={"PYTHONPATH": str(tmp_path / "installed")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "serve" in listed.stdout, listed.stderr


def test_the_container_is_built_by_the_same_compiler() -> None:
    """An earlier one leaks."""
    pin = re.compile(r"mypy\[mypyc\]==([\d.]+)")
    wanted = pin.findall((ROOT / "pyproject.toml").read_text())
    assert len(wanted) == 1
    assert pin.findall((PACKAGING / "Containerfile").read_text()) == wanted


# Imports every module that has a compiled part, with nothing of the compiler at hand.
IMPORT_ALL = """
import importlib, pathlib, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {forbidden!r}:
            raise ModuleNotFoundError(f"{{name}} is not installed here", name=name)

sys.meta_path.insert(0, Absent())
root = pathlib.Path({root!r})
names = sorted(
    ".".join(path.relative_to(root).parts).partition(".cpython")[0]
    for path in (root / "gossamer").rglob("*.cpython-*")
)
for name in names:
    assert importlib.import_module(name).__file__.startswith(str(root)), name
print(len(names))
"""


@pytest.mark.skipif(
    not compile_core.is_current(), reason="the core is not compiled: run `make compile`"
)
def test_the_compiled_wheel_names_what_it_needs(wheel: Path, tmp_path: Path) -> None:
    made = compiled_wheel(wheel, tmp_path)
    zipfile.ZipFile(made).extractall(tmp_path / "installed")
    metadata = next((tmp_path / "installed").glob("*.dist-info/METADATA")).read_text()
    forbidden = {"mypy", "mypyc"}
    if "\nRequires-Dist: librt" not in metadata:
        forbidden.add("librt")
    code = IMPORT_ALL.format(forbidden=forbidden, root=str(tmp_path / "installed"))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(tmp_path / "installed")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(compile_core.compiled_sources())


def test_the_sources_need_nothing_of_the_compiler(tmp_path: Path) -> None:
    """`mypy-extensions` and `librt` are dependencies; mypy itself is not."""
    imported = re.compile(r"^\s*(?:from|import) mypyc?\b", re.MULTILINE)
    assert not [path for path in (ROOT / "src").rglob("*.py") if imported.search(path.read_text())]
