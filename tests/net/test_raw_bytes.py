"""Bad input on a raw socket: its sender is told why and closed, and everyone else goes on."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.net.config.limits import Limits
from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    V5,
    V311,
    Acknowledgement,
    Connack,
    Disconnect,
    Packet,
    Pingresp,
    Publish,
    Request,
    Suback,
    Subscribe,
)
from tests.support.packet_bytes import properties, spelled
from tests.support.packet_strategies import packets
from tests.support.raw_socket import CONNECT_V5, CONNECT_V311, RawSocket
from tests.support.running_broker import running_gossamer


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running_gossamer(Limits(packet_size=10_000, user_properties=10)) as port:
        yield port


@pytest.fixture(scope="module")
def bystander(port: int) -> Iterator["Bystander"]:
    with RawSocket(port, V5) as raw:
        yield Bystander(raw)


class Bystander:
    """A client that has done nothing wrong and subscribes to what it publishes."""

    def __init__(self, raw: RawSocket) -> None:
        self._raw = raw
        self._said = 0
        raw.send(CONNECT_V5)
        raw.send(encode(Subscribe(1, [Request("bystander", 1)]), V5))
        assert isinstance(raw.packet(), Connack)
        assert isinstance(raw.packet(), Suback)

    def goes_on(self) -> None:
        self._said += 1
        payload = b"%d" % self._said
        self._raw.send(encode(Publish("bystander", payload, 1, packet_id=1), V5))
        seen = [self._raw.packet(), self._raw.packet()]
        [message] = [packet for packet in seen if isinstance(packet, Publish)]
        assert message.payload == payload
        self._raw.send(encode(Acknowledgement(4, message.packet_id), V5))


def connected(port: int, version: int) -> RawSocket:
    raw = RawSocket(port, version)
    raw.send(CONNECT_V5 if version == V5 else CONNECT_V311)
    answer = raw.packet()
    assert isinstance(answer, Connack)
    assert answer.reason == 0
    return raw


def user_properties(count: int) -> bytes:
    return encode(Publish("a", b"", properties=properties(user=[("k", "v")] * count)), V5)


# What a client sends after a good CONNECT, and the reason it is disconnected with.
OFFENCES: list[tuple[str, bytes, int]] = [
    ("a packet type that is reserved", spelled("00 00"), 0x81),
    ("flags that are reserved", spelled("c1 00"), 0x81),
    ("a length of five bytes", spelled("30 ff ff ff ff 01"), 0x81),
    ("a length that is padded", spelled("30 80 00"), 0x81),
    ("a packet that is too large", spelled("30 ff ff ff 7f"), 0x95),
    ("QoS 3", spelled("36 06 00 01 'a' 00 01 00"), 0x81),
    ("DUP at QoS 0", spelled("38 04 00 01 'a' 00"), 0x81),
    ("a wildcard in a topic name", spelled("30 04 00 01 '#' 00"), 0x90),
    ("a wildcard at QoS 1", spelled("32 06 00 01 '+' 00 01 00"), 0x90),
    ("no topic and no alias", spelled("30 03 00 00 00"), 0x82),
    ("a null in a topic name", spelled("30 05 00 02 'a' 00 00"), 0x81),
    ("a surrogate in a topic name", spelled("30 06 00 03 ed a0 80 00"), 0x81),
    ("packet identifier 0", spelled("32 06 00 01 'a' 00 00 00"), 0x82),
    ("packet identifier 0 in PUBACK", spelled("40 02 00 00"), 0x82),
    ("PUBREL with the wrong flags", spelled("60 02 00 01"), 0x81),
    ("topic alias 0", spelled("30 07 00 01 'a' 03 23 00 00"), 0x94),
    ("a topic alias above the maximum", spelled("30 07 00 01 'a' 03 23 ff ff"), 0x94),
    ("an alias without a topic", spelled("30 06 00 00 03 23 00 07"), 0x82),
    ("a subscription identifier", spelled("30 06 00 01 'a' 02 0b 01"), 0x82),
    ("a property twice", spelled("30 08 00 01 'a' 04 01 00 01 00"), 0x82),
    ("a property of another packet", spelled("30 07 00 01 'a' 03 21 00 01"), 0x81),
    ("too many user properties", user_properties(11), 0x97),
    ("SUBSCRIBE without a filter", spelled("82 03 00 01 00"), 0x82),
    ("SUBSCRIBE with reserved options", spelled("82 07 00 01 00 00 01 'a' c0"), 0x81),
    ("retain handling 3", spelled("82 07 00 01 00 00 01 'a' 30"), 0x82),
    ("UNSUBSCRIBE without a filter", spelled("a2 03 00 01 00"), 0x82),
    ("a second CONNECT", CONNECT_V5, 0x82),
    ("CONNACK, which is ours to send", spelled("20 03 00 00 00"), 0x82),
    ("SUBACK, which is ours to send", spelled("90 04 00 01 00 00"), 0x82),
    ("PINGRESP, which is ours to send", spelled("d0 00"), 0x82),
    ("PINGREQ with something in it", spelled("c0 01 00"), 0x81),
    ("AUTH without an exchange", spelled("f0 00"), 0x82),
    ("bytes after a DISCONNECT's end", spelled("e0 03 00 00 00"), 0x81),
    ("a session given a future at its end", spelled("e0 07 00 05 11 00 00 00 09"), 0x82),
]


@pytest.mark.parametrize(
    ("data", "reason"), [case[1:] for case in OFFENCES], ids=[case[0] for case in OFFENCES]
)
def test_an_offender_is_told_why_and_closed(
    port: int, bystander: Bystander, data: bytes, reason: int
) -> None:
    with connected(port, V5) as raw:
        raw.send(data)
        told = raw.rest()
        assert [type(packet) for packet in told] == [Disconnect]
        assert isinstance(told[0], Disconnect)
        assert told[0].reason == reason
        assert told[0].properties is not None
        assert told[0].properties.reason_string
    bystander.goes_on()


@pytest.mark.parametrize(
    "data",
    [
        spelled("36 05 00 01 'a' 00 01"),
        spelled("30 03 00 01 '#'"),
        spelled("32 05 00 01 'a' 00 00"),
        spelled("82 02 00 01"),
        spelled("82 06 00 01 00 01 'a' 04"),
        spelled("30 ff ff ff ff 01"),
        spelled("f0 00"),
        CONNECT_V311,
    ],
)
def test_in_311_an_offender_is_just_closed(port: int, bystander: Bystander, data: bytes) -> None:
    with connected(port, V311) as raw:
        raw.send(data)
        assert raw.rest() == []
    bystander.goes_on()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (spelled("10 0d 00 04 'MQTT' 05 03 00 00 00 00 00"), 0x81),
        (spelled("10 0d 00 04 'MQTT' 05 0a 00 00 00 00 00"), 0x81),
        (spelled("10 10 00 04 'MQTT' 05 02 00 00 03 21 00 00 00 00"), 0x82),
        (spelled("10 0f 00 04 'MQTT' 05 02 00 00 00 00 02 c3 28"), 0x81),
        (spelled("10 13 00 04 'MQTT' 05 06 00 00 00 00 00 00 00 01 '#' 00 00"), 0x90),
        (spelled("10 15 00 04 'MQTT' 05 02 00 00 08 15 00 05 'magic' 00 00"), 0x8C),
    ],
)
def test_a_bad_connect_is_refused_with_its_reason(
    port: int, bystander: Bystander, data: bytes, reason: int
) -> None:
    with RawSocket(port, V5) as raw:
        raw.send(data)
        [answer] = raw.rest()
        assert isinstance(answer, Connack)
        assert answer.reason == reason
    bystander.goes_on()


@pytest.mark.parametrize(
    ("data", "answered"),
    [
        (spelled("10 0c 00 04 'MQTT' 06 02 00 00 00 00"), 0x84),
        (spelled("10 0c 00 04 'MQTT' 04 03 00 00 00 00"), None),
        (spelled("30 03 00 01 'a'"), None),
        (spelled("c0 00"), None),
        (b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n", None),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", None),
        (spelled("10 ff ff ff 7f"), None),
    ],
)
def test_what_does_not_open_with_a_good_connect_gets_no_further(
    port: int, bystander: Bystander, data: bytes, answered: int | None
) -> None:
    with RawSocket(port, V311) as raw:
        raw.send(data)
        reasons = [packet.reason for packet in raw.rest() if isinstance(packet, Connack)]
        assert reasons == ([] if answered is None else [answered])
    bystander.goes_on()


def test_packets_may_come_a_byte_at_a_time(port: int) -> None:
    with connected(port, V5) as raw:
        for byte in encode(Subscribe(7, [Request("bytes", 0)]), V5) + b"\xc0\x00":
            raw.send(bytes([byte]))
        assert isinstance(raw.packet(), Suback)
        assert isinstance(raw.packet(), Pingresp)


def test_what_came_before_an_offence_is_done(port: int) -> None:
    with connected(port, V5) as watcher, connected(port, V5) as raw:
        watcher.send(encode(Subscribe(1, [Request("before/#", 0)]), V5))
        assert isinstance(watcher.packet(), Suback)
        raw.send(encode(Publish("before/offence", b"x"), V5) + b"\x00\x00")
        assert isinstance(raw.rest()[-1], Disconnect)
        message = watcher.packet()
        assert isinstance(message, Publish)
        assert message.topic == "before/offence"


def one_byte_changed(packet: Packet, place: int, byte: int) -> bytes:
    data = encode(packet, V5)
    at = place % len(data)
    return data[:at] + bytes([byte]) + data[at + 1 :]


nearly_packets = st.builds(
    one_byte_changed, packets(V5), st.integers(0, 10_000), st.integers(0, 255)
)


@settings(max_examples=200)
@given(st.booleans(), st.lists(st.binary(max_size=100) | nearly_packets, max_size=5))
def test_no_bytes_at_all_disturb_another_client(
    port: int, bystander: Bystander, opens: bool, chunks: list[bytes]
) -> None:
    with RawSocket(port, V5) as raw:
        if opens:
            raw.send(CONNECT_V5)
        for chunk in chunks:
            raw.send(chunk)
        raw.finish()
    bystander.goes_on()
