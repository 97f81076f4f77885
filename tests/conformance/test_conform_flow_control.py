"""Receive Maximum and Maximum Packet Size in both directions: sections 3.1.2.11, 3.3.4 and 4.9."""

from typing import Any

import pytest

from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    V5,
    Acknowledgement,
    Connack,
    Connect,
    Disconnect,
    Publish,
    Request,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
)
from tests.support.conformance import clauses, ending, is_alive, publications
from tests.support.memory import MemoryClient, World, properties


def publish_many(world: World, count: int, qos: int) -> None:
    writer = world.client("w")
    for number in range(count):
        writer.publish("t", str(number), qos or 1 + number % 2, packet_id=number + 1)
    writer.disconnect()


# Ours to keep -----------------------------------------------------------------------------------


@clauses("3.3.4-9 4.9.0-1 4.9.0-2")
@pytest.mark.parametrize("window", [1, 3, 65_535])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_no_more_in_flight_than_the_client_allows(
    world: World, version: int, window: int, qos: int
) -> None:
    """QoS 0 here stands for 1 and 2 in turn, which are counted together."""
    reader = world.client("r", version, receive_maximum=window)
    reader.subscribe("t", qos=2)
    publish_many(world, 12, qos)
    flying: dict[int, int] = {}  # the QoS of each, by packet identifier
    delivered = 0
    while delivered < 12:
        for message in publications(reader.take()):
            flying[message.packet_id] = message.qos
            if message.qos == 2:
                reader.send(Acknowledgement(PUBREC, message.packet_id))
            delivered += 1
        assert len(flying) <= window
        assert flying
        # PUBREC alone gives no room: only PUBACK and PUBCOMP do.
        assert not publications(reader.take()) or window > 12
        number = min(flying)
        kind = PUBCOMP if flying.pop(number) == 2 else PUBACK
        reader.send(Acknowledgement(kind, number))


@clauses("4.9.0-2")
def test_a_refusal_gives_room(world: World, version: int) -> None:
    reader = world.client("r", version, receive_maximum=1)
    reader.subscribe("t", qos=2)
    publish_many(world, 2, 2)
    (first,) = publications(reader.take())
    reader.send(Acknowledgement(PUBREC, first.packet_id, 0x80))
    (second,) = publications(reader.take())
    assert second.payload == b"1"


@clauses("3.3.4-10 4.9.0-3")
def test_other_packets_do_not_wait(world: World, version: int) -> None:
    reader = world.client("r", version, receive_maximum=1)
    reader.subscribe("t", qos=1)
    publish_many(world, 3, 1)
    reader.take()
    assert is_alive(reader)
    assert reader.subscribe("u") == [0]
    writer = world.client("w")
    writer.publish("u", "zero")
    assert [m.qos for m in publications(reader.take())] == [0]
    reader.send(Publish("nobody", b"", 2, packet_id=9), Acknowledgement(PUBREL, 9))
    assert [packet.kind for packet in reader.take()] == [PUBREC, PUBCOMP]


@clauses("3.3.4-9")
def test_the_window_of_the_new_connection_holds_for_what_is_sent_again(
    world: World, version: int
) -> None:
    reader = world.client("r", version, expiry=100)
    reader.subscribe("t", qos=2)
    publish_many(world, 6, 0)
    sent = publications(reader.take())
    assert len(sent) == 6
    released = next(message for message in sent if message.qos == 2)
    reader.send(Acknowledgement(PUBREC, released.packet_id))
    reader.lose()
    back = world.client("r", version, clean=False, expiry=100, receive_maximum=2)
    packets = back.take()
    assert [p.packet_id for p in packets if p.kind == PUBREL] == [  # type: ignore[attr-defined]
        released.packet_id
    ]
    assert len(publications(packets)) == 1  # with the one that waits for PUBCOMP: two
    seen = publications(packets)
    back.send(Acknowledgement(PUBCOMP, released.packet_id))
    while messages := publications(back.take()):
        assert len(messages) <= 2
        seen += messages
        first = seen[-1]
        if first.qos == 1:
            back.send(Acknowledgement(PUBACK, first.packet_id))
        else:
            back.send(
                Acknowledgement(PUBREC, first.packet_id), Acknowledgement(PUBCOMP, first.packet_id)
            )
    rest = [message for message in sent if message is not released]
    assert [m.packet_id for m in seen] == [m.packet_id for m in rest]
    assert all(message.dup for message in seen)


@clauses("3.3.4-9")
def test_an_early_answer_does_not_stall_the_queue(world: World, version: int) -> None:
    reader = world.client("r", version, expiry=100)
    reader.subscribe("t", qos=1)
    publish_many(world, 4, 1)
    sent = publications(reader.take())
    reader.lose()
    publish_many(world, 2, 1)
    back = world.client("r", version, clean=False, expiry=100, receive_maximum=1)
    # The client answers what it got on the old connection before we could send it again.
    back.send(*(Acknowledgement(PUBACK, message.packet_id) for message in reversed(sent)))
    assert back.payloads()[-2:] == ["0", "1"]


# Theirs to keep ---------------------------------------------------------------------------------


@clauses("3.3.4-7")
def test_a_client_over_our_receive_maximum(version: int) -> None:
    world = World(receive_maximum=3)
    writer = world.client("w", version)
    assert writer.connack.properties is not None
    assert writer.connack.properties.receive_maximum == 3
    for number in (1, 2, 3, 3, 1):
        writer.send(Publish("t", b"x", 2, packet_id=number))
    writer.send(Publish("t", b"x", 1, packet_id=9))
    assert not writer.is_closed
    writer.send(Acknowledgement(PUBREL, 2), Publish("t", b"x", 2, packet_id=4))
    assert not writer.is_closed
    writer.send(Publish("t", b"x", 2, packet_id=5))
    assert ending(writer) == 0x93


@clauses("4.9.0-1")
def test_the_quota_starts_anew_with_each_connection(version: int) -> None:
    world = World(receive_maximum=2)
    writer = world.client("w", version, expiry=100)
    for number in (1, 2):
        writer.send(Publish("t", b"x", 2, packet_id=number))
    writer.lose()
    writer = world.client("w", version, clean=False, expiry=100)
    for number in (1, 2, 3, 4):
        writer.send(Publish("t", b"x", 2, packet_id=number))
    assert not writer.is_closed
    writer.send(Publish("t", b"x", 2, packet_id=5))
    assert ending(writer) == 0x93


# The size of packets ----------------------------------------------------------------------------


@clauses("3.2.2-15")
@pytest.mark.parametrize("over", [False, True])
def test_a_packet_over_our_maximum(version: int, over: bool) -> None:
    world = World(max_packet=1000)
    client = world.client("c", version)
    assert client.connack.properties is not None
    assert client.connack.properties.maximum_packet_size == 1000
    empty = len(encode(Publish("t", b"x" * 500), V5)) - 500
    client.send(Publish("t", b"x" * (1000 - empty + over)))
    assert ending(client) == (0x95 if over else None)


@clauses("3.1.2-24 3.1.2-25")
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("retain", [False, True])
@pytest.mark.parametrize("known", [{}, {"content_type": "x"}])
def test_a_publication_over_the_clients_maximum_counts_as_sent(
    world: World, version: int, qos: int, retain: bool, known: dict[str, object]
) -> None:
    reader = world.client("r", version, maximum_packet_size=60, expiry=100, receive_maximum=1)
    writer = world.client("w")
    if not retain:
        reader.subscribe("t", qos=qos)
    sizes = (5, 200, 6, 47, 48, 49, 50, 51, 52, 53, 54, 7)
    for number, size in enumerate(sizes):
        writer.publish("t", "x" * size, qos, retain, packet_id=number + 1, **known)
        if retain:
            reader.subscribe("t", qos=qos)
        for message in reader.messages():
            assert len(encode(message, V5)) <= 60
    session = reader.connection.session
    assert session is not None
    assert session.in_flight() == 0
    assert session.queued() == 0
    assert world.broker.core.counters.dropped_too_large > 0


@clauses("3.1.2-24 3.2.2-19 3.2.2-20")
@pytest.mark.parametrize("limit", range(1, 40))
def test_connack_within_the_clients_maximum(world: World, version: int, limit: int) -> None:
    for name in ("", "$mesh/refused with words"):
        visitor = world.visitor(version)
        visitor.send(Connect(name, properties=properties(maximum_packet_size=limit)))
        size = len(visitor.sink.data)
        assert size <= limit
        answers = visitor.take()
        assert len(answers) == (1 if limit >= 5 else 0)
        for answer in answers:
            assert isinstance(answer, Connack)
            if name:
                assert answer.reason == 0x85
            elif answer.reason:
                assert answer.reason == 0x95
        if not answers or name:
            assert visitor.is_closed
    assert not [n for n in world.broker.core.sessions if n.startswith("$")]


@clauses("3.1.2-24")
def test_a_client_that_cannot_be_answered_takes_no_session(world: World, version: int) -> None:
    owner = world.client("c", version, expiry=100)
    world.visitor(version).send(Connect("c", properties=properties(maximum_packet_size=3)))
    assert is_alive(owner)


def small(world: World, **more: Any) -> MemoryClient:
    """Its CONNACK just fits."""
    return world.client("small", maximum_packet_size=25, **more)


@clauses("3.4.2-2 3.5.2-2 3.4.2-3 3.5.2-3")
@pytest.mark.parametrize("qos", [1, 2])
def test_acknowledgements_leave_the_reason_string_out(world: World, version: int, qos: int) -> None:
    client = small(world)
    client.send(Publish("$SYS/no", b"x", qos, packet_id=1))
    (answer,) = client.take()
    assert isinstance(answer, Acknowledgement)
    assert answer.reason == 0x87
    assert answer.properties is None or answer.properties.reason_string is None


@clauses("3.9.2-1 3.9.2-2")
def test_suback_leaves_the_reason_string_out(world: World, version: int) -> None:
    client = small(world)
    client.send(Subscribe(1, [Request("a#b")]))
    (answer,) = client.take()
    assert isinstance(answer, Suback)
    assert answer.reasons == [0x8F]
    assert answer.properties is None or answer.properties.reason_string is None


@clauses("3.1.2-24 3.11.2-1 3.11.2-2")
def test_suback_and_unsuback_that_never_fit_are_not_sent(world: World, version: int) -> None:
    client = small(world)
    filters = [f"filter/{number}" for number in range(30)]
    client.send(Subscribe(1, [Request(filter) for filter in filters]))
    client.send(Unsubscribe(2, filters[:5]))
    client.send(Unsubscribe(3, filters))
    (answer,) = client.take()
    assert isinstance(answer, Unsuback)
    assert answer.reasons == [0] * 5


@clauses("3.6.2-2 3.6.2-3 3.7.2-2 3.7.2-3")
def test_pubrel_and_pubcomp_are_short(world: World, version: int) -> None:
    client = small(world)
    client.send(Acknowledgement(PUBREC, 9), Acknowledgement(PUBREL, 9))
    assert client.sink.data == b"\x62\x03\x00\x09\x92\x70\x03\x00\x09\x92"


@clauses("3.14.2-3 3.14.2-4 3.14.2-2")
def test_disconnect_leaves_the_reason_string_out(world: World, version: int) -> None:
    client = small(world)
    client.send_bytes(b"\x00\x00")
    (answer,) = client.take()
    assert isinstance(answer, Disconnect)
    assert answer.reason == 0x81
    assert answer.properties is None


@clauses("3.1.2-29")
@pytest.mark.parametrize("wanted", [None, 1, 0])
def test_request_problem_information(world: World, version: int, wanted: int | None) -> None:
    client = world.client("c", version, request_problem_information=wanted)
    client.send(
        Publish("$SYS/no", b"", 1, packet_id=1),
        Publish("$SYS/no", b"", 2, packet_id=2),
        Subscribe(3, [Request("a#b")]),
        Unsubscribe(4, ["none"]),
        Acknowledgement(PUBREL, 9),
        Acknowledgement(PUBREC, 9),
    )
    answers = client.take()
    assert [answer.kind for answer in answers] == [PUBACK, PUBREC, 9, 11, PUBCOMP, PUBREL]
    texts = 0
    for answer in answers:
        assert isinstance(answer, Acknowledgement | Suback | Unsuback)
        if answer.properties is not None:
            assert not answer.properties.user
            texts += answer.properties.reason_string is not None
    assert texts == (0 if wanted == 0 else 3)
