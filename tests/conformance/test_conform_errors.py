"""Malformed packets and protocol errors: sections 1.5, 2.1, 2.2 and 4.13."""

import pytest

from gossamer.wire.codec import encode
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
    Will,
)
from tests.support.conformance import GONE, clauses, ending, is_alive
from tests.support.memory import World, properties
from tests.support.packet_bytes import spelled


@clauses("1.5.5-1 4.13.1-1", v311="4.8.0-1")
@pytest.mark.parametrize(
    "length",
    [
        pytest.param("ff ff ff ff 7f", id="five bytes"),
        pytest.param("80 80 80 80 01", id="five bytes for a small number"),
        pytest.param("80 00", id="padded to two"),
        pytest.param("83 80 00", id="padded to three"),
        pytest.param("83 80 80 00", id="padded to four"),
    ],
)
def test_remaining_length(world: World, version: int, length: str) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled("30") + spelled(length))
    assert ending(client) == (0x81 if version == V5 else GONE)


@clauses("2.1.3-1 3.6.1-1 3.8.1-1 3.10.1-1 3.15.1-1", v311="2.2.2-1 2.2.2-2 3.6.1-1 3.8.1-1")
@pytest.mark.parametrize("flags", range(16))
@pytest.mark.parametrize("kind", [*range(4, 16)])
def test_reserved_flags(world: World, version: int, kind: int, flags: int) -> None:
    """Whatever packet it is, flags that are not its own are malformed."""
    if flags == (2 if kind in (6, 8, 10) else 0):
        return
    client = world.client("c", version)
    client.send_bytes(bytes((kind << 4 | flags, 4, 0, 1, 0, 0)))
    assert ending(client) == (0x81 if version == V5 else GONE)


@clauses("2.1.3-1", v311="2.2.2-2")
@pytest.mark.parametrize("flags", [1, 2, 4, 8])
def test_reserved_flags_of_connect(world: World, version: int, flags: int) -> None:
    visitor = world.visitor(version)
    data = encode(Connect("c", version), version)
    visitor.send_bytes(bytes((data[0] | flags,)) + data[1:])
    answers = visitor.take()
    assert visitor.is_closed
    assert [packet.reason for packet in answers if isinstance(packet, Connack)] == (
        [0x81] if version == V5 else []
    )


@clauses("4.13.1-1", v311="4.8.0-1")
@pytest.mark.parametrize("kind", [0, 2, 9, 11, 13])
def test_packets_that_are_not_a_clients(world: World, version: int, kind: int) -> None:
    bodies = {
        0: b"",
        2: b"\x00\x00\x00" if version == V5 else b"\x00\x00",
        9: b"\x00\x01\x00\x00" if version == V5 else b"\x00\x01\x00",
        11: b"\x00\x01\x00\x00" if version == V5 else b"\x00\x01",
        13: b"",
    }
    client = world.client("c", version)
    client.send_bytes(bytes((kind << 4, len(bodies[kind]))) + bodies[kind])
    assert ending(client) == ((0x81 if kind == 0 else 0x82) if version == V5 else GONE)


@clauses("2.2.1-5", v311="2.3.1-6")
@pytest.mark.parametrize("head", ["40", "50", "62", "70"])
@pytest.mark.parametrize("rest", ["02 00 00", "01 00", "00"])
def test_acknowledgements_without_an_identifier(
    world: World, version: int, head: str, rest: str
) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled(f"{head} {rest}"))
    reason = 0x82 if rest == "02 00 00" else 0x81
    assert ending(client) == (reason if version == V5 else GONE)


@clauses("3.4.2-1 3.5.2-1 3.6.2-1 3.7.2-1")
@pytest.mark.parametrize(
    ("head", "bad"), [("40", "01"), ("40", "92"), ("50", "92"), ("62", "10"), ("70", "80")]
)
def test_reasons_that_do_not_belong(world: World, version: int, head: str, bad: str) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled(f"{head} 03 00 01 {bad}"))
    assert ending(client) == 0x82


@pytest.mark.parametrize("head", ["40", "50", "62", "70"])
def test_forms_of_acknowledgements(world: World, head: str) -> None:
    """With the reason left out, the properties left out, and both there."""
    client = world.client("c")
    user = "26 00 01 'k' 00 01 'v'"
    for form in ("02 00 09", "03 00 09 00", "04 00 09 00 00", f"0b 00 09 00 07 {user}"):
        client.send_bytes(spelled(f"{head} {form}"))
        assert is_alive(client), form


WHOLE: list[Packet] = [
    Publish("topic", b"", 1, packet_id=3, properties=properties(user=[("a", "b")], topic_alias=1)),
    Publish("topic", b"", 0, properties=properties(content_type="x", correlation_data=b"y")),
    Acknowledgement(PUBACK, 1, 0, properties(reason_string="why")),
    Acknowledgement(PUBREC, 1, 0, properties(reason_string="why")),
    Acknowledgement(PUBREL, 1, 0, properties(reason_string="why")),
    Acknowledgement(PUBCOMP, 1, 0, properties(reason_string="why")),
    Subscribe(1, [Request("a/#", 1), Request("b", 2)], properties(subscription_ids=[300])),
    Unsubscribe(1, ["a/#", "b"], properties(user=[("a", "b")])),
    Disconnect(0, properties(session_expiry=0, reason_string="bye")),
    Auth(0x18, properties(authentication_method="m", authentication_data=b"d")),
    Pingreq(),
]


@clauses("4.13.1-1 2.2.2-1", v311="4.8.0-1")
@pytest.mark.parametrize("packet", WHOLE, ids=lambda packet: type(packet).__name__)
def test_a_packet_cut_short_harms_nobody_else(world: World, version: int, packet: Packet) -> None:
    """Every shorter form of a packet is handled or refused, and says so by the standard."""
    if version == V311 and isinstance(packet, Auth):
        return
    body = encode(packet, version)[2:]
    head = encode(packet, version)[0]
    bystander = world.client("bystander")
    for size in range(len(body)):
        client = world.client("c", version)
        client.send_bytes(bytes((head, size)) + body[:size])
        end = ending(client)
        assert end in ((None, GONE, 0x81, 0x82) if version == V5 else (None, GONE))
        client.lose()
    assert is_alive(bystander)


@clauses("4.13.1-1", v311="4.8.0-1")
@pytest.mark.parametrize("packet", WHOLE[2:], ids=lambda packet: type(packet).__name__)
def test_a_packet_with_a_byte_too_many(world: World, version: int, packet: Packet) -> None:
    if version == V311 and isinstance(packet, Auth):
        return
    data = encode(packet, version)
    client = world.client("c", version)
    client.send_bytes(bytes((data[0], data[1] + 1)) + data[2:] + b"\x00")
    assert ending(client) in ((0x81, 0x82) if version == V5 else (GONE,))


@clauses("3.1.4-1", v311="3.1.4-1 3.2.2-6")
def test_a_connect_cut_short(world: World, version: int) -> None:
    connect = Connect(
        "client",
        version,
        username="user",
        password=b"word",
        will=Will("w", b"x", properties=properties(will_delay=1)),
        properties=properties(receive_maximum=5, user=[("a", "b")]),
    )
    body = encode(connect, version)[2:]
    for size in range(len(body)):
        visitor = world.visitor(version)
        visitor.send_bytes(bytes((0x10, size)) + body[:size])
        assert visitor.is_closed, size
    assert not world.broker.core.sessions


@clauses("4.13.2-1", v311="4.8.0-2")
def test_an_error_is_of_one_connection(world: World, version: int) -> None:
    first = world.client("first", version)
    second = world.client("second", version)
    first.send_bytes(b"\x00\x00")
    assert first.is_closed
    assert is_alive(second)


@clauses("4.13.1-1")
def test_what_came_before_the_error_is_answered(world: World, version: int) -> None:
    client = world.client("c", version)
    client.send_bytes(
        encode(Subscribe(1, [Request("t")]), V5) + encode(Publish("t", b"x"), V5) + b"\x00\x00"
    )
    kinds = [packet.kind for packet in client.take()]
    assert kinds == [9, 3, 14]


@clauses("4.13.2-1")
def test_our_reasons_belong_where_they_stand(world: World, version: int) -> None:
    """The decoder of this test refuses a reason that the packet may not carry."""
    client = world.client("c", version)
    client.send(
        Publish("$SYS/x", b"", 1, packet_id=1),
        Publish("$SYS/x", b"", 2, packet_id=2),
        Subscribe(3, [Request("#a"), Request("$gossamer/x")]),
        Unsubscribe(4, ["none"]),
        Acknowledgement(PUBREL, 9),
    )
    kinds = [packet.kind for packet in client.take()]
    assert kinds == [PUBACK, PUBREC, 9, 11, PUBCOMP]


def test_the_packets_of_the_broker_are_not_taken_for_a_clients(world: World) -> None:
    for packet in (Connack(False, 0), Suback(1, [0]), Unsuback(1, [0]), Pingresp()):
        client = world.client("c")
        client.send(packet)
        assert ending(client) == 0x82
