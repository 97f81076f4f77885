"""The rule file's word on who sees whose position."""

from gossamer.net.rule_file import RulePermissions, parse_rules
from gossamer.session.identity import Identity

WITHOUT = """
[[rule]]
subscribe = ["#"]
"""

WITH = """
[groups]
dispatch = ["dora"]

[[rule]]
subscribe = ["#"]

[[rule]]
groups = ["dispatch"]
locate = ["*"]

[[rule]]
users = ["ann"]
locate = ["bob"]
"""


def client(user: str) -> Identity:
    return Identity(f"{user}-1", user, "127.0.0.1", "test")


def test_without_a_word_everybody_sees_everybody() -> None:
    assert not RulePermissions(parse_rules(WITHOUT)).guards_positions


def test_one_word_hides_the_rest() -> None:
    permissions = RulePermissions(parse_rules(WITH))
    assert permissions.guards_positions
    cases = [
        ("dora", "bob", True),
        ("dora", "", True),
        ("ann", "bob", True),
        ("ann", "cid", False),
        ("ann", "", False),
        ("ann", "ann", True),
        ("", "", False),
        ("bob", "ann", False),
    ]
    for viewer, user, expected in cases:
        assert permissions.may_locate(client(viewer), user) == expected, (viewer, user)
