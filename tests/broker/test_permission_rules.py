"""Permission rules: nothing without a rule, and no name or filter that gets more than was meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.broker.permission_rules import (
    UNKNOWN_ADDRESS,
    Grant,
    Rule,
    RuleBook,
    check_template,
    fill,
)
from gossamer.topics.names import TopicError, matches


def rule(
    users: list[str] | None = None,
    groups: str | None = None,
    clients: list[str] | None = None,
    networks: list[tuple[int, int]] | None = None,
    publish: str = "",
    subscribe: str = "",
    deny_publish: str = "",
    deny_subscribe: str = "",
    members: str | None = None,
) -> Rule:
    """`groups` are those of tokens, `members` the names in those that the file has."""
    by_group = None if groups is None and members is None else frozenset((members or "").split())
    return Rule(
        users=None if users is None else frozenset(users),
        members=by_group,
        groups=frozenset((groups or "").split()),
        clients=None if clients is None else tuple(clients),
        networks=None if networks is None else tuple(networks),
        publish=tuple(publish.split()),
        subscribe=tuple(subscribe.split()),
        deny_publish=tuple(deny_publish.split()),
        deny_subscribe=tuple(deny_subscribe.split()),
    )


def granted(*rules: Rule, user: str = "ann", client: str = "c1", address: int = 7) -> Grant:
    return RuleBook(list(rules)).grant(user, client, [], address)


def test_an_empty_book_allows_nothing() -> None:
    grant = granted()
    assert not grant.may_publish("a")
    assert not grant.may_subscribe("a")
    assert not grant.may_receive("a")


SELECTED = [
    (rule(users=["ann"]), True),
    (rule(users=["bob"]), False),
    (rule(users=["*"]), True),
    (rule(users=[]), False),
    (rule(groups="g h"), True),
    (rule(groups="h"), False),
    (rule(groups=""), False),
    (rule(members="ann bob"), True),
    (rule(members="*"), True),
    (rule(members="bob"), False),
    (rule(members="bob", groups="g"), True),
    (rule(users=["ann"], groups="g"), True),
    (rule(users=["ann"], groups="h"), False),
    (rule(users=["bob"], groups="g"), False),
    (rule(users=["ann"], members="ann"), True),
    (rule(users=["ann"], members="bob"), False),
    (rule(users=["bob"], members="ann"), False),
    (rule(users=["*"], members="bob"), False),
    (rule(users=[], members="ann"), False),
    (rule(users=["ann"], groups=""), False),
    (rule(clients=["c1"]), True),
    (rule(clients=["c*"]), True),
    (rule(clients=["d*", "c2"]), False),
    (rule(clients=[]), False),
    (rule(networks=[(5, 9)]), True),
    (rule(networks=[(8, 9)]), False),
    (rule(networks=[]), False),
    (rule(users=["ann"], clients=["c2"]), False),
    (rule(), True),
]


@pytest.mark.parametrize(("one", "expected"), SELECTED)
def test_every_selector_must_hold(one: Rule, expected: bool) -> None:
    assert one.selects("ann", "c1", ["g"], 7) is expected


def test_any_named_user_is_not_the_anonymous_one() -> None:
    assert not rule(users=["*"]).selects("", "c1", [], 7)
    assert rule().selects("", "c1", [], 7)


def test_an_unknown_address_assumes_the_groups_of_tokens_but_no_name() -> None:
    assert rule(groups="g").selects("ann", "c1", [], UNKNOWN_ADDRESS)
    assert rule(users=["ann"], groups="g").selects("ann", "c1", [], UNKNOWN_ADDRESS)
    assert not rule(users=["bob"], groups="g").selects("ann", "c1", [], UNKNOWN_ADDRESS)
    assert not rule(members="bob").selects("ann", "c1", [], UNKNOWN_ADDRESS)


SUBSCRIPTIONS = [
    ("a/#", "", "a/b", True),
    ("a/#", "", "a/+", True),
    ("a/#", "", "a/#", True),
    ("a/#", "", "#", False),
    ("a/#", "", "+/b", False),
    ("a/+", "", "a/#", False),
    ("a/b a/c", "", "a/+", False),
    ("#", "", "$SYS/#", False),
    ("#", "", "+/x", True),
    ("$SYS/#", "", "$SYS/broker/+", True),
    ("#", "secret/#", "secret/x", False),
    ("#", "secret/#", "secret/#", False),
    ("#", "secret/#", "#", True),
    ("a/#", "#", "a/b", False),
]


@pytest.mark.parametrize(("allowed", "denied", "filter", "expected"), SUBSCRIPTIONS)
def test_a_subscription_must_be_contained(
    allowed: str, denied: str, filter: str, expected: bool
) -> None:
    grant = granted(rule(subscribe=allowed, deny_subscribe=denied))
    assert grant.may_subscribe(filter) is expected


def test_a_wide_subscription_with_a_denied_part_is_checked_at_delivery() -> None:
    grant = granted(rule(subscribe="#", deny_subscribe="secret/#"))
    assert grant.may_subscribe("#")
    assert grant.may_receive("a/b")
    assert not grant.may_receive("secret/b")


def test_a_shared_subscription_may_have_no_denied_part() -> None:
    grant = granted(rule(subscribe="#", deny_subscribe="secret/#"))
    assert not grant.may_subscribe("#", is_shared=True)
    assert not grant.may_subscribe("+/x", is_shared=True)
    assert grant.may_subscribe("open/#", is_shared=True)


def test_a_denial_of_one_rule_wins_over_the_permission_of_another() -> None:
    grant = granted(rule(publish="#"), rule(users=["ann"], deny_publish="a/#"))
    assert grant.may_publish("b")
    assert not grant.may_publish("a/b")


FILLED = [
    ("u/%u/#", "ann", "c1", "u/ann/#"),
    ("u/%c", "ann", "c1", "u/c1"),
    ("x-%u-%c/a", "ann", "c1", "x-ann-c1/a"),
    ("100%%/%u", "ann", "c1", "100%/ann"),
    ("u/%u/#", "+", "c1", ""),
    ("u/%u/#", "#", "c1", ""),
    ("u/%u/#", "a/b", "c1", ""),
    ("u/%u/#", "a+", "c1", ""),
    ("u/%u/#", "a\0", "c1", ""),
    ("u/%u/#", "", "c1", ""),
    ("u/%c/#", "ann", "../+", ""),
    ("%u/#", "$SYS", "c1", ""),
    ("%u", "$share", "c1", ""),
    ("u/%u/#", "$SYS", "c1", "u/$SYS/#"),
    ("u/%u/#", "%c", "c1", "u/%c/#"),
    ("no/template", "+", "#", "no/template"),
]


@pytest.mark.parametrize(("template", "user", "client", "expected"), FILLED)
def test_a_name_never_widens_a_template(
    template: str, user: str, client: str, expected: str
) -> None:
    assert fill(template, user, client) == expected


def test_a_name_that_escapes_a_denial_gets_nothing() -> None:
    book = RuleBook([rule(publish="#", deny_publish="private/%u/#")])
    assert not book.grant("ann", "c", [], 0).may_publish("private/ann/x")
    assert book.grant("ann", "c", [], 0).may_publish("x")
    assert not book.grant("a/b", "c", [], 0).may_publish("x")
    assert book.grant("", "c", [], 0).may_publish("x")


@given(st.text(alphabet="ab+#/$%uc\0", max_size=6), st.text(alphabet="ab+#/$", max_size=6))
def test_any_name_reaches_only_its_own_branch(user: str, client: str) -> None:
    book = RuleBook([rule(publish="u/%u/x", subscribe="u/%u/# %c/y")])
    grant = book.grant(user, client, [], 0)
    for topic in ("u/a/x", "u/b/x", "u/a/b/x", "a/y", "$SYS/y", "u/x"):
        if grant.may_publish(topic):
            assert topic == f"u/{user}/x"
        if grant.may_receive(topic):
            assert topic.startswith((f"u/{user}/", f"{client}/y"))
    for wide in ("#", "+/#", "u/#", "u/+/#", "u/+/x", "+/y"):
        assert not grant.may_subscribe(wide)


LEVEL = st.sampled_from(["a", "b", "+", "$x", ""])
FILTER = st.builds(
    lambda levels, end: "/".join([*levels, *end]),
    st.lists(LEVEL, min_size=1, max_size=3),
    st.sampled_from([[], ["#"]]),
).filter(bool)
TOPIC = st.lists(st.sampled_from(["a", "b", "$x", ""]), min_size=2, max_size=4).map("/".join)


@given(st.lists(FILTER, max_size=3), st.lists(FILTER, max_size=2), FILTER, TOPIC)
def test_what_a_subscription_brings_may_be_received(
    allowed: list[str], denied: list[str], filter: str, topic: str
) -> None:
    grant = Grant([], allowed, [], denied)
    expected = any(matches(f, topic) for f in allowed) and not any(
        matches(f, topic) for f in denied
    )
    assert grant.may_receive(topic) is expected
    assert grant.may_receive(topic) is expected  # from the cache, too
    if grant.may_subscribe(filter) and not denied and matches(filter, topic):
        assert grant.may_receive(topic)


def test_clients_that_the_same_rules_fit_share_a_grant() -> None:
    book = RuleBook([rule(publish="a/#"), rule(users=["eve"], publish="%c/#")])
    assert book.grant("ann", "1", [], 0) is book.grant("bob", "2", [], 9)
    assert book.grant("eve", "1", [], 0) is not book.grant("eve", "2", [], 0)


def test_caches_are_bounded() -> None:
    book = RuleBook([rule(publish="%c/#")], decisions_kept=16)
    for number in range(100):
        grant = book.grant("ann", str(number), [], 0)
        assert all(grant.may_publish(f"{number}/{n}") for n in range(50))


def test_a_message_whose_publishers_address_is_unknown_keeps_its_permission() -> None:
    book = RuleBook([rule(networks=[(5, 9)], publish="a/#")])
    assert book.grant("ann", "c", [], UNKNOWN_ADDRESS).may_publish("a/b")
    assert not book.grant("ann", "c", [], 99).may_publish("a/b")
    denied = RuleBook([rule(publish="a/#"), rule(networks=[(5, 9)], deny_publish="a/#")])
    assert denied.grant("ann", "c", [], UNKNOWN_ADDRESS).may_publish("a/b")
    assert not denied.grant("ann", "c", [], 7).may_publish("a/b")
    revoked = RuleBook([rule(networks=[(5, 9)], publish="b/#")])
    assert not revoked.grant("ann", "c", [], UNKNOWN_ADDRESS).may_publish("a/b")


@pytest.mark.parametrize("template", ["", "a/#/b", "a%", "a%x", "a/%u+", "$share/g/a", "a+/b"])
def test_a_wrong_template_is_refused(template: str) -> None:
    with pytest.raises(TopicError):
        check_template(template)
