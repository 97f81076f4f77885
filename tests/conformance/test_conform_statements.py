"""Every statement of the standard that binds the broker is cited in the source and tested."""

import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
VERSIONS = ("5.0", "3.1.1")
# What the standard gives no number is cited by its section.
CITED = re.compile(r"MQTT-(\d+\.\d+\.\d+-\d+)")
# In tests statements are also given to `clauses`, without the prefix.
LISTED = {"5.0": re.compile(r'clauses\(\s*"([^"]*)"'), "3.1.1": re.compile(r'v311="([^"]*)"')}


@cache
def statements(version: str) -> dict[str, str]:
    """Whom each one binds."""
    found: dict[str, str] = {}
    for line in (ROOT / "tests/cases/mqtt_statements.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(version + " "):
            _, number, whom, words = line.split(" ", 3)
            assert number not in found
            assert whom in ("broker", "client", "other")
            assert words
            found[number] = whom
    return found


def broker_statements(version: str) -> list[str]:
    return [number for number, whom in statements(version).items() if whom == "broker"]


@cache
def cited_in_source() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    return {number for text in texts for number in CITED.findall(text)}


@cache
def held_to(version: str) -> set[str]:
    found: set[str] = set()
    for path in [*HERE.glob("test_*.py"), ROOT / "tests/net/test_websocket.py"]:
        if path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8")
        found.update(CITED.findall(text))
        for listed in LISTED[version].findall(text):
            found.update(listed.split())
    return found


def test_the_tables_are_whole() -> None:
    assert len(statements("5.0")) > 200
    assert len(statements("3.1.1")) > 130


def test_only_statements_of_the_standard_are_cited() -> None:
    known = statements("5.0").keys() | statements("3.1.1").keys()
    assert cited_in_source() <= known
    for version in VERSIONS:
        assert held_to(version) <= known


@pytest.mark.parametrize("version", VERSIONS)
def test_every_statement_for_the_broker_is_tested(version: str) -> None:
    missing = [number for number in broker_statements(version) if number not in held_to(version)]
    assert missing == []


def test_every_statement_for_the_broker_is_cited_where_it_is_decided() -> None:
    """By the numbers of 5.0; those of 3.1.1 stand where the two differ."""
    missing = [number for number in broker_statements("5.0") if number not in cited_in_source()]
    assert missing == []
