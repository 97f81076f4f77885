"""What is packed reads back as it was, whoever published it."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.session.message import Message
from gossamer.session.message_bytes import (
    packed_bytes,
    packed_message,
    packed_topic,
    unpacked_message,
)
from gossamer.session.message_names import NAME_BYTES
from gossamer.wire.packets import V5, Publish
from gossamer.wire.properties import Properties
from tests.support.packet_strategies import publishes

# Not the text of packets: a token may name a user who has U+0000 in the name.
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
WAVES = st.sampled_from([0, NAME_BYTES, 2 * NAME_BYTES]).flatmap(
    lambda size: st.binary(min_size=size, max_size=size)
)


def stated(properties: Properties | None) -> dict[str, object]:
    """None and a block without any are the same."""
    properties = Properties() if properties is None else properties
    named = [name for name in dir(properties) if not name.startswith("_")]
    return {name: getattr(properties, name) for name in named}


@given(
    packet=publishes(V5),
    publisher=names,
    user=names,
    name=WAVES,
    expires_at=st.floats(0, 1e17),
    before=st.binary(max_size=20),
)
def test_a_packed_message_reads_back(
    packet: Publish, publisher: str, user: str, name: bytes, expires_at: float, before: bytes
) -> None:
    message = Message(
        packet.topic or "t",
        packet.payload,
        packet.qos,
        packet.retain,
        packet.properties,
        expires_at,
        publisher,
        user,
        name=name,
    )
    packed = packed_message(message)
    assert packed_bytes(message) == len(packed)
    assert packed_topic(before + packed, len(before)) == message.topic
    again = unpacked_message(before + packed, len(before))
    for field in ("topic", "payload", "qos", "retain", "expires_at", "publisher", "user", "name"):
        assert getattr(again, field) == getattr(message, field)
    assert stated(again.properties) == stated(message.properties)
