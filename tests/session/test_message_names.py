"""Names of messages between brokers: put in front of any properties, taken off again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.session.link_properties import (
    named_at,
    with_name,
    with_publisher,
    without_name,
    without_publisher,
)
from gossamer.session.message import Message
from gossamer.session.message_names import (
    MOST_IN_RUN,
    NAME_BYTES,
    RUN_NAME_BYTES,
    count_of,
    is_name,
    is_run,
    is_wave,
    own_name,
    run_name,
    single_names,
)
from gossamer.wire.frames import header_length
from gossamer.wire.packets import PUBLISH, V5
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import encode_properties

single = st.binary(min_size=NAME_BYTES, max_size=NAME_BYTES)
runs = st.builds(run_name, single, st.integers(2, MOST_IN_RUN))
names = single | runs | st.builds(bytes.__add__, single, single | runs)
users = st.lists(st.tuples(st.text("ab", max_size=90), st.text("ab", max_size=90)), max_size=3)


@given(names, users, st.binary(max_size=5), st.binary(max_size=5))
def test_what_was_named_is_as_before_without_its_name(
    name: bytes, user: list[tuple[str, str]], before: bytes, after: bytes
) -> None:
    properties = Properties()
    properties.user = user
    block = encode_properties(properties, PUBLISH)
    body = before + with_name(block, name) + after
    assert without_name(body, len(before)) == (name, before + block + after)


@given(users, st.binary(max_size=40))
def test_what_has_no_name_stays_as_it_is(user: list[tuple[str, str]], after: bytes) -> None:
    properties = Properties()
    properties.user = user
    body = encode_properties(properties, PUBLISH) + after
    assert without_name(body, 0) == (b"", body)


@given(st.binary(max_size=40), st.integers(0, 45))
def test_noise_is_no_reason_to_fail(body: bytes, position: int) -> None:
    without_name(body, position)
    without_publisher(body, position)


@given(names | st.just(b""), st.binary(max_size=300), users, st.binary(max_size=5))
def test_a_publisher_is_told_behind_the_name(
    name: bytes, publisher: bytes, user: list[tuple[str, str]], after: bytes
) -> None:
    properties = Properties()
    properties.user = user
    block = encode_properties(properties, PUBLISH)
    told = with_publisher(block, publisher)
    named, body = without_name((with_name(told, name) if name else told) + after, 0)
    assert named == name
    assert without_publisher(body, 0) == (publisher, block + after)
    assert without_publisher(block + after, 0) == (b"", block + after)


def test_neighbours_get_the_name_and_clients_do_not() -> None:
    message = Message("t", b"payload", 1, False, None, 0.0, "", "", name=bytes(range(NAME_BYTES)))
    named = message.named_head(1) + b"\0\1" + message.named_tail()
    at = header_length(named, 0) + 2 + 1 + 2
    assert named_at(named, at)
    name, plain = without_name(named, at)
    assert name == message.name
    assert plain.endswith(b"\0\1\0payload")
    assert message.name not in message.head(V5, 1) + message.tail(V5)
    assert not named_at(message.changed(name=bytes(2 * NAME_BYTES)).named_tail(), 0)
    run = message.changed(name=run_name(message.name, 7))
    assert named_at(run.named_tail(), 0) == RUN_NAME_BYTES


def number(name: bytes) -> int:
    return int.from_bytes(name, "big")


@given(st.integers(0, 2**64 - 10), st.integers(1, 9), st.none() | st.integers(0, 2**64 - 10))
def test_a_run_is_its_messages(first: int, count: int, wave: int | None) -> None:
    name = run_name(b"brokerno" + first.to_bytes(8, "big"), count)
    if wave is not None:
        name = b"anothers" + wave.to_bytes(8, "big") + name
    assert is_name(name)
    assert is_run(name) == (count > 1)
    assert is_wave(name) == (wave is not None)
    assert count_of(name) == count
    singles = single_names(name)
    assert [number(own_name(one)[8:]) for one in singles] == list(range(first, first + count))
    if wave is not None:
        waves = [number(one[8:NAME_BYTES]) for one in singles]
        assert waves == list(range(wave, wave + count))
    assert all(is_name(one) and not is_run(one) for one in singles)


@pytest.mark.parametrize(
    "name",
    [
        b"",
        bytes(NAME_BYTES - 1),
        bytes(RUN_NAME_BYTES),  # of no messages
        bytes(NAME_BYTES) + (MOST_IN_RUN + 1).to_bytes(4, "big"),
        b"brokerno" + b"\xff" * 8 + (2).to_bytes(4, "big"),  # past the last counter
        bytes(3 * NAME_BYTES),
    ],
)
def test_what_is_no_name(name: bytes) -> None:
    assert not is_name(name)


def test_a_run_by_itself_is_messages_of_one_size() -> None:
    name = run_name(b"brokerno" + bytes(8), 3)
    run = Message("t", b"aabbcc", 2, False, None, 0.0, "by", "of", name=name)
    singles = run.singles()
    assert [one.payload for one in singles] == [b"aa", b"bb", b"cc"]
    assert [one.name for one in singles] == single_names(name)
    assert {(one.topic, one.qos, one.publisher, one.user) for one in singles} == {
        ("t", 2, "by", "of")
    }
    assert [one.payload for one in run.changed(name=run_name(name[:NAME_BYTES], 6)).singles()] == [
        b"a",
        b"a",
        b"b",
        b"b",
        b"c",
        b"c",
    ]
