"""Names, filters and shared filters: tables of what is allowed and what is refused."""

import pytest

from gossamer.topics.names import MAX_BYTES, TopicError, check_filter, check_name, split_share

GOOD_NAMES = ["a", "/", "//", "a/b", "/a", "a/", "$SYS/x", " ", "ü/雪", "a" * MAX_BYTES]
BAD_NAMES = ["", "a/+", "a#", "+", "#", "a\0", "é" * 32768, "/" * 200]
GOOD_FILTERS = [*GOOD_NAMES, "#", "+", "+/+", "+/#", "a/+/b", "/#", "//+", "$SYS/#", "/" * 199]
BAD_FILTERS = ["", "a\0", "a#", "#/a", "a/#/b", "##", "a/##", "+a", "a+/b", "++", "/" * 200]


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_good_names_pass(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(TopicError):
        check_name(name)


@pytest.mark.parametrize("filter", GOOD_FILTERS)
def test_good_filters_pass(filter: str) -> None:
    check_filter(filter)


@pytest.mark.parametrize("filter", [*BAD_FILTERS, "x" * (MAX_BYTES + 1)])
def test_bad_filters_are_refused(filter: str) -> None:
    with pytest.raises(TopicError):
        check_filter(filter)


def test_the_limit_of_levels_can_be_moved() -> None:
    check_name("a/b/c", max_levels=3)
    with pytest.raises(TopicError, match="more than 2 levels"):
        check_filter("a/b/c", max_levels=2)


SHARES = {
    "a/b": ("", "a/b"),
    "$share": ("", "$share"),
    "$shared/g/a": ("", "$shared/g/a"),
    "$share/g/a": ("g", "a"),
    "$share/g//": ("g", "/"),
    "$share/g//a": ("g", "/a"),
    "$share/g/#": ("g", "#"),
    "$share/g/$SYS/+": ("g", "$SYS/+"),
}


@pytest.mark.parametrize("filter", SHARES)
def test_shared_filters_are_taken_apart(filter: str) -> None:
    assert split_share(filter) == SHARES[filter]


@pytest.mark.parametrize(
    "filter", ["$share/", "$share/g", "$share/g/", "$share//a", "$share/+/a", "$share/g#/a"]
)
def test_malformed_shares_are_refused(filter: str) -> None:
    with pytest.raises(TopicError):
        split_share(filter)
