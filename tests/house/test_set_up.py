"""How `.venv` is filled: by uv as pip is configured, by pip where uv does not manage, only once."""

import os
import re
import tomllib
from pathlib import Path

import pytest

from tools import set_up
from tools.set_up import PARTS, RUN, TEST, Environment, Untranslated, settings_in, translated

ROOT = Path(__file__).parents[2]

LISTED = """\
:env:.cert='/certs.pem'
:env:.find-links='/nearer'
global.extra-index-url='https://one.example/simple https://two.example/simple'
global.find-links='/far'
install.find-links='/near'
install.no-index='false'
"""


def test_what_pip_would_use_is_weighed_as_pip_does() -> None:
    assert settings_in(LISTED) == {
        "extra-index-url": "https://one.example/simple https://two.example/simple",
        "find-links": "/nearer",
        "no-index": "false",
        "cert": "/certs.pem",
    }


TRANSLATED = [
    ({}, [], {}),
    ({"index-url": "https://a/simple"}, ["--index-url", "https://a/simple"], {}),
    (
        {"extra-index-url": "https://a https://b"},
        ["--extra-index-url", "https://a", "--extra-index-url", "https://b", *set_up.LIKE_PIP],
        {},
    ),
    ({"no-index": "1", "find-links": "/w"}, ["--no-index", "--find-links", "/w"], {}),
    ({"no-index": "false", "quiet": "2"}, [], {}),
    ({"cert": "/c", "timeout": "60"}, [], {"SSL_CERT_FILE": "/c", "UV_HTTP_TIMEOUT": "60"}),
]


@pytest.mark.parametrize(("settings", "options", "variables"), TRANSLATED)
def test_uv_is_told_the_same(
    settings: dict[str, str], options: list[str], variables: dict[str, str]
) -> None:
    assert translated(settings) == (options, variables)


def test_a_setting_that_uv_has_not_leaves_it_to_pip() -> None:
    with pytest.raises(Untranslated, match="require-hashes"):
        translated({"index-url": "https://a", "require-hashes": "1"})


# With programs that only write down how they are called -------------------------------------------


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    (tmp_path / "bin").mkdir()
    program(tmp_path, "python", 'case "$*" in *"config list"*) exit 0;; esac')
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # where no uv is
    return Environment(tmp_path)


def program(folder: Path, name: str, then: str = "") -> None:
    file = folder / "bin" / name
    file.write_text(f'#!/bin/sh\necho "{name} $*" >> {folder}/called\n{then}\n')
    file.chmod(0o755)


def called(folder: Path) -> list[str]:
    return [
        line.replace(str(ROOT), "ROOT")
        for line in (folder / "called").read_text().splitlines()
        if "install" in line and "-e " in line
    ]


def test_uv_installs_and_what_is_installed_is_not_installed_again(
    environment: Environment, tmp_path: Path
) -> None:
    program(tmp_path, "uv")
    assert not environment.has(RUN)
    environment.set_up(RUN)
    assert called(tmp_path) == [
        f"uv pip install --python {tmp_path}/bin/python "
        f"-e ROOT[{PARTS[RUN][0]}] -e ROOT/packaging/lab[{PARTS[RUN][1]}]"
    ]
    assert environment.has(RUN)
    assert not environment.has(TEST)
    environment.set_up(TEST)
    assert environment.has(TEST)


def test_who_can_test_can_run(environment: Environment, tmp_path: Path) -> None:
    program(tmp_path, "uv")
    environment.set_up(TEST)
    assert environment.has(RUN)


@pytest.mark.parametrize("has_uv", [True, False])
def test_pip_does_it_where_uv_does_not_manage(
    environment: Environment, tmp_path: Path, has_uv: bool
) -> None:
    if has_uv:
        program(tmp_path, "uv", "exit 1")
    environment.set_up(RUN)
    assert called(tmp_path)[-1].startswith("python -m pip --disable-pip-version-check install ")
    assert environment.has(RUN)


def test_another_list_of_needs_is_installed(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "uv")
    environment.set_up(TEST)
    monkeypatch.setattr(set_up, "made_from", lambda: "something else")
    assert not environment.has(TEST)


def test_an_environment_without_its_python_is_not_set_up(
    environment: Environment, tmp_path: Path
) -> None:
    program(tmp_path, "uv")
    environment.set_up(RUN)
    os.unlink(tmp_path / "bin" / "python")
    assert not environment.has(RUN)


# What is asked for --------------------------------------------------------------------------------


def extras(project: str) -> dict[str, list[str]]:
    table = tomllib.loads((ROOT / project).read_text())["project"]["optional-dependencies"]
    return {name: [re.split(r"[<>=;]", need)[0] for need in needs] for name, needs in table.items()}


def test_every_extra_that_is_asked_for_is_there() -> None:
    for index, project in enumerate(set_up.PROJECTS):
        for part in PARTS.values():
            assert set(part[index].split(",")) <= set(extras(project)), project


def test_running_installs_nothing_that_only_tests_need() -> None:
    product, lab = (extras(project) for project in set_up.PROJECTS)
    asked = {need for name in PARTS[RUN][0].split(",") for need in product[name]}
    for need in {need for name in PARTS[RUN][1].split(",") for need in lab[name]}:
        names = re.fullmatch(r"gossamer\[(.*)\]", need)
        assert names, need
        asked |= {need for name in names[1].split(",") for need in product[name]}
    of_tests = {*product["test"], *product["docs"], *product["lint"], *lab["bench"], *lab["plots"]}
    assert not asked & of_tests
