"""PUBLISH: section 3.3. Flags, topic, properties, aliases, expiry; what subscribers then see."""

from typing import Any

import pytest

from gossamer.wire.packets import PUBACK, PUBREC, V5, V311, Acknowledgement, Publish
from tests.support.conformance import GONE, clauses, ending, publications
from tests.support.memory import World, properties
from tests.support.packet_bytes import spelled


@clauses("3.3.1-3 4.3.1-1", v311="3.3.1-3")
@pytest.mark.parametrize("qos", [1, 2])
def test_dup_is_not_passed_on(world: World, version: int, qos: int) -> None:
    reader = world.client("r", version)
    reader.subscribe("t", qos=qos)
    writer = world.client("w", version)
    writer.send(Publish("t", b"x", qos, dup=True, packet_id=7))
    assert [message.dup for message in publications(reader.take())] == [False]


@clauses("3.3.1-2", v311="3.3.1-2")
def test_dup_at_qos_0_is_malformed(world: World, version: int) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled("38 04 00 01 'a' 00"))
    assert ending(client) == (0x81 if version == V5 else GONE)


@clauses("3.3.1-4", v311="3.3.1-4")
@pytest.mark.parametrize("head", ["36", "37", "3e", "3f"])
def test_qos_3_is_malformed(world: World, version: int, head: str) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled(head + " 06 00 01 'a' 00 01 00"))
    assert ending(client) == (0x81 if version == V5 else GONE)


@clauses("3.3.2-1 1.5.4-1 4.7.3-2", v311="3.3.2-1 1.5.3-1 4.7.3-2")
@pytest.mark.parametrize(
    "topic", ["00 02 c3 28", "00 03 ed bf bf", "00 02 c1 81", "00 03 'a' 00 'b'"]
)
@pytest.mark.parametrize("qos", [0, 1])
def test_a_topic_name_is_text(world: World, version: int, topic: str, qos: int) -> None:
    client = world.client("c", version)
    body = spelled(topic) + (b"\x00\x01" if qos else b"") + (b"\x00" if version == V5 else b"")
    client.send_bytes(bytes((0x30 | qos << 1, len(body))) + body)
    assert ending(client) == (0x81 if version == V5 else GONE)


@clauses("1.5.4-3 4.7.3-4", v311="1.5.3-3 4.7.3-4")
def test_topics_are_compared_as_they_are(world: World, version: int) -> None:
    reader = world.client("r", version)
    reader.subscribe("\ufefft", "e\u0301", "A/ b ", "a//b", "\u007f\u0001/\uffff")
    writer = world.client("w", version)
    for topic in ("t", "\ufefft", "\u00e9", "e\u0301", "a/ b ", "A/ b ", "A/b", "a//b", "a/b"):
        writer.publish(topic)
    writer.publish("\u007f\u0001/\uffff")
    seen = [message.topic for message in reader.messages()]
    assert seen == ["\ufefft", "e\u0301", "A/ b ", "a//b", "\u007f\u0001/\uffff"]


@clauses("3.3.2-2 4.7.0-1", v311="3.3.2-2 4.7.1-1")
@pytest.mark.parametrize("topic", ["#", "+", "a/#", "a/+/b", "a#", "+a"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_no_wildcards_in_topic_names(world: World, version: int, topic: str, qos: int) -> None:
    client = world.client("c", version)
    client.send(Publish(topic, b"", qos, packet_id=1 if qos else 0))
    assert ending(client) == (0x90 if version == V5 else GONE)


@clauses("4.7.3-1", v311="4.7.3-1")
@pytest.mark.parametrize("qos", [0, 1])
def test_no_empty_topic_names(world: World, version: int, qos: int) -> None:
    client = world.client("c", version)
    client.send(Publish("", b"", qos, packet_id=qos))
    assert ending(client) == (0x82 if version == V5 else GONE)


@clauses("4.7.3-3", v311="4.7.3-3")
def test_the_longest_topic(world: World, version: int) -> None:
    topic = "ä" * 32_767 + "x"
    client = world.client("c", version)
    assert client.subscribe(topic, qos=1) == [1]
    client.publish(topic, "far", qos=1)
    (message,) = publications(client.take())
    assert message.topic == topic


@clauses("2.2.1-3", v311="2.3.1-1")
@pytest.mark.parametrize("head", ["32", "34", "3a"])
def test_packet_identifier_0(world: World, version: int, head: str) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled(head + " 06 00 01 'a' 00 00 00"))
    assert ending(client) == (0x82 if version == V5 else GONE)


@clauses("2.2.1-2 2.2.2-1", v311="2.3.1-5")
@pytest.mark.parametrize("head", ["30", "32"])
def test_identifier_and_properties_are_where_the_qos_says(
    world: World, version: int, head: str
) -> None:
    reader = world.client("r", version)
    reader.subscribe("a", qos=1)
    writer = world.client("w", version)
    rest = "" if version == V311 else " 00"
    if head == "30":
        writer.send_bytes(spelled(f"30 0{3 + len(rest) // 3 + 2} 00 01 'a'{rest} 'xy'"))
    else:
        writer.send_bytes(spelled(f"32 0{5 + len(rest) // 3 + 2} 00 01 'a' 00 09{rest} 'xy'"))
    data = reader.sink.data
    expected = spelled("00 01 'a'" + (" 00 01" if head == "32" else "") + rest) + b"xy"
    assert data == bytes((int(head, 16), len(expected))) + expected


@clauses("3.3.4-1 4.3.2-4 4.3.3-8 2.2.1-5", v311="3.3.4-1 2.3.1-6 4.3.2-2 4.3.3-2")
@pytest.mark.parametrize(("qos", "answers"), [(0, []), (1, [PUBACK]), (2, [PUBREC])])
def test_each_qos_has_its_answer(world: World, version: int, qos: int, answers: list[int]) -> None:
    world.client("r").subscribe("t")
    client = world.client("c", version)
    client.send(Publish("t", b"x", qos, packet_id=4711 if qos else 0))
    got = client.take()
    assert [packet.kind for packet in got] == answers
    for packet in got:
        assert isinstance(packet, Acknowledgement)
        assert (packet.packet_id, packet.reason) == (4711, 0)


@clauses("3.4.2-1 3.5.2-1")
@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize(("topic", "reason"), [("nobody/reads", 0x10), ("$SYS/mine", 0x87)])
def test_reasons_in_answers(world: World, version: int, qos: int, topic: str, reason: int) -> None:
    client = world.client("c", version)
    client.send(Publish(topic, b"x", qos, packet_id=1))
    (answer,) = client.take()
    assert isinstance(answer, Acknowledgement)
    assert answer.reason == reason


@clauses(v311="3.3.5-2")
@pytest.mark.parametrize("qos", [1, 2])
def test_a_refused_publication_is_acknowledged_as_any(world: World, version: int, qos: int) -> None:
    reader = world.client("r")
    reader.subscribe("$SYS/mine")
    client = world.client("c", version)
    client.publish("$SYS/mine", qos=qos)
    assert [packet.kind for packet in client.take()] == ([PUBACK] if qos == 1 else [PUBREC, 7])
    assert reader.messages() == []


CARRIED: dict[str, Any] = {
    "payload_format": 1,
    "content_type": "text/plain",
    "response_topic": "answers/here",
    "correlation_data": b"\x00\x01\xff",
    "user": [("b", "2"), ("a", "1"), ("b", "2"), ("", "")],
}


@clauses("3.3.2-4 3.3.2-13 3.3.2-15 3.3.2-16 3.3.2-17 3.3.2-18 3.3.2-19 3.3.2-20")
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("retain", [False, True])
def test_properties_arrive_unaltered_and_in_order(
    world: World, version: int, qos: int, retain: bool
) -> None:
    writer = world.client("w", version)
    early = world.client("early", version)
    early.subscribe("t", qos=qos)
    writer.publish("t", "x", qos, retain, **CARRIED)
    late = world.client("late", version)
    late.subscribe("t", qos=qos)
    for reader in [early, late] if retain else [early]:
        (message,) = reader.messages()
        assert message.properties is not None
        for name, value in CARRIED.items():
            assert getattr(message.properties, name) == value, name
        assert message.properties.message_expiry is None
        assert message.properties.topic_alias is None


BAD_PROPERTIES = [
    pytest.param("05 08 00 02 'a#'", 0x82, id="MQTT-3.3.2-14 wildcard in response topic"),
    pytest.param("05 08 00 02 '+a'", 0x82, id="MQTT-3.3.2-14 wildcard in response topic, too"),
    pytest.param("05 08 00 02 c3 28", 0x81, id="MQTT-3.3.2-13 response topic is text"),
    pytest.param("05 03 00 02 c3 28", 0x81, id="MQTT-3.3.2-19 content type is text"),
    pytest.param("03 23 00 00", 0x94, id="MQTT-3.3.2-8 alias 0"),
    pytest.param("03 23 03 e9", 0x94, id="MQTT-3.3.2-9 alias over the maximum"),
    pytest.param("02 0b 01", 0x82, id="MQTT-3.3.4-6 subscription identifier"),
    pytest.param("02 01 02", 0x82, id="3.3.2.3.2 payload format 2"),
    pytest.param("04 01 00 01 00", 0x82, id="3.3.2.3.2 payload format twice"),
    pytest.param("0a 02 00 00 00 01 02 00 00 00 01", 0x82, id="3.3.2.3.3 expiry twice"),
    pytest.param("06 23 00 01 23 00 01", 0x82, id="3.3.2.3.4 alias twice"),
    pytest.param("08 08 00 01 'a' 08 00 01 'a'", 0x82, id="3.3.2.3.5 response topic twice"),
    pytest.param("08 09 00 01 'a' 09 00 01 'a'", 0x82, id="3.3.2.3.6 correlation data twice"),
    pytest.param("08 03 00 01 'a' 03 00 01 'a'", 0x82, id="3.3.2.3.9 content type twice"),
    pytest.param("05 11 00 00 00 01", 0x81, id="2.2.2.2 session expiry"),
    pytest.param("7f 01 00", 0x81, id="2.2.2.1 length over the packet"),
]


@pytest.mark.parametrize("qos", [0, 1])
@pytest.mark.parametrize(("block", "reason"), BAD_PROPERTIES)
def test_bad_properties_of_publish(world: World, block: str, reason: int, qos: int) -> None:
    client = world.client("c")
    body = spelled("00 01 'a'") + (b"\x00\x01" if qos else b"") + spelled(block)
    client.send_bytes(bytes((0x30 | qos << 1, len(body))) + body)
    assert ending(client) == reason


@clauses("3.3.2-12")
def test_every_alias_up_to_the_maximum(version: int) -> None:
    world = World(max_topic_alias=300)
    reader = world.client("r", version)
    reader.subscribe("#")
    writer = world.client("w", version)
    for alias in range(1, 301):
        writer.publish(f"t/{alias}", topic_alias=alias)
    for alias in range(1, 301):
        writer.publish("", topic_alias=alias)
    topics = [message.topic for message in reader.messages()]
    assert topics == [f"t/{alias}" for alias in range(1, 301)] * 2


@clauses("3.3.2-7")
def test_aliases_end_with_their_connection(world: World, version: int) -> None:
    writer = world.client("w", version, expiry=100)
    writer.publish("t", topic_alias=1)
    writer.lose()
    writer = world.client("w", version, clean=False, expiry=100)
    assert writer.connack.session_present
    writer.publish("", topic_alias=1)
    assert ending(writer) == 0x82


@clauses("3.3.2-12")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_an_alias_may_be_used_and_changed_at_every_qos(
    world: World, version: int, qos: int
) -> None:
    reader = world.client("r", version)
    reader.subscribe("#", qos=2)
    writer = world.client("w", version)
    for number, topic in enumerate(["a", "", "b", ""]):
        writer.publish(topic, str(number), qos, packet_id=number + 1, topic_alias=5)
    assert [(m.topic, m.payload) for m in reader.messages()] == [
        ("a", b"0"),
        ("a", b"1"),
        ("b", b"2"),
        ("b", b"3"),
    ]


@clauses("3.1.2-26 3.3.2-11")
def test_our_aliases_stay_within_the_clients_maximum(world: World, version: int) -> None:
    reader = world.client("r", version, topic_alias_maximum=2)
    reader.subscribe("#", qos=2)
    writer = world.client("w")
    known: dict[int, str] = {}
    for round in range(3):
        for topic in ("a", "b", "c", "d"):
            writer.publish(topic, topic, qos=round)
    messages = reader.messages()
    assert len(messages) == 12
    for message in messages:
        assert message.properties is not None or message.topic
        alias = message.properties.topic_alias if message.properties is not None else None
        if alias is not None:
            assert 1 <= alias <= 2
            if message.topic:
                known[alias] = message.topic
            assert known[alias] == message.payload.decode()
        else:
            assert message.topic == message.payload.decode()


@clauses("3.1.2-27")
@pytest.mark.parametrize("maximum", [None, 0])
def test_no_aliases_unless_asked_for(world: World, version: int, maximum: int | None) -> None:
    reader = world.client("r", version, topic_alias_maximum=maximum)
    reader.subscribe("#")
    writer = world.client("w")
    for _ in range(3):
        writer.publish("t", message_expiry=5)
    for message in reader.messages():
        assert message.topic == "t"
        assert message.properties is not None
        assert message.properties.topic_alias is None


@clauses("3.3.2-5 3.3.2-6")
@pytest.mark.parametrize("qos", [1, 2])
def test_expiry_counts_the_time_in_the_broker(world: World, version: int, qos: int) -> None:
    reader = world.client("r", version, expiry=1000)
    reader.subscribe("t", qos=2)
    reader.lose()
    writer = world.client("w")
    for number, expiry in enumerate((1, 10, 100)):
        writer.publish("t", str(expiry), qos, packet_id=number + 1, message_expiry=expiry)
    writer.publish("t", "for ever", qos, packet_id=4)
    world.wait(10)
    back = world.client("r", version, clean=False, expiry=1000)
    seen = [
        (message.payload, message.properties.message_expiry if message.properties else None)
        for message in back.messages()
    ]
    assert seen == [(b"100", 90), (b"for ever", None)]


@clauses("3.3.2-6")
def test_expiry_goes_to_who_is_there_at_once(world: World, version: int) -> None:
    reader = world.client("r", version)
    reader.subscribe("t", qos=1)
    writer = world.client("w")
    for expiry in (0, 1, 0xFFFFFFFF):
        writer.publish("t", "x", 1, message_expiry=expiry)
    seen = [
        message.properties.message_expiry for message in reader.messages() if message.properties
    ]
    assert seen == [0, 1, 0xFFFFFFFF]


@clauses("3.3.2-3", v311="3.3.2-3")
def test_the_topic_matches_the_filter(world: World, version: int) -> None:
    reader = world.client("r", version)
    reader.subscribe("a/+/c")
    writer = world.client("w")
    for topic in ("a/b/c", "a//c", "a/b/c/d", "a/c", "a/b/C"):
        writer.publish(topic)
    assert [message.topic for message in reader.messages()] == ["a/b/c", "a//c"]


@clauses("3.3.2-4")
def test_a_payload_that_is_not_the_text_it_says_is_not_judged(world: World, version: int) -> None:
    """The standard lets a server check it; this one passes payloads on as they are."""
    reader = world.client("r", version)
    reader.subscribe("t")
    world.client("w").send(Publish("t", b"\xff\xfe", properties=properties(payload_format=1)))
    (message,) = reader.messages()
    assert message.payload == b"\xff\xfe"


@clauses("3.3.2-1", v311="3.3.2-1")
def test_no_payload_is_a_payload(world: World, version: int) -> None:
    reader = world.client("r", version)
    reader.subscribe("t", qos=2)
    writer = world.client("w", version)
    for qos in (0, 1, 2):
        writer.publish("t", "", qos)
    assert [(message.qos, message.payload) for message in reader.messages()] == [
        (0, b""),
        (1, b""),
        (2, b""),
    ]
