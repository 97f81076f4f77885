"""The rule file: whole or refused."""

from pathlib import Path

import pytest

from gossamer.net.config import ConfigError
from gossamer.net.rule_file import address_number, load_rules, network_range, parse_rules

RULES = """
[groups]
operators = ["ann", "bob"]
by_token = []

[[rule]]
subscribe = ["weather/#"]

[[rule]]
users = ["*"]
addresses = ["10.1.0.0/16", "fd00::/8"]
publish = ["devices/%u/#"]

[[rule]]
groups = ["operators"]
subscribe = ["#"]
deny_subscribe = ["payroll/#"]

[[rule]]
groups = ["by_token"]
publish = ["#"]
"""


def test_groups_addresses_and_templates() -> None:
    book = parse_rules(RULES)
    inside, outside = address_number("10.1.2.3"), address_number("10.2.0.1")
    assert book.grant("dev1", "c", [], inside).may_publish("devices/dev1/t")
    assert book.grant("dev1", "c", [], address_number("::ffff:10.1.2.3")).may_publish(
        "devices/dev1/t"
    )
    assert book.grant("dev1", "c", [], address_number("fd00::7")).may_publish("devices/dev1/t")
    assert not book.grant("dev1", "c", [], outside).may_publish("devices/dev1/t")
    assert not book.grant("dev1", "c", [], inside).may_publish("devices/dev2/t")
    assert book.grant("bob", "c", [], outside).may_subscribe("#")
    assert not book.grant("bob", "c", [], outside).may_receive("payroll/march")
    assert book.grant("", "c", [], outside).may_subscribe("weather/+")
    assert not book.grant("", "c", [], outside).may_subscribe("#")
    assert book.grant("eve", "c", ["by_token"], outside).may_publish("x")
    assert not book.grant("eve", "c", ["operators"], outside).may_subscribe("#")


WRONG = [
    ("[[rule]]\npublish = ['a/#/b']", 'rule[1].publish[1] = "a/#/b": must be a list, each a topic'),
    ("[[rule]]\npublsh = ['a']", "rule[1].publsh: unknown key; did you mean publish?"),
    ("[[rule]]\ngroups = ['x']", "rule[1].groups names x, which is no group"),
    ("[[rule]]\naddresses = ['here']", "an address or network"),
    ("[[rule]", "not TOML"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_broken_file_is_refused_whole(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_rules(RULES + text)
    assert said.replace("rule[1]", "rule[5]") in str(caught.value)


def test_an_empty_file_allows_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("\n")
    assert not load_rules(file, 100).grant("ann", "c", [], 0).may_publish("a")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_rules(tmp_path / "none", 100)


def test_a_client_without_an_ip_address() -> None:
    first, last = network_range("127.0.0.0/8")
    assert first <= address_number("") <= last  # a Unix socket is this machine
    assert address_number("nonsense") < 0


BOTH = """
[groups]
operators = ["ann", "bob"]
by_token = []

[[rule]]
publish = ["#"]

[[rule]]
users = ["ann", "eve"]
groups = ["operators"]
deny_publish = ["safety/#"]

[[rule]]
users = ["eve"]
groups = ["by_token"]
subscribe = ["books/#"]

[[rule]]
users = ["eve"]
groups = ["operators"]
match = "all"
subscribe = ["#"]
"""


def test_a_rule_speaks_of_the_users_who_are_in_its_groups() -> None:
    book = parse_rules(BOTH)

    def publishes(user: str, *groups: str) -> bool:
        return book.grant(user, "c", list(groups), 7).may_publish("safety/stop")

    assert not publishes("ann")
    assert publishes("bob")
    assert publishes("eve")
    assert not book.grant("ann", "c", ["by_token"], 7).may_subscribe("books/a")
    assert not book.grant("eve", "c", [], 7).may_subscribe("books/a")
    assert book.grant("eve", "c", ["by_token"], 7).may_subscribe("books/a")


def test_a_rule_with_users_and_groups_is_named() -> None:
    denying, allowing = parse_rules(BOTH, "rules.toml").notes
    assert denying.startswith("rules.toml: rule[2] has users and groups")
    assert "deny_publish hold for FEWER clients" in denying
    assert 'match = "all"' in denying
    assert "two rules" in denying
    assert allowing.startswith("rules.toml: rule[3] has users and groups")
    assert "fewer clients have what it allows" in allowing
    assert parse_rules(RULES).notes == []
