"""CONNECT and CONNACK: sections 3.1 and 3.2."""

import pytest

from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    PUBACK,
    V5,
    V311,
    Acknowledgement,
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Publish,
    Request,
    Subscribe,
    Will,
)
from gossamer.wire.properties import Properties
from tests.support.conformance import GONE, clauses, ending, is_alive
from tests.support.memory import MemoryClient, World, properties
from tests.support.packet_bytes import spelled


def told(client: MemoryClient) -> Properties:
    """The properties of the CONNACK."""
    found = client.connack.properties
    assert found is not None
    return found


def connack_of(client: MemoryClient) -> Connack | None:
    packets = client.take()
    assert len(packets) <= 1
    if not packets:
        return None
    assert isinstance(packets[0], Connack)
    return packets[0]


@clauses("3.1.0-1", v311="3.1.0-1")
@pytest.mark.parametrize("kind", range(16))
def test_the_first_packet_is_connect(world: World, version: int, kind: int) -> None:
    if kind == 1:
        return
    visitor = world.visitor(version)
    visitor.send_bytes(bytes((kind << 4, 0)))
    assert ending(visitor) == GONE


@clauses("3.1.0-2", v311="3.1.0-2")
def test_a_second_connect_ends_the_connection(world: World, version: int) -> None:
    client = world.client("c", version)
    client.send(Connect("c", version))
    assert ending(client) == (0x82 if version == V5 else GONE)


@pytest.mark.parametrize(
    ("start", "answer"),
    [
        pytest.param("00 04 'MQTT' 03", 1, id="MQTT-3.1.2-2 level 3"),
        pytest.param("00 04 'MQTT' 06", 1, id="MQTT-3.1.2-2 level 6"),
        pytest.param("00 04 'MQTT' 84", 1, id="MQTT-3.1.2-2 level 0x84"),
        pytest.param("00 04 'MQTX' 04", 1, id="MQTT-3.1.2-1 another name"),
        pytest.param("00 04 'mqtt' 05", 1, id="MQTT-3.1.2-1 in small letters"),
        pytest.param("00 06 'MQIsdp' 04", 1, id="MQTT-3.1.2-1 of 3.1 with the level of 3.1.1"),
        pytest.param("00 06 'MQIsdp' 03", 0, id="MQTT 3.1 is served as 3.1.1"),
    ],
)
def test_protocol_name_and_level(world: World, start: str, answer: int) -> None:
    visitor = world.visitor(V311)
    body = spelled(start + " 02 00 00 00 01 'c'")
    visitor.send_bytes(bytes((0x10, len(body))) + body)
    # The bytes of a 3.1.1 CONNACK, the only one that such a client is sure to know.
    assert visitor.sink.data == bytes((0x20, 2, 0, answer))
    assert visitor.is_closed == (answer != 0)


# By the numbers of 5.0.
BAD_FLAGS = [
    pytest.param(0x03, "", id="MQTT-3.1.2-3 reserved flag"),
    pytest.param(0x0A, "", id="MQTT-3.1.2-11 will QoS without will"),
    pytest.param(0x22, "", id="MQTT-3.1.2-13 will retain without will"),
    pytest.param(0x1E, "00 01 'w' 00 01 'x'", id="MQTT-3.1.2-12 will QoS 3"),
    pytest.param(0x06, "", id="MQTT-3.1.2-9 will flag without will"),
    pytest.param(0x82, "", id="MQTT-3.1.2-17 user name flag without user name"),
    pytest.param(0x02, "00 01 'u'", id="MQTT-3.1.2-16 user name without its flag"),
    pytest.param(0xC2, "00 01 'u'", id="MQTT-3.1.2-19 password flag without password"),
    pytest.param(0x82, "00 01 'u' 00 01 'p'", id="MQTT-3.1.2-18 password without its flag"),
]


@clauses(
    "3.1.4-1",
    v311="3.1.4-1 3.1.2-9 3.1.2-11 3.1.2-13 3.1.2-14 3.1.2-15 3.1.2-18 3.1.2-19 3.1.2-20 3.1.2-21",
)
@pytest.mark.parametrize(("flags", "rest"), BAD_FLAGS)
def test_flags_and_payload_agree(world: World, version: int, flags: int, rest: str) -> None:
    visitor = world.visitor(version)
    level = spelled("05") if version == V5 else spelled("04")
    fields = spelled(rest)
    if version == V5:
        fields = (b"\x00" + fields) if flags & 4 and fields else fields
    body = spelled("00 04 'MQTT'") + level + bytes((flags, 0, 0))
    body += (b"\x00" if version == V5 else b"") + spelled("00 01 'c'") + fields
    visitor.send_bytes(bytes((0x10, len(body))) + body)
    answer = connack_of(visitor)
    if version == V5:
        assert answer is not None
        assert answer.reason == 0x81
    else:
        assert answer is None  # "close the Network Connection without sending a CONNACK"
    assert visitor.is_closed


def test_a_password_alone(world: World) -> None:
    """Allowed in 5.0; in 3.1.1 [MQTT-3.1.2-22] forbids it."""
    for version, served in ((V5, True), (V311, False)):
        visitor = world.visitor(version)
        visitor.send(Connect(f"c{version}", version, password=b"secret"))
        assert (connack_of(visitor) is not None) == served
        assert visitor.is_closed != served


BAD_TEXTS = [
    pytest.param("00 02 c3 28", id="MQTT-1.5.4-1 ill-formed"),
    pytest.param("00 03 ed a0 80", id="MQTT-1.5.4-1 a surrogate"),
    pytest.param("00 02 c0 80", id="MQTT-1.5.4-1 an overlong null"),
    pytest.param("00 04 f4 90 80 80", id="MQTT-1.5.4-1 above U+10FFFF"),
    pytest.param("00 03 'a' 00 'b'", id="MQTT-1.5.4-2 null"),
]


@clauses("3.1.3-4", v311="3.1.3-4 1.5.3-1 1.5.3-2")
@pytest.mark.parametrize("text", BAD_TEXTS)
def test_a_client_identifier_is_text(world: World, version: int, text: str) -> None:
    visitor = world.visitor(version)
    start = "00 04 'MQTT' 05 02 00 00 00" if version == V5 else "00 04 'MQTT' 04 02 00 00"
    body = spelled(start) + spelled(text)
    visitor.send_bytes(bytes((0x10, len(body))) + body)
    answer = connack_of(visitor)
    assert answer is None if version == V311 else answer is not None and answer.reason == 0x81
    assert visitor.is_closed


@clauses("3.1.3-12", v311="3.1.3-11")
@pytest.mark.parametrize("text", BAD_TEXTS)
def test_a_user_name_is_text(world: World, version: int, text: str) -> None:
    visitor = world.visitor(version)
    start = "00 04 'MQTT' 05 82 00 00 00" if version == V5 else "00 04 'MQTT' 04 82 00 00"
    body = spelled(start) + spelled("00 01 'c'") + spelled(text)
    visitor.send_bytes(bytes((0x10, len(body))) + body)
    answer = connack_of(visitor)
    assert answer is None if version == V311 else answer is not None and answer.reason == 0x81
    assert visitor.is_closed


@clauses("3.1.3-1 3.1.3-3", v311="3.1.3-1 3.1.3-3")
def test_the_fields_of_the_payload_in_their_order(world: World, version: int) -> None:
    reader = world.client("r")
    reader.subscribe("w")
    visitor = world.visitor(version)
    fields = "00 01 'c'" + (" 00" if version == V5 else "")
    fields += "00 01 'w' 00 04 'gone' 00 04 'user' 00 04 'word'"
    start = "00 04 'MQTT' 05 c6 00 00 00" if version == V5 else "00 04 'MQTT' 04 c6 00 00"
    body = spelled(start) + spelled(fields)
    visitor.send_bytes(bytes((0x10, len(body))) + body)
    answer = connack_of(visitor)
    assert answer is not None
    assert answer.reason == 0
    assert world.broker.core.sessions["c"].user == "user"
    visitor.lose()
    assert reader.payloads() == ["gone"]


@clauses("3.1.3-5", v311="3.1.3-5")
@pytest.mark.parametrize(
    "name",
    [
        "0123456789abcdefghijklm",
        "nopqrstuvwxyzABCDEFGHIJ",
        "KLMNOPQRSTUVWXYZ",
        "a",
        "with spaces, /+#$ and é水𐐀",
        "\ufeffbyte order mark",
        "long" * 1000,
    ],
)
def test_client_identifiers(world: World, version: int, name: str) -> None:
    client = world.client(name, version)
    assert name in world.broker.core.sessions
    if version == V5:
        assert told(client).assigned_client_id is None


@clauses("3.1.3-6 3.1.3-7 3.2.2-16", v311="3.1.3-6")
def test_no_client_identifier_is_given_one(world: World, version: int) -> None:
    clients = [world.client("", version) for _ in range(3)]
    names = set(world.broker.core.sessions)
    assert len(names) == 3
    if version == V5:
        assert {told(client).assigned_client_id for client in clients} == names
        assert told(world.client("", clean=False)).assigned_client_id


@clauses(v311="3.1.3-7 3.1.3-8 3.2.2-4 3.2.2-5")
def test_no_client_identifier_and_no_clean_session(world: World, version: int) -> None:
    visitor = world.visitor(version)
    visitor.send(Connect("", version, clean_start=False))
    assert visitor.sink.data == b"\x20\x02\x00\x02"
    assert visitor.is_closed


@clauses("3.1.3-8", v311="3.1.3-9")
def test_a_client_identifier_that_is_not_accepted(world: World, version: int) -> None:
    visitor = world.visitor(version)
    visitor.connect("$mesh/stranger")
    assert visitor.connack.reason == 0x85
    assert visitor.is_closed


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        pytest.param("03 21 00 00", 0x82, id="3.1.2.11.3 receive maximum 0"),
        pytest.param("05 27 00 00 00 00", 0x82, id="3.1.2.11.4 maximum packet size 0"),
        pytest.param("02 17 02", 0x82, id="3.1.2.11.7 request problem information 2"),
        pytest.param("02 19 02", 0x82, id="3.1.2.11.6 request response information 2"),
        pytest.param("06 21 00 05 21 00 05", 0x82, id="3.1.2.11.3 receive maximum twice"),
        pytest.param("0a 11 00 00 00 01 11 00 00 00 01", 0x82, id="3.1.2.11.2 expiry twice"),
        pytest.param("04 16 00 01 'x'", 0x82, id="3.1.2.11.10 data without a method"),
        pytest.param("02 01 00", 0x81, id="2.2.2.2 a property of PUBLISH"),
        pytest.param("05 18 00 00 00 01", 0x81, id="2.2.2.2 will delay outside the will"),
        pytest.param("02 7f 00", 0x81, id="2.2.2.2 an unknown property"),
        pytest.param("05 26 00 01 'a' 00", 0x81, id="MQTT-1.5.7-1 half a pair"),
        pytest.param("07 26 00 01 ff 00 01 'b'", 0x81, id="MQTT-1.5.7-1 ill-formed name"),
        pytest.param("80 00", 0x81, id="MQTT-1.5.5-1 padded length"),
    ],
)
def test_properties_of_connect(world: World, block: str, reason: int) -> None:
    visitor = world.visitor()
    body = spelled("00 04 'MQTT' 05 02 00 00") + spelled(block) + spelled("00 01 'c'")
    visitor.send_bytes(bytes((0x10, len(body))) + body)
    answer = connack_of(visitor)
    assert answer is not None
    assert answer.reason == reason
    assert not answer.session_present
    assert visitor.is_closed
    assert not world.broker.core.sessions


@clauses("3.1.4-5 3.2.0-1 3.2.2-1", v311="3.1.4-4 3.2.0-1")
def test_connack_comes_first_and_once(world: World, version: int) -> None:
    visitor = world.visitor(version)
    visitor.send(
        Connect("c", version),
        Subscribe(1, [Request("t", 1)]),
        Publish("t", b"early", 1, packet_id=2),
        Pingreq(),
    )
    kinds = [packet.kind for packet in visitor.take()]
    assert kinds[0] == 2
    assert sorted(kinds[1:]) == [3, 4, 9, 13]  # what came before the answer is done all the same


@clauses("3.2.0-2", v311="3.2.0-1")
def test_there_is_one_connack(world: World, version: int) -> None:
    client = world.client("c", version)
    client.send(Connect("c", version))
    assert not any(isinstance(packet, Connack) for packet in client.take())


@clauses("3.1.4-6 3.2.2-6 3.2.2-7 3.2.2-8", v311="3.1.4-5 3.2.2-4 3.2.2-5")
def test_nothing_after_a_refused_connect_is_done(world: World, version: int) -> None:
    reader = world.client("r")
    reader.subscribe("#")
    visitor = world.visitor(version)
    visitor.send(
        Connect("$mesh/stranger", version), Publish("t", b"x"), Publish("t", b"y", 1, packet_id=1)
    )
    answer = connack_of(visitor)
    assert answer is not None
    assert answer.reason == 0x85
    assert not answer.session_present
    assert visitor.is_closed
    assert reader.messages() == []


@clauses("3.14.0-1")
def test_no_disconnect_before_connack(world: World, version: int) -> None:
    visitor = world.visitor(version)
    visitor.send_bytes(spelled("10 0d 00 04 'MQTT' 05 01 00 00 00 00 00"))
    assert not any(isinstance(packet, Disconnect) for packet in visitor.take())


def test_what_an_ordinary_connack_says(world: World) -> None:
    """Absent: Maximum QoS, Retain Available, wildcards, identifiers, shared: all are served."""
    properties_told = told(world.client("c", keep_alive=30, expiry=60))
    assert properties_told.receive_maximum == world.settings.receive_maximum
    assert properties_told.maximum_packet_size == world.settings.max_packet
    assert properties_told.topic_alias_maximum == world.settings.max_topic_alias
    for name in (
        "session_expiry",
        "assigned_client_id",
        "server_keep_alive",
        "maximum_qos",
        "retain_available",
        "wildcard_subscription_available",
        "subscription_ids_available",
        "shared_subscription_available",
        "response_information",
        "authentication_method",
        "reason_string",
        "server_reference",
    ):
        assert getattr(properties_told, name) is None, name
    assert properties_told.user == []


@clauses("3.1.2-28")
@pytest.mark.parametrize(("asked", "answer"), [(None, None), (0, None), (1, "replies/")])
def test_response_information(version: int, asked: int | None, answer: str | None) -> None:
    world = World(response_information="replies/")
    client = world.client("c", version, request_response_information=asked)
    assert told(client).response_information == answer


@clauses("3.1.2-21 3.2.2-21 3.2.2-22")
@pytest.mark.parametrize(
    ("asked", "most", "agreed"), [(0, 60, 60), (100, 60, 60), (60, 60, None), (30, 60, None)]
)
def test_server_keep_alive(version: int, asked: int, most: int, agreed: int | None) -> None:
    world = World(max_keep_alive=most)
    client = world.client("c", version, keep_alive=asked)
    assert told(client).server_keep_alive == agreed
    world.wait((agreed or asked) * 1.5 - 1)
    assert not client.is_closed
    world.wait(2)
    assert client.is_closed


@clauses("3.1.2-22", v311="3.1.2-24")
def test_keep_alive_is_kept_by_any_packet_and_ends_silence(world: World, version: int) -> None:
    client = world.client("c", version, keep_alive=10)
    client.subscribe("t", qos=1)
    for packet in (Pingreq(), Publish("t", b"x", 1, packet_id=9), Acknowledgement(PUBACK, 1)):
        world.wait(14)
        client.send(packet)
    client.take()
    world.wait(14)
    assert not client.is_closed
    world.wait(2)
    assert ending(client) == (0x8D if version == V5 else GONE)


@clauses("3.1.2-22", v311="3.1.2-24")
def test_keep_alive_0_is_for_ever(world: World, version: int) -> None:
    client = world.client("c", version, keep_alive=0)
    world.wait(10_000_000)
    assert is_alive(client)


@clauses("3.1.2-22", v311="3.1.2-24")
def test_what_we_send_does_not_keep_a_client_alive(world: World, version: int) -> None:
    client = world.client("c", version, keep_alive=10)
    client.subscribe("t")
    writer = world.client("w")
    for _ in range(4):
        world.wait(4)
        writer.publish("t")
    assert client.is_closed


@clauses("3.1.3-11", v311="3.1.3-10")
@pytest.mark.parametrize("topic", ["00 01 '#'", "00 02 'a+'", "00 00", "00 02 c3 28"])
def test_a_will_topic_is_a_topic_name(world: World, version: int, topic: str) -> None:
    visitor = world.visitor(version)
    will = spelled(topic) + spelled("00 01 'x'")
    if version == V5:
        body = spelled("00 04 'MQTT' 05 06 00 00 00 00 01 'c' 00") + will
    else:
        body = spelled("00 04 'MQTT' 04 06 00 00 00 01 'c'") + will
    visitor.send_bytes(bytes((0x10, len(body))) + body)
    answer = connack_of(visitor)
    assert visitor.is_closed
    if version == V5:
        assert answer is not None
        assert answer.reason in (0x81, 0x90)
    else:
        assert answer is None


@clauses("3.1.4-2", v311="4.8.0-1")
def test_a_will_topic_over_the_limits_is_refused_not_fatal(world: World, version: int) -> None:
    visitor = world.visitor(version)
    visitor.send(Connect("c", version, will=Will("/" * 300, b"x")))
    answer = connack_of(visitor)
    assert visitor.is_closed
    if version == V5:
        assert answer is not None
        assert answer.reason == 0x90


def test_a_connect_may_carry_the_largest_will(world: World) -> None:
    client = world.client("c", will=Will("w", b"x" * 65_535))
    reader = world.client("r")
    reader.subscribe("w")
    client.lose()
    assert [len(message.payload) for message in reader.messages()] == [65_535]


def test_a_connect_may_come_in_pieces(world: World) -> None:
    visitor = world.visitor()
    for byte in encode(Connect("c", properties=properties(user=[("a", "b")])), V5):
        visitor.send_bytes(bytes((byte,)))
    assert connack_of(visitor) is not None
