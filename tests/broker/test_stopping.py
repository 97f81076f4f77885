"""A broker that stops lets its clients bring to its end what they have begun."""

import pytest

from gossamer.wire import reasons
from gossamer.wire.packets import (
    PUBCOMP,
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Disconnect,
    Publish,
)
from tests.support.durable_world import DurableWorld
from tests.support.memory import World


@pytest.mark.parametrize("version", [V5, V311])
def test_a_publication_that_has_begun_is_released_and_none_begins(version: int) -> None:
    world = World()
    reader = world.client("reader")
    reader.subscribe("t", qos=2)
    writer = world.client("writer", version)
    writer.send(Publish("t", b"begun", 2, False, False, 1))
    writer.take()
    world.broker.begin_stop(world.now)
    assert not writer.is_closed
    assert world.broker.is_stopping()
    writer.send(Publish("t", b"too late", 2, False, False, 2))
    writer.send(Publish("t", b"too late", 1, False, False, 3))
    writer.send(Publish("t", b"too late", 0))
    assert writer.take() == []
    writer.send(Acknowledgement(PUBREL, 1))
    (answer,) = writer.take()
    assert isinstance(answer, Acknowledgement)
    assert (answer.kind, answer.packet_id, answer.reason) == (PUBCOMP, 1, reasons.SUCCESS)
    assert not world.broker.is_stopping()
    world.broker.stop(world.now)
    assert writer.is_closed
    goodbye = [packet for packet in writer.take() if isinstance(packet, Disconnect)]
    assert [packet.reason for packet in goodbye] == (
        [reasons.SERVER_SHUTTING_DOWN] if version == V5 else []
    )


def test_who_has_begun_nothing_is_sent_away_at_once() -> None:
    world = World()
    client = world.client("client")
    world.broker.begin_stop(world.now)
    assert client.is_closed
    assert not world.broker.is_stopping()


def test_an_answer_that_waits_for_the_disk_is_waited_for() -> None:
    world = DurableWorld()
    writer = world.client("writer", clean=False, expiry=100)
    world.commit()
    writer.take()
    reader = world.client("reader", clean=False, expiry=100)
    reader.subscribe("t", qos=1)
    world.commit()
    reader.lose()
    world.commit()
    world.commits = False
    writer.send(Publish("t", b"x", 1, False, False, 1))
    world.broker.begin_stop(world.now)
    assert world.broker.is_stopping()
    world.commit()
    (answer,) = writer.take()
    assert isinstance(answer, Acknowledgement)
    assert not world.broker.is_stopping()
