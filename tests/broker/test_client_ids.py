"""Client ids bound to users: what a template means, and that no two users have one id by it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.broker.client_ids import check_id_templates, may_have
from gossamer.wire import reasons
from gossamer.wire.packets import V5, V311
from tests.support.memory import World

CASES = [
    ([], "ann", "anything", True),
    ([], "", "anything", True),
    (["%u"], "ann", "ann", True),
    (["%u"], "ann", "anna", False),
    (["%u"], "ann", "an", False),
    (["%u"], "", "", False),
    (["%u-*"], "ann", "ann-phone", True),
    (["%u-*"], "ann", "ann-", True),
    (["%u-*"], "ann", "ann", False),
    (["%u-*"], "ann", "eve-phone", False),
    (["%u-*"], "", "-phone", False),
    (["%u-*"], "ann-x", "ann-x-phone", False),  # a name with what separates has none
    (["%u", "%u-*"], "ann-x", "ann-x", False),  # since ann may have it
    (["%u", "%u-*"], "ann", "ann-x", True),
    (["dev/%u/*"], "ann", "dev/ann/1", True),
    (["dev/%u/*"], "ann", "dev/eve/1", False),
    (["public-*", "%u"], "", "public-1", True),
    (["public-*", "%u"], "ann", "public-1", True),
    (["public-*", "%u"], "", "ann", False),
    (["*"], "", "any", True),
    (["100%%-%u"], "ann", "100%-ann", True),
    (["%%u"], "ann", "%u", True),
    (["%%u"], "ann", "ann", False),
]


@pytest.mark.parametrize(("templates", "user", "client_id", "expected"), CASES)
def test_cases(templates: list[str], user: str, client_id: str, expected: bool) -> None:
    check_id_templates(templates)
    assert may_have(templates, user, client_id) is expected


WRONG = [
    (["%u*"], "put something between"),
    (["%c"], "% must be followed"),
    (["50%"], "% must be followed"),
    (["*-%u"], "at the end only"),
    (["%u-%u"], "once only"),
    (["%u", "dev-%u"], "must be the same in all"),
    ([""], "assigns"),
]


@pytest.mark.parametrize(("templates", "said"), WRONG)
def test_templates_that_bind_nothing_are_refused(templates: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_id_templates(templates)


letters = st.text("ab-/", min_size=1, max_size=4)
endings = st.lists(st.sampled_from(["", "-*", "/*", "--*", "-a*", "/b", "ab*"]), min_size=1)


@given(endings, letters, letters, letters)
def test_no_two_users_have_the_same_id(
    endings: list[str], one: str, other: str, client_id: str
) -> None:
    templates = ["%u" + ending for ending in endings]
    check_id_templates(templates)
    if one != other:
        wanted = one + client_id
        assert not (may_have(templates, one, wanted) and may_have(templates, other, wanted))


@pytest.mark.parametrize("version", [V5, V311])
def test_the_broker_refuses_an_id_that_is_not_the_users(version: int) -> None:
    world = World(client_ids=["%u", "%u-*"])

    def answer(name: str, user: str | None) -> int:
        client = world.visitor(version)
        client.connect(name, user=user)
        return client.connack.reason

    refused = reasons.CLIENT_IDENTIFIER_NOT_VALID
    assert answer("ann", "ann") == answer("ann-phone", "ann") == 0
    assert answer("ann-phone", "eve") == answer("ann-phone", None) == answer("x", "ann") == refused
    assert answer("", "eve") == answer("", None) == 0  # the broker's own choice
    assert "ann-phone" in world.broker.core.sessions


def test_without_templates_the_first_to_come_has_the_id() -> None:
    world = World()
    for user, other in (("eve", "ann"), (None, "ann"), ("ann", None)):
        squatter = world.client(f"phone-{user}", clean=False, expiry=1000, user=user)
        squatter.lose()
        for clean in (True, False):
            client = world.visitor()
            client.connect(f"phone-{user}", clean=clean, user=other)
            assert client.connack.reason == reasons.NOT_AUTHORIZED
        assert world.client(f"phone-{user}", clean=False, user=user).connack.session_present


def test_an_assigned_id_is_good_for_coming_back() -> None:
    world = World(client_ids=["%u"])
    first = world.visitor()
    first.connect("", clean=False, expiry=1000, user="ann")
    assert first.connack.properties is not None
    given = first.connack.properties.assigned_client_id
    assert given is not None
    first.lose()
    assert world.client(given, clean=False, expiry=1000, user="ann").connack.session_present
    for name, user in ((given, "eve"), (given, None), ("auto-" + "0" * 20, "ann")):
        client = world.visitor()
        client.connect(name, user=user)
        assert client.connack.reason == reasons.CLIENT_IDENTIFIER_NOT_VALID
