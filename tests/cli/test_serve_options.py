"""The short way to the options of `gossamer serve` means what typer would have made of them."""

from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from gossamer.cli import serve as serve_command
from gossamer.cli.application import build
from gossamer.cli.commands import wanted
from gossamer.cli.serve_options import ServeOptions, plain_options

PLAIN = [
    ([], ServeOptions()),
    (["--memory"], ServeOptions(memory=True)),
    (["--port", "0", "--data", "x"], ServeOptions(port=0, data=Path("x"))),
    (["-c", "a.toml", "--with-parent"], ServeOptions(config=Path("a.toml"), with_parent=True)),
    (["-p", "1", "-p", "2"], ServeOptions(port=2)),
    (["--host", "::", "--sync", "off"], ServeOptions(host="::", sync="off")),
]

NOT_PLAIN = [
    ["--help"],
    ["--port"],
    ["--port", "65536"],
    ["--port", "-1"],
    ["--port=1883"],
    ["-p1883"],
    ["--host", ""],
    ["--data", "--memory"],
    ["--unknown"],
    ["here"],
    ["--"],
]

words = st.sampled_from(
    [
        *("--config", "-c", "--port", "-p", "--host", "--data", "--sync", "--memory"),
        *("--with-parent", "--", "--port=7", "-p7", "--por", "--help", "x", "0", "1883", "65536"),
        *("-1", "", "1_0", " 5 ", "٣", "+4", "a.toml"),
    ]
)


def of_typer(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> ServeOptions | None:
    """None if typer refuses them, or shows the help."""
    found: list[ServeOptions] = []
    monkeypatch.setattr(serve_command, "serve_broker", found.append)
    command = typer.main.get_command(build(wanted(arguments)))
    try:
        command(args=arguments, prog_name="gossamer", standalone_mode=False)
    except Exception:  # of click's, by a path that typer does not tell
        return None
    return found[0] if found else None


@pytest.mark.parametrize(("arguments", "options"), PLAIN, ids=lambda one: " ".join(map(str, one)))
def test_plain_options_are_read(arguments: list[str], options: ServeOptions) -> None:
    assert plain_options(["serve", *arguments]) == options


@pytest.mark.parametrize("arguments", NOT_PLAIN, ids=" ".join)
def test_what_is_not_plain_is_left_to_typer(arguments: list[str]) -> None:
    assert plain_options(["serve", *arguments]) is None


@pytest.mark.parametrize("arguments", [[], ["pub", "--port", "1"], ["--memory", "serve"]])
def test_other_commands_are_left_to_typer(arguments: list[str]) -> None:
    assert plain_options(arguments) is None


@given(st.lists(words, max_size=6))
def test_plain_options_mean_what_typer_makes_of_them(arguments: list[str]) -> None:
    plain = plain_options(["serve", *arguments])
    if plain is not None:
        with pytest.MonkeyPatch.context() as monkeypatch:
            assert of_typer(["serve", *arguments], monkeypatch) == plain
