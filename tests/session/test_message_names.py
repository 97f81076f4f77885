"""Names of messages between brokers: put in front of any properties, taken off again."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.session.message import (
    NAME_BYTES,
    WAVE_BYTES,
    Message,
    named_at,
    with_name,
    with_publisher,
    without_name,
    without_publisher,
)
from gossamer.wire.frames import header_length
from gossamer.wire.packets import PUBLISH, V5
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import encode_properties

names = st.binary(min_size=NAME_BYTES, max_size=NAME_BYTES) | st.binary(
    min_size=WAVE_BYTES, max_size=WAVE_BYTES
)
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
    assert not named_at(message.changed(name=bytes(WAVE_BYTES)).named_tail(), 0)
