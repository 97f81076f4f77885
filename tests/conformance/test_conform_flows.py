"""Delivery of QoS 1 and 2 in both directions, redelivery and order: sections 4.3 to 4.6."""

import pytest

from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Packet,
    Publish,
)
from tests.support.conformance import GONE, clauses, ending, is_alive, publications
from tests.support.memory import MemoryClient, World

FOREVER = 0xFFFFFFFF


def lasting(world: World, name: str, version: int, **options: object) -> MemoryClient:
    """A client whose session outlives its connection; the same call brings it back."""
    expiry = FOREVER if version == V5 else None
    return world.client(name, version, clean=False, expiry=expiry, **options)


def numbers(packets: list[Packet]) -> list[tuple[int, int]]:
    """Kind and packet identifier of each."""
    return [(packet.kind, packet.packet_id) for packet in packets]  # type: ignore[attr-defined]


# Towards the broker -----------------------------------------------------------------------------


@clauses("4.3.2-5", v311="4.3.2-2")
def test_qos_1_sent_again_is_a_new_message(world: World, version: int) -> None:
    reader = world.client("r")
    reader.subscribe("t", qos=1)
    writer = world.client("w", version)
    for dup in (False, True, True):
        writer.send(Publish("t", b"x", 1, dup=dup, packet_id=5))
    assert numbers(writer.take()) == [(PUBACK, 5)] * 3
    assert len(reader.messages()) == 3


@clauses("4.3.3-8 4.3.3-10 4.3.3-11 4.3.3-12", v311="4.3.3-2")
def test_qos_2_is_delivered_once_until_released(world: World, version: int) -> None:
    reader = world.client("r")
    reader.subscribe("t", qos=2)
    writer = world.client("w", version)
    for dup in (False, True, False):
        writer.send(Publish("t", b"x", 2, dup=dup, packet_id=5))
    assert numbers(writer.take()) == [(PUBREC, 5)] * 3
    writer.send(Acknowledgement(PUBREL, 5))
    assert numbers(writer.take()) == [(PUBCOMP, 5)]
    assert len(reader.messages()) == 1
    writer.send(Publish("t", b"x", 2, dup=True, packet_id=5))
    assert len(reader.messages()) == 1


@clauses("4.3.3-10", v311="4.3.3-2")
def test_qos_2_is_delivered_once_across_connections(world: World, version: int) -> None:
    reader = world.client("r")
    reader.subscribe("t", qos=2)
    writer = lasting(world, "w", version)
    writer.send(Publish("t", b"x", 2, packet_id=5))
    writer.lose()
    writer = lasting(world, "w", version)
    writer.send(Publish("t", b"x", 2, dup=True, packet_id=5))
    assert numbers(writer.take()) == [(PUBREC, 5)]
    writer.lose()
    writer = lasting(world, "w", version)
    writer.send(Acknowledgement(PUBREL, 5))
    assert numbers(writer.take()) == [(PUBCOMP, 5)]
    assert len(reader.messages()) == 1


@clauses("3.1.2-4", v311="3.1.2-6")
def test_a_clean_start_forgets_unreleased_identifiers(world: World, version: int) -> None:
    reader = world.client("r")
    reader.subscribe("t", qos=2)
    lasting(world, "w", version).send(Publish("t", b"x", 2, packet_id=5))
    writer = world.client("w", version)
    writer.send(Publish("t", b"x", 2, packet_id=5))
    assert len(reader.messages()) == 2


@clauses("4.3.3-9")
def test_a_refused_identifier_is_free_again(world: World, version: int) -> None:
    reader = world.client("r")
    reader.subscribe("t", qos=2)
    writer = world.client("w", version)
    writer.send(Publish("$SYS/no", b"x", 2, packet_id=5))
    (refusal,) = writer.take()
    assert isinstance(refusal, Acknowledgement)
    assert (refusal.kind, refusal.reason) == (PUBREC, 0x87)
    writer.send(Publish("t", b"x", 2, packet_id=5))
    assert len(reader.messages()) == 1


@clauses("4.3.3-11 3.7.2-1", v311="4.3.3-2")
def test_pubrel_is_always_answered(world: World, version: int) -> None:
    writer = world.client("w", version)
    writer.send(Acknowledgement(PUBREL, 77))
    (answer,) = writer.take()
    assert isinstance(answer, Acknowledgement)
    assert (answer.kind, answer.packet_id) == (PUBCOMP, 77)
    assert answer.reason == (0x92 if version == V5 else 0)


@clauses("4.3.3-13")
def test_an_expired_message_is_still_acknowledged_to_the_end(world: World, version: int) -> None:
    writer = world.client("w", version)
    writer.send(Publish("t", b"x", 2, packet_id=5))
    world.wait(100)
    writer.send(Acknowledgement(PUBREL, 5))
    assert numbers(writer.take()) == [(PUBREC, 5), (PUBCOMP, 5)]


@clauses("4.6.0-2 4.6.0-3", v311="4.6.0-6")
def test_answers_come_in_the_order_of_the_publications(world: World, version: int) -> None:
    writer = world.client("w", version)
    writer.send(*(Publish("t", b"x", 1 + n % 2, packet_id=100 - n) for n in range(50)))
    assert [number for _, number in numbers(writer.take())] == [100 - n for n in range(50)]


# Towards the client -----------------------------------------------------------------------------


@clauses("4.3.2-1 4.3.2-2 4.3.3-1 4.3.3-2 2.2.1-4", v311="4.3.2-1 4.3.3-1 2.3.1-4")
@pytest.mark.parametrize("qos", [1, 2])
def test_each_new_message_has_an_unused_identifier(world: World, version: int, qos: int) -> None:
    reader = world.client("r", version)
    reader.subscribe("t", qos=qos)
    writer = world.client("w")
    for number in range(100):
        writer.publish("t", "x", qos, packet_id=number + 1)
    messages = publications(reader.take())
    assert len({message.packet_id for message in messages} - {0}) == 100
    assert not any(message.dup for message in messages)


@clauses("2.2.1-4")
def test_identifiers_start_over_past_those_in_use(world: World, version: int) -> None:
    """65,535 is followed by 1, unless that still waits for its answer."""
    reader = world.client("r", version)
    reader.subscribe("t", qos=1)
    writer = world.client("w", V311)
    burst = b"\x32\x05\x00\x01t\x00\x01" * 500
    waiting: list[int] = []
    given: list[int] = []
    for _ in range(133):
        writer.send_bytes(burst)
        seen = [message.packet_id for message in publications(reader.take())]
        assert len(seen) == 500
        assert not set(seen) & set(waiting)
        given += seen
        if not waiting:
            waiting, seen = seen[:3], seen[3:]
        reader.send_bytes(b"".join(b"\x40\x02" + number.to_bytes(2, "big") for number in seen))
    assert waiting == [1, 2, 3]
    over = given.index(65_535) + 1
    assert given[:over] == sorted(set(given[:over]))
    assert given[over] == 4
    assert given[over:] == sorted(set(given[over:]))


@clauses("4.3.2-3 3.3.1-1 4.4.0-1", v311="4.3.2-1 3.3.1-1 4.4.0-1 2.3.1-3")
def test_qos_1_is_unacknowledged_until_puback(world: World, version: int) -> None:
    reader = lasting(world, "r", version)
    reader.subscribe("t", qos=1)
    world.client("w").publish("t", "x", 1)
    (first,) = publications(reader.take())
    for _ in range(2):
        reader.lose()
        reader = lasting(world, "r", version)
        (again,) = publications(reader.take())
        assert (again.packet_id, again.dup, again.payload) == (first.packet_id, True, b"x")
    reader.send(Acknowledgement(PUBACK, first.packet_id))
    reader.lose()
    assert lasting(world, "r", version).take() == []


@clauses("4.3.3-3 4.3.3-4 4.3.3-5 4.3.3-6 4.4.0-1 3.6.2-1", v311="4.3.3-1 4.4.0-1")
def test_qos_2_in_its_four_steps(world: World, version: int) -> None:
    reader = lasting(world, "r", version)
    reader.subscribe("t", qos=2)
    world.client("w").publish("t", "x", 2)
    (first,) = publications(reader.take())
    number = first.packet_id
    reader.lose()
    reader = lasting(world, "r", version)
    (again,) = publications(reader.take())
    assert (again.packet_id, again.dup) == (number, True)
    reader.send(Acknowledgement(PUBREC, number))
    assert numbers(reader.take()) == [(PUBREL, number)]
    for _ in range(2):
        reader.lose()
        reader = lasting(world, "r", version)
        assert numbers(reader.take()) == [(PUBREL, number)]
    reader.send(Acknowledgement(PUBREC, number))  # the client lost the PUBREL's answer
    assert numbers(reader.take()) == [(PUBREL, number)]
    reader.send(Acknowledgement(PUBCOMP, number))
    reader.lose()
    assert lasting(world, "r", version).take() == []


@clauses("4.4.0-1", v311="4.4.0-1")
def test_nothing_is_sent_again_while_the_connection_stands(world: World, version: int) -> None:
    reader = lasting(world, "r", version)
    reader.subscribe("t", qos=2)
    writer = world.client("w")
    writer.publish("t", "x", 1)
    writer.publish("t", "x", 2)
    assert len(reader.take()) == 2
    world.wait(100_000)
    assert reader.take() == []


@clauses("4.4.0-2 4.8.2-6")
@pytest.mark.parametrize(("qos", "kind"), [(1, PUBACK), (2, PUBREC)])
@pytest.mark.parametrize("reason", [0x80, 0x83, 0x87, 0x90, 0x97, 0x99])
def test_a_refused_delivery_is_done_with(
    world: World, version: int, qos: int, kind: int, reason: int
) -> None:
    reader = lasting(world, "r", version)
    reader.subscribe("t", qos=qos)
    world.client("w").publish("t", "x", qos)
    (message,) = publications(reader.take())
    reader.send(Acknowledgement(kind, message.packet_id, reason))
    assert reader.take() == []
    reader.lose()
    assert lasting(world, "r", version).take() == []


@clauses("4.3.3-4")
@pytest.mark.parametrize("reason", [0x00, 0x10])
def test_an_accepted_delivery_is_released(world: World, version: int, reason: int) -> None:
    reader = world.client("r", version)
    reader.subscribe("t", qos=2)
    world.client("w").publish("t", "x", 2)
    (message,) = publications(reader.take())
    reader.send(Acknowledgement(PUBREC, message.packet_id, reason))
    assert numbers(reader.take()) == [(PUBREL, message.packet_id)]


# What a publication waits for, by QoS, and the answers that are none.
WRONG = [(1, (PUBREC,)), (1, (PUBCOMP,)), (2, (PUBACK,)), (2, (PUBCOMP,)), (2, (PUBREC, PUBACK))]


@clauses("4.3.2-3 4.3.3-3 4.3.3-5 4.13.1-1", v311="4.3.2-1 4.3.3-1 4.8.0-1")
@pytest.mark.parametrize(("qos", "answers"), WRONG)
@pytest.mark.parametrize("lasts", [False, True])
def test_an_answer_of_another_flow_is_an_error_and_loses_nothing(
    world: World, version: int, qos: int, answers: tuple[int, ...], lasts: bool
) -> None:
    reader = lasting(world, "r", version) if lasts else world.client("r", version)
    reader.subscribe("t", qos=qos)
    world.client("w").publish("t", "x", qos)
    (message,) = publications(reader.take())
    for kind in answers:
        reader.send(Acknowledgement(kind, message.packet_id))
    assert ending(reader) == (0x82 if version == V5 else GONE)
    if lasts:
        expected = PUBREL if answers[0] == PUBREC and qos == 2 else PUBLISH
        assert numbers(lasting(world, "r", version).take()) == [(expected, message.packet_id)]


@clauses("2.2.1-5", v311="2.3.1-6")
@pytest.mark.parametrize(
    ("kind", "answer"), [(PUBACK, 0), (PUBREC, PUBREL), (PUBREL, PUBCOMP), (PUBCOMP, 0)]
)
def test_answers_to_nothing_do_no_harm(world: World, version: int, kind: int, answer: int) -> None:
    client = world.client("c", version)
    client.send(Acknowledgement(kind, 999))
    assert numbers(client.take()) == ([(answer, 999)] if answer else [])
    assert is_alive(client)


@clauses("4.3.3-7")
def test_expiry_does_not_end_what_was_sent(world: World, version: int) -> None:
    reader = lasting(world, "r", version)
    reader.subscribe("t", qos=2)
    world.client("w").publish("t", "x", 2, message_expiry=5)
    assert len(reader.take()) == 1
    reader.lose()
    world.wait(60)
    (again,) = publications(lasting(world, "r", version).take())
    assert again.payload == b"x"


@clauses("3.1.2-23 4.5.0-1", v311="3.1.2-5 4.5.0-1 4.1.0-1")
def test_what_is_missed_waits(world: World, version: int) -> None:
    reader = lasting(world, "r", version)
    reader.subscribe("t/#", qos=2)
    reader.lose()
    writer = world.client("w")
    for number in range(20):
        writer.publish(f"t/{number % 3}", str(number), 1 + number % 2, packet_id=number + 1)
    back = lasting(world, "r", version)
    assert back.connack.session_present
    assert back.payloads() == [str(number) for number in range(20)]


# Order ------------------------------------------------------------------------------------------


@clauses("4.6.0-5 4.6.0-6", v311="4.6.0-5 4.6.0-6")
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("window", [1, 2, 10])
def test_order_is_kept_through_the_window(
    world: World, version: int, qos: int, window: int
) -> None:
    options = {"receive_maximum": window} if version == V5 else {}
    reader = lasting(world, "r", version, **options)
    reader.subscribe("t", qos=qos)
    writer = world.client("w")
    for number in range(30):
        writer.publish("t", str(number), qos, packet_id=number + 1)
    assert reader.payloads() == [str(number) for number in range(30)]


@clauses("4.6.0-1 4.4.0-1", v311="4.6.0-1 4.6.0-6")
def test_order_is_kept_through_a_reconnect(world: World, version: int) -> None:
    reader = lasting(world, "r", version)
    reader.subscribe("t", qos=2)
    writer = world.client("w")
    for number in range(10):
        writer.publish("t", str(number), 1 + number % 2, packet_id=number + 1)
    sent = publications(reader.take())
    reader.send(Acknowledgement(PUBACK, sent[4].packet_id))
    reader.lose()
    for number in range(10, 15):
        writer.publish("t", str(number), 1 + number % 2, packet_id=number + 1)
    back = lasting(world, "r", version)
    messages = back.messages()
    assert [int(m.payload) for m in messages] == [0, 1, 2, 3, 5, 6, 7, 8, 9, *range(10, 15)]
    assert [m.dup for m in messages] == [True] * 9 + [False] * 5
    assert [m.packet_id for m in messages[:9]] == [
        m.packet_id for index, m in enumerate(sent) if index != 4
    ]


@clauses("3.8.4-8", v311="3.8.4-6")
@pytest.mark.parametrize("published", [0, 1, 2])
@pytest.mark.parametrize("granted", [0, 1, 2])
def test_qos_is_the_lower_of_the_two(
    world: World, version: int, published: int, granted: int
) -> None:
    reader = world.client("r", version)
    assert reader.subscribe("t", qos=granted) == [granted]
    world.client("w").publish("t", "x", published)
    assert [message.qos for message in reader.messages()] == [min(published, granted)]
