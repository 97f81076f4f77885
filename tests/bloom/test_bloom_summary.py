"""Summaries over the wire: the listener knows what the advertiser holds, or it is refused."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.bloom import RemoteSummary, Summary, SummaryError, TopicHasher
from gossamer.topics.names import matches
from tests.support.topic_strategies import filters, topics

HASHER = TopicHasher(b"summaries")


def told(*wanted: str) -> tuple[Summary, RemoteSummary]:
    advertiser = Summary(HASHER)
    for filter in wanted:
        advertiser.add(filter)
    listener = RemoteSummary(HASHER)
    listener.apply(advertiser.full())
    return advertiser, listener


rounds = st.lists(st.lists(st.tuples(st.booleans(), filters()), max_size=8), min_size=1, max_size=6)


@given(rounds, st.lists(topics(), max_size=15), st.integers(8, 64))
def test_the_listener_follows_every_change(
    told_in_turn: list[list[tuple[bool, str]]], asked: list[str], capacity: int
) -> None:
    """A small capacity makes the advertiser lay out its bits anew in the middle."""
    advertiser = Summary(HASHER, capacity)
    listener = RemoteSummary(HASHER)
    held: list[str] = []
    for changes in told_in_turn:
        for adding, filter in changes:
            if adding:
                advertiser.add(filter)
                held.append(filter)
            elif filter in held:
                advertiser.remove(filter)
                held.remove(filter)
        listener.apply(advertiser.delta())
        assert listener.saturation() == pytest.approx(advertiser.index.counting.plain.saturation())
        for topic in asked:
            if any(matches(filter, topic) for filter in held):
                assert listener.may_match(topic)
            assert listener.may_match(topic) == advertiser.index.may_match(topic)


def test_before_anything_is_told_everything_may_be_wanted() -> None:
    listener = RemoteSummary(HASHER)
    assert listener.may_match("a")
    assert listener.size_in_bytes() == 0
    _, knowing = told("b")
    assert not knowing.may_match("a")


def test_a_subscription_costs_a_few_bytes_not_a_filter() -> None:
    advertiser = Summary(HASHER, capacity=20_000)
    for number in range(5_000):
        advertiser.add(f"site/{number}/temp")
    full = advertiser.full()
    advertiser.add("site/+/alarm")
    delta = advertiser.delta()
    assert len(full) > 30_000
    assert len(delta) < 150
    assert len(advertiser.delta()) < 60


def test_few_filters_are_few_bytes_whatever_the_capacity() -> None:
    advertiser = Summary(HASHER, capacity=20_000)
    advertiser.add("a/b")
    assert len(advertiser.full()) < 120


def test_adding_and_removing_at_once_is_no_change() -> None:
    advertiser, listener = told("a/b")
    before = listener.saturation()
    advertiser.add("x/y")
    advertiser.remove("x/y")
    listener.apply(advertiser.delta())
    assert listener.saturation() == before
    assert listener.version == advertiser.writer.version


def sealed(message: bytes) -> bytes:
    """The message with its last four bytes replaced by the right checksum."""
    return message[:-4] + zlib.crc32(message[:-4]).to_bytes(4, "big")


def with_byte(message: bytes, at: int, value: int) -> bytes:
    return sealed(message[:at] + bytes((value,)) + message[at + 1 :])


SATURATED = Summary(HASHER, capacity=64)
SATURATED.index.counting.plain.load((1 << int(SATURATED.index.counting.plain.size)) - 1)


def a_full() -> bytes:
    advertiser = Summary(HASHER)
    for number in range(200):
        advertiser.add(f"a/{number}")
    return advertiser.full()


def of_another_seed() -> bytes:
    return Summary(TopicHasher(b"another")).full()


def after_a_gap() -> bytes:
    advertiser, _ = told("a/b", "c/+")
    advertiser.delta()
    return advertiser.delta()


REFUSED = {
    "nothing": (b"", "not a Bloom summary"),
    "something else": (b"MQTT is not a summary", "not a Bloom summary"),
    "a flipped byte": (a_full()[:40] + b"\x00" + a_full()[41:], "checksum"),
    "a lost end": (a_full()[:-1], "checksum"),
    "a format of the future": (with_byte(a_full(), 2, 9), "format 9"),
    "an unknown kind": (with_byte(a_full(), 3, 7), "unknown kind"),
    "another seed": (of_another_seed(), "another deployment"),
    "no bits": (sealed(a_full()[:8] + b"\x00\x01" + a_full()[10:]), "out of range"),
    "cut short": (sealed(a_full()[:12] + b"...."), "ends too early"),
    "fewer bytes than bits": (sealed(a_full()[:-10]), "bytes of"),
    "bytes too many": (sealed(told("a")[0].full()[:-4] + b"\x00....."), "too many"),
    "a number without end": (sealed(a_full()[:8] + b"\xff" * 40), "too long"),
    "saturated": (SATURATED.full(), "saturated"),
    "a delta after a gap": (after_a_gap(), "continues version 2, and 1 is known"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_message_is_refused_and_changes_nothing(case: str) -> None:
    message, text = REFUSED[case]
    _, listener = told("a/b", "c/+")
    before = (listener.version, listener.saturation(), listener.size_in_bytes())
    with pytest.raises(SummaryError, match=text):
        listener.apply(message)
    assert (listener.version, listener.saturation(), listener.size_in_bytes()) == before
    assert listener.may_match("a/b")
    assert not listener.may_match("a/c")


@given(st.data())
def test_no_damage_goes_unnoticed(data: st.DataObject) -> None:
    advertiser, listener = told("a/b", "c/+")
    advertiser.add("d/#")
    message = bytearray(advertiser.delta())
    at = data.draw(st.integers(0, len(message) - 1))
    message[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SummaryError):
        listener.apply(bytes(message))
    assert not listener.may_match("d/e")


@given(st.data())
def test_a_forged_message_is_refused_or_harmless(data: st.DataObject) -> None:
    """Whoever can compute a checksum can write anything: it must not break the listener."""
    advertiser, listener = told("a/b", "c/+")
    message = bytearray(data.draw(st.sampled_from([advertiser.full(), advertiser.delta()])))
    for _ in range(data.draw(st.integers(1, 4))):
        message[data.draw(st.integers(2, len(message) - 5))] = data.draw(st.integers(0, 255))
    try:
        listener.apply(sealed(bytes(message)))
    except SummaryError:
        assert listener.may_match("a/b")
    listener.may_match("a/b")


def test_a_delta_for_another_size_is_refused() -> None:
    _, listener = told("a")
    other = Summary(HASHER, capacity=1000)
    other.full()
    with pytest.raises(SummaryError, match="another size"):
        listener.apply(other.delta())


def test_a_delta_of_another_summary_is_refused() -> None:
    _, listener = told("a")
    other = Summary(HASHER)
    other.add("b")
    other.full()
    with pytest.raises(SummaryError, match="does not follow"):
        listener.apply(other.delta())
