"""The client's protocol without IO, against a broker played by the test."""

import pytest

from gossamer.client.login import EnhancedAuthentication
from gossamer.client.protocol import ClientProtocol, Refused
from gossamer.wire.codec import decode, encode
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import PacketStream
from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Auth,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Pingresp,
    Publish,
    Request,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
)
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import (
    NOT_AUTHORIZED,
    PACKET_IDENTIFIER_NOT_FOUND,
    PACKET_TOO_LARGE,
    PROTOCOL_ERROR,
    QUOTA_EXCEEDED,
    TOPIC_ALIAS_INVALID,
)
from tests.support.packet_bytes import properties, said


def sent(client: ClientProtocol) -> list[object]:
    """What the client wants to send, as data."""
    data = client.take()
    return [said(decode(head, body, client.version)) for head, body in PacketStream().feed(data)]


def told(client: ClientProtocol, *packets: Packet) -> list[object]:
    """What the application sees when the broker sends these, in one chunk."""
    data = b"".join(encode(packet, client.version) for packet in packets)
    return [said(packet) for packet in client.receive(data)]


def connected(version: int = V5, offered: Properties | None = None) -> ClientProtocol:
    client = ClientProtocol(Connect("c", version))
    client.open()
    told(client, Connack(False, 0, offered))
    client.take()
    return client


def test_it_opens_with_connect_and_shows_the_answer() -> None:
    connect = Connect("c", V311, keep_alive=5)
    client = ClientProtocol(connect)
    client.open()
    assert sent(client) == [said(connect)]
    assert not client.connected
    assert told(client, Connack(False, 0)) == [said(Connack(False, 0))]
    assert client.connected


def test_a_refusal_is_shown_and_does_not_connect() -> None:
    client = ClientProtocol(Connect("c", V311))
    client.open()
    assert told(client, Connack(False, NOT_AUTHORIZED)) == [said(Connack(False, NOT_AUTHORIZED))]
    assert not client.connected


@pytest.mark.parametrize("version", [V311, V5])
def test_requests_get_their_answers(version: int) -> None:
    client = connected(version)
    first = client.subscribe([Request("a", 1)])
    second = client.unsubscribe(["a"])
    client.ping()
    expected = [Subscribe(first, [Request("a", 1)]), Unsubscribe(second, ["a"]), Pingreq()]
    assert sent(client) == [said(packet) for packet in expected]
    answers = [Suback(first, [1]), Unsuback(second, [0] if version == V5 else []), Pingresp()]
    assert told(client, *answers) == [said(packet) for packet in answers]


@pytest.mark.parametrize("version", [V311, V5])
def test_publications_end_with_their_last_acknowledgement(version: int) -> None:
    client = connected(version)
    assert client.publish("a", b"0") == 0
    once = client.publish("a", b"1", 1)
    exactly = client.publish("a", b"2", 2)
    assert client.unacknowledged == 2
    client.take()
    assert told(client, Acknowledgement(PUBACK, once)) == [said(Acknowledgement(PUBACK, once))]
    assert told(client, Acknowledgement(PUBREC, exactly)) == []
    assert sent(client) == [said(Acknowledgement(PUBREL, exactly))]
    assert told(client, Acknowledgement(PUBCOMP, exactly)) == [
        said(Acknowledgement(PUBCOMP, exactly))
    ]
    assert client.unacknowledged == 0


def test_a_refused_publication_ends_with_its_pubrec() -> None:
    client = connected()
    number = client.publish("a", b"", 2)
    refusal = Acknowledgement(PUBREC, number, QUOTA_EXCEEDED)
    assert told(client, refusal) == [said(refusal)]
    assert client.unacknowledged == 0


@pytest.mark.parametrize("version", [V311, V5])
def test_messages_are_acknowledged_and_exactly_once_is_once(version: int) -> None:
    client = connected(version)
    plain = Publish("a", b"0")
    once = Publish("a", b"1", 1, packet_id=1)
    exactly = Publish("a", b"2", 2, packet_id=2)
    again = Publish("a", b"2", 2, dup=True, packet_id=2)
    assert told(client, plain, once, exactly, again) == [said(plain), said(once), said(exactly)]
    received = said(Acknowledgement(PUBREC, 2))
    assert sent(client) == [said(Acknowledgement(PUBACK, 1)), received, received]
    assert told(client, Acknowledgement(PUBREL, 2)) == []
    assert sent(client) == [said(Acknowledgement(PUBCOMP, 2))]
    assert told(client, Publish("a", b"3", 2, packet_id=2)) != []


def test_a_release_of_nothing_is_told_so() -> None:
    client = connected()
    told(client, Acknowledgement(PUBREL, 9), Acknowledgement(PUBREC, 8))
    assert sent(client) == [
        said(Acknowledgement(PUBCOMP, 9, PACKET_IDENTIFIER_NOT_FOUND)),
        said(Acknowledgement(PUBREL, 8, PACKET_IDENTIFIER_NOT_FOUND)),
    ]


def test_no_more_in_flight_than_the_broker_takes() -> None:
    client = connected(offered=properties(receive_maximum=2))
    numbers = [client.publish("a", b"%d" % n, 1) for n in range(4)]
    assert len(sent(client)) == 2
    told(client, Acknowledgement(PUBACK, numbers[0]))
    assert sent(client) == [said(Publish("a", b"2", 1, packet_id=numbers[2]))]
    assert client.unacknowledged == 3


def test_a_kept_session_gets_what_it_has_not_acknowledged_in_the_first_order() -> None:
    client = ClientProtocol(Connect("c", V311, clean_start=False))
    client.open()
    told(client, Connack(False, 0))
    first = client.publish("a", b"1", 2)
    second = client.publish("a", b"2", 1)
    told(client, Acknowledgement(PUBREC, first))
    client.open()
    client.take()
    told(client, Connack(True, 0))
    assert sent(client) == [
        said(Acknowledgement(PUBREL, first)),
        said(Publish("a", b"2", 1, dup=True, packet_id=second)),
    ]


def test_a_lost_session_leaves_nothing_to_send() -> None:
    client = connected()
    client.publish("a", b"1", 1)
    client.open()
    client.take()
    told(client, Connack(False, 0))
    assert sent(client) == []
    assert client.unacknowledged == 0


def test_aliases_stand_for_topics_once_they_were_offered() -> None:
    client = ClientProtocol(Connect("c", properties=properties(topic_alias_maximum=1)))
    client.open()
    alias = properties(topic_alias=1)
    seen = told(
        client,
        Connack(False, 0),
        Publish("a", b"1", properties=alias),
        Publish("", b"2", properties=alias),
    )
    assert seen[2] == said(Publish("a", b"2", properties=alias))
    with pytest.raises(ProtocolError) as caught:
        told(client, Publish("b", b"", properties=properties(topic_alias=2)))
    assert caught.value.reason == TOPIC_ALIAS_INVALID


@pytest.mark.parametrize(
    "packet",
    [
        Connack(False, 0),
        Suback(7, [0]),
        Unsuback(7, [0]),
        Auth(0x18, properties(authentication_method="m")),
    ],
)
def test_a_broker_that_breaks_the_protocol_is_told_and_left(packet: Packet) -> None:
    client = connected()
    with pytest.raises(ProtocolError):
        told(client, packet)
    assert sent(client) == [said(Disconnect(PROTOCOL_ERROR))]
    assert not client.connected


def test_nothing_may_come_before_connack() -> None:
    client = ClientProtocol(Connect("c"))
    client.open()
    with pytest.raises(ProtocolError):
        told(client, Publish("a", b""))


def test_what_cannot_be_encoded_is_not_in_flight() -> None:
    client = connected()
    with pytest.raises(ValueError):
        client.publish("a" * 70_000, b"", 1)
    assert client.unacknowledged == 0


class Whisper(EnhancedAuthentication):
    """Knows one answer."""

    def __init__(self) -> None:
        super().__init__("WHISPER")

    def first(self) -> bytes | None:
        return b"hello"

    def respond(self, challenge: bytes) -> bytes:
        if challenge != b"who?":
            raise ValueError("an unknown challenge")
        return b"me"

    def verify(self, final: bytes) -> None:
        if final != b"welcome":
            raise ValueError("not the broker it should be")


def whispered(data: bytes) -> Properties:
    return properties(authentication_method="WHISPER", authentication_data=data)


def test_enhanced_authentication_goes_back_and_forth() -> None:
    client = ClientProtocol(Connect("c"), Whisper())
    client.open()
    assert sent(client) == [said(Connect("c", properties=whispered(b"hello")))]
    assert told(client, Auth(0x18, whispered(b"who?"))) == []
    assert sent(client) == [said(Auth(0x18, whispered(b"me")))]
    told(client, Connack(False, 0, whispered(b"welcome")))
    assert client.connected
    client.reauthenticate()
    assert sent(client) == [said(Auth(0x19, whispered(b"hello")))]
    done = Auth(0, whispered(b"welcome"))
    assert told(client, done) == [said(done)]


@pytest.mark.parametrize(
    "packet", [Auth(0x18, whispered(b"what?")), Connack(False, 0, whispered(b"go away"))]
)
def test_a_broker_that_cannot_prove_itself_is_not_trusted(packet: Packet) -> None:
    client = ClientProtocol(Connect("c"), Whisper())
    client.open()
    with pytest.raises(ProtocolError) as caught:
        told(client, packet)
    assert caught.value.reason == NOT_AUTHORIZED
    assert not client.connected


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_what_is_too_large_for_the_broker_is_not_sent(qos: int) -> None:
    protocol = ClientProtocol(Connect("c", V5))
    protocol.open()
    protocol.receive(encode(Connack(False, 0, properties(maximum_packet_size=100)), V5))
    protocol.take()
    with pytest.raises(Refused) as caught:
        protocol.publish("topic", b"x" * 100, qos)
    assert caught.value.reason == PACKET_TOO_LARGE
    assert protocol.take() == b""
    assert protocol.unacknowledged == 0
    protocol.publish("topic", b"x" * 80, qos)
    assert 80 < len(protocol.take()) <= 100
