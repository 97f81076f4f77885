"""The pieces that receivers share are the packets that the codec would make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.session.message import Message
from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Publish,
)
from gossamer.wire.publish_codec import (
    IDENTIFIERS,
    PUBACK_HEAD,
    PUBCOMP_HEAD,
    PUBREC_HEAD,
    PUBREL_HEAD,
)
from tests.support.packet_strategies import publishes

versions = st.sampled_from([V311, V5])


def message_of(packet: Publish) -> Message:
    if packet.properties is not None:
        packet.properties.topic_alias = None
        packet.properties.subscription_ids = []
        packet.properties.message_expiry = None
    return Message(
        packet.topic or "t", packet.payload, packet.qos, False, packet.properties, 0.0, "", ""
    )


@given(versions.flatmap(lambda version: st.tuples(st.just(version), publishes(version))))
def test_shared_pieces_and_special_packets_are_what_the_codec_makes(
    case: tuple[int, Publish],
) -> None:
    version, packet = case
    message = message_of(packet)
    properties = packet.properties if version == V5 else None
    plain = Publish(
        message.topic, packet.payload, packet.qos, False, False, packet.packet_id, properties
    )
    pieces = message.head(version, packet.qos)
    if packet.qos:
        pieces += IDENTIFIERS[packet.packet_id] + message.tail(version)
    assert pieces == encode(plain, version)
    flagged = Publish(
        message.topic,
        packet.payload,
        packet.qos,
        True,
        packet.qos > 0,
        packet.packet_id,
        properties,
    )
    special = message.own_packet(
        version, packet.qos, True, packet.qos > 0, packet.packet_id, [], 0, False, 0.0
    )
    assert special == encode(flagged, version)


@pytest.mark.parametrize(
    ("kind", "head"),
    [
        (PUBACK, PUBACK_HEAD),
        (PUBREC, PUBREC_HEAD),
        (PUBREL, PUBREL_HEAD),
        (PUBCOMP, PUBCOMP_HEAD),
    ],
)
@pytest.mark.parametrize("version", [V311, V5])
@pytest.mark.parametrize("number", [1, 255, 256, 65_535])
def test_bare_answers(kind: int, head: bytes, version: int, number: int) -> None:
    assert head + IDENTIFIERS[number] == encode(Acknowledgement(kind, number), version)
