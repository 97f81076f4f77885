"""What `docs/geo.md` shows is what the broker reads."""

import re
from pathlib import Path

import pytest

from gossamer.geo.geolocation import NOT_LOCATED
from gossamer.geo.glp import SETTINGS, parse
from gossamer.geo.glp_entries import FORMS, LINE_KEYS
from gossamer.plus.grammar import is_operator_filter
from gossamer.plus.grammar import parse as parse_operator
from gossamer.plus.vocabulary import Vocabulary

GUIDE = (Path(__file__).parents[2] / "docs" / "geo.md").read_text(encoding="utf-8")
RECIPES = [
    line
    for line in GUIDE.partition("## Recipes")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| ") and "`" in line
]
NUMBERS = {"LAT": "43.72", "LON": "10.4"}


def test_every_key_is_described() -> None:
    for key in (*FORMS, *LINE_KEYS, *SETTINGS, "gpl_area"):
        assert f"`{key}`" in GUIDE


@pytest.mark.parametrize("recipe", RECIPES, ids=range(len(RECIPES)))
def test_recipes_can_be_sent(recipe: str) -> None:
    for filter in re.findall(r"`(\$[A-Z][^` ]*)`", recipe):
        assert is_operator_filter(filter)
        parse_operator(filter, Vocabulary())
    user = [
        (key, re.sub("LAT|LON", lambda found: NUMBERS[found[0]], value))
        for key, value in re.findall(r"`(gpl_\w+)` = `([^`]+)`", recipe)
    ]
    if any(key == "gpl_lineStart" for key, _ in user):
        user.append(("gpl_lineEnd", "1;m;1;43.8;10.5"))
    glp = parse(user)
    if glp is not None:
        located = NOT_LOCATED.changed(glp)
        assert len(located.areas) == len(glp.areas)


def test_there_are_recipes_enough() -> None:
    assert len(RECIPES) >= 15
