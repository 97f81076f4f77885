"""Packets and refusals byte by byte, from the tables in tests/cases."""

import pytest

from gossamer.wire.codec import decode, encode, ping_properties
from gossamer.wire.connect_codec import connect_version
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import V5, V311, Connack, Connect, Packet, Publish, Suback
from gossamer.wire.reasons import QUOTA_EXCEEDED
from tests.cases.wire_packets import PACKETS
from tests.cases.wire_refused import refused_cases
from tests.support.packet_bytes import properties, said, spelled


@pytest.mark.parametrize(("version", "text", "packet"), PACKETS)
def test_a_packet_reads_and_writes_as_the_standard_spells_it(
    version: int, text: str, packet: Packet
) -> None:
    data = spelled(text)
    assert packet_length(data, 0) == len(data)
    assert said(decode(data[0], data[header_length(data, 0) :], version)) == said(packet)
    assert encode(packet, version) == data


@pytest.mark.parametrize(("version", "head", "body", "reason", "text"), refused_cases())
def test_a_bad_packet_is_refused_with_the_reason_and_the_field(
    version: int, head: int, body: bytes, reason: int, text: str
) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode(head, body, version)
    assert caught.value.reason == reason
    assert text in caught.value.text


@pytest.mark.parametrize(("version", "text", "packet"), PACKETS)
def test_no_packet_may_be_cut_short(version: int, text: str, packet: Packet) -> None:
    """Each proper prefix is refused or is itself a whole packet that says something else."""
    data = spelled(text)
    body = data[header_length(data, 0) :]
    for end in range(len(body)):
        try:
            shorter = decode(data[0], body[:end], version)
        except ProtocolError:
            continue
        assert said(shorter) != said(packet)


def test_mqtt_31_is_served_as_311() -> None:
    connect = decode(0x10, spelled("00 06 'MQIsdp' 03 02 00 00 00 01 'a'"), 0)
    assert isinstance(connect, Connect)
    assert connect.version == V311
    assert connect.is_of_3_1


@pytest.mark.parametrize(
    ("body", "version"),
    [
        ("00 04 'MQTT' 05 ff", V5),
        ("00 04 'MQTT' 04", V311),
        ("00 06 'MQIsdp' 03", V311),
        ("00 04 'MQTT' 07", 0),
        ("00 04 'MQTT'", 0),
        ("00 02 ff fe 04", 0),
        ("", 0),
    ],
)
def test_the_version_can_be_told_from_a_broken_connect(body: str, version: int) -> None:
    assert connect_version(spelled(body)) == version


@pytest.mark.parametrize(
    ("reason", "code"), [(0, 0), (0x84, 1), (0x85, 2), (0x89, 3), (0x86, 4), (0x8A, 5), (0x80, 3)]
)
def test_a_311_connack_says_a_refusal_as_it_can(reason: int, code: int) -> None:
    assert encode(Connack(False, reason), V311) == bytes([0x20, 2, 0, code])


def test_a_311_suback_knows_only_one_failure() -> None:
    assert encode(Suback(1, [2, 0x8F]), V311) == spelled("90 04 00 01 02 80")


def test_user_properties_are_counted() -> None:
    packet = Publish("a", b"", properties=properties(user=[("k", "v")] * 3))
    data = encode(packet, V5)
    assert said(decode(data[0], data[2:], V5, max_user_properties=3)) == said(packet)
    with pytest.raises(ProtocolError) as caught:
        decode(data[0], data[2:], V5, max_user_properties=2)
    assert caught.value.reason == QUOTA_EXCEEDED


def test_a_ping_may_carry_user_properties_where_it_was_agreed() -> None:
    read = ping_properties(spelled("07 26 00 01 'k' 00 01 'v'"))
    assert read is not None
    assert read.user == [("k", "v")]
    with pytest.raises(ProtocolError):
        ping_properties(spelled("02 01 01"))
    with pytest.raises(ProtocolError):
        ping_properties(spelled("00 00"))


def test_what_no_packet_can_carry_is_not_encoded() -> None:
    with pytest.raises(ValueError):
        encode(Publish("a" * 65_536, b""), V5)
    with pytest.raises(ValueError):
        encode(Packet(), V5)
