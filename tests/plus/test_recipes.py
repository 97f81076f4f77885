"""The page of recipes does what it says, line by line."""

import re
import tomllib
from pathlib import Path

import pytest

from gossamer.net.config.plus import Plus, windows_of
from gossamer.plus.engine import Engine
from gossamer.plus.vocabulary import Vocabulary
from tests.support.plus import Bench

PAGE = (Path(__file__).parents[2] / "docs" / "plus-recipes.md").read_text(encoding="utf-8")
RECIPES = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
_LINE = re.compile(r"(\d\d):(\d\d):(\d\d)  (?:-|(\S+) (.+))")
_RECEIVED = re.compile(r"-> (\S+) (.+)")


def code_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


def vocabulary() -> Vocabulary:
    section = tomllib.loads("\n".join(code_of(PAGE.split("## Limits")[0])))["plus"]
    return Vocabulary(windows_of(Plus.validated(section)))


def test_there_are_twenty() -> None:
    assert [int(recipe.partition(".")[0]) for recipe in RECIPES] == list(range(1, 21))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda text: text.partition(".")[0])
def test_a_recipe(recipe: str) -> None:
    lines = code_of(recipe)
    filters = [line for line in lines if line.startswith("$")]
    bench = Bench()
    bench.engine = Engine(vocabulary())
    for filter in filters:
        bench.subscribe(filter)
    received: list[tuple[str, str]] = []
    expected: list[tuple[str, str]] = []
    for line in lines[len(filters) :]:
        answer = _RECEIVED.fullmatch(line)
        if answer is not None:
            expected.append((answer[1], answer[2]))
            continue
        said = _LINE.fullmatch(line)
        assert said is not None, line
        assert received == expected
        hours, minutes, seconds = (int(said[n]) for n in (1, 2, 3))
        received += bench.advance(hours * 3600.0 + minutes * 60 + seconds)
        if said[4] is not None:
            received += bench.publish(said[4], said[5])
    assert received == expected
    assert expected
