"""What is in flight to one client is bounded in bytes, whatever its Receive Maximum."""

import pytest

from gossamer.session.session import FLIGHT_BYTES
from gossamer.wire.packets import PUBACK, PUBCOMP, PUBREC, Acknowledgement, Publish
from tests.support.memory import MemoryClient, World

SIZE = 1 << 20


def got(client: MemoryClient) -> list[Publish]:
    return [packet for packet in client.take() if isinstance(packet, Publish)]


@pytest.mark.parametrize("qos", [1, 2])
def test_a_client_that_acknowledges_nothing_has_so_much_in_flight(qos: int) -> None:
    world = World(max_packet=2 << 20)
    reader = world.client("r", clean=False, expiry=100)
    reader.subscribe("t", qos=qos)
    writer = world.client("w")
    for number in range(20):
        writer.publish("t", f"{number:02}" + "x" * SIZE, qos, packet_id=number + 1)
    session = world.broker.core.sessions["r"]
    first = got(reader)
    assert len(first) == 8
    assert FLIGHT_BYTES <= session.flight_bytes < FLIGHT_BYTES + 2 * SIZE
    assert session.queued() == 12
    arrived = list(first)
    while first:  # acknowledged one by one, the rest comes, in order
        for packet in first:
            if qos == 1:
                reader.send(Acknowledgement(PUBACK, packet.packet_id))
            else:
                reader.send(Acknowledgement(PUBREC, packet.packet_id))
                reader.send(Acknowledgement(PUBCOMP, packet.packet_id))
        first = got(reader)
        arrived += first
    assert [packet.payload[:2].decode() for packet in arrived] == [f"{n:02}" for n in range(20)]
    assert session.flight_bytes == 0
    assert session.in_flight() == 0


def test_what_is_in_flight_counts_while_its_client_is_away() -> None:
    world = World()
    reader = world.client("r", clean=False, expiry=100)
    reader.subscribe("t", qos=1)
    world.client("w").publish("t", "x" * 1000, 1)
    assert len(got(reader)) == 1
    reader.lose()
    back = world.client("r", clean=False, expiry=100)
    session = world.broker.core.sessions["r"]
    assert session.flight_bytes == 1001
    [again] = got(back)
    assert again.dup
    back.send(Acknowledgement(PUBACK, again.packet_id))
    assert session.flight_bytes == 0


def test_a_larger_message_than_the_bound_is_sent_alone() -> None:
    world = World(max_packet=32 << 20)
    reader = world.client("r", clean=False, expiry=100)
    reader.subscribe("t", qos=1)
    world.client("w").publish("t", "x" * (10 << 20), 1)
    assert len(got(reader)) == 1


def test_a_session_that_ends_with_its_connection_keeps_nothing_in_flight() -> None:
    world = World(max_packet=2 << 20)
    reader = world.client("r")
    reader.subscribe("t", qos=1)
    writer = world.client("w")
    for number in range(20):
        writer.publish("t", "x" * SIZE, 1, packet_id=number + 1)
    assert len(got(reader)) == 20
    assert world.broker.core.sessions["r"].flight_bytes == 0
