"""Sessions: clean start, resumption, expiry, takeover, wills, keep-alive."""

import pytest

from gossamer.wire.packets import PUBREC, V5, V311, Acknowledgement, Disconnect, Publish, Will
from tests.support.memory import World, properties


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("version", [V311, V5])
def test_a_session_survives_and_gets_what_it_missed(world: World, version: int) -> None:
    expiry = 100 if version == V5 else None
    reader = world.client("r", version, clean=False, expiry=expiry)
    assert not reader.connack.session_present
    reader.subscribe("t", qos=2)
    reader.lose()
    writer = world.client("w")
    for qos in (0, 1, 2):
        writer.publish("t", f"q{qos}", qos=qos)
    back = world.client("r", version, clean=False, expiry=expiry)
    assert back.connack.session_present
    assert back.payloads() == ["q1", "q2"]
    writer.publish("t", "live")
    assert back.payloads() == ["live"]


def test_clean_start_forgets(world: World) -> None:
    reader = world.client("r", clean=False, expiry=100)
    reader.subscribe("t", qos=1)
    reader.lose()
    again = world.client("r", clean=True, expiry=100)
    assert not again.connack.session_present
    world.client("w").publish("t", qos=1)
    assert again.messages() == []


def test_a_session_expires(world: World) -> None:
    reader = world.client("r", clean=False, expiry=10)
    reader.subscribe("t", qos=1)
    reader.lose()
    world.wait(9)
    assert "r" in world.broker.core.sessions
    world.wait(2)
    assert "r" not in world.broker.core.sessions
    assert world.broker.core.counters.subscriptions == 0
    assert not world.client("r", clean=False, expiry=10).connack.session_present


def test_disconnect_can_change_the_expiry(world: World) -> None:
    reader = world.client("r", clean=False, expiry=10)
    reader.disconnect(expiry=1000)
    world.wait(500)
    assert "r" in world.broker.core.sessions
    again = world.client("r", clean=False, expiry=10)
    again.disconnect(expiry=0)
    assert "r" not in world.broker.core.sessions


def test_disconnect_cannot_give_a_future_to_a_session_without_one(world: World) -> None:
    reader = world.client("r")
    reader.disconnect(expiry=10)
    (answer,) = reader.take()
    assert isinstance(answer, Disconnect)
    assert answer.reason == 0x82


def test_unacknowledged_messages_come_again_marked_dup(world: World) -> None:
    reader = world.client("r", clean=False, expiry=100)
    reader.subscribe("t", qos=2)
    writer = world.client("w")
    writer.publish("t", "one", qos=1)
    writer.publish("t", "two", qos=2)
    first, second = reader.take()
    assert isinstance(first, Publish)
    assert isinstance(second, Publish)
    reader.lose()
    back = world.client("r", clean=False, expiry=100)
    again = back.take()
    assert [(p.packet_id, p.dup) for p in again if isinstance(p, Publish)] == [
        (first.packet_id, True),
        (second.packet_id, True),
    ]
    back.send(Acknowledgement(PUBREC, second.packet_id))
    back.take()
    back.lose()
    third = world.client("r", clean=False, expiry=100)
    kinds = [packet.kind for packet in third.take()]
    assert kinds == [3, 6]  # the QoS 1 message again, and PUBREL for the other


def test_takeover(world: World) -> None:
    first = world.client("same", expiry=100)
    first.subscribe("t")
    second = world.client("same", clean=False, expiry=100)
    assert second.connack.session_present
    goodbye = first.take()[-1]
    assert isinstance(goodbye, Disconnect)
    assert goodbye.reason == 0x8E
    assert first.is_closed
    first.lose()
    world.client("w").publish("t")
    assert len(second.messages()) == 1


def test_takeover_by_another_user_is_refused(world: World) -> None:
    first = world.client("same", user="ann", expiry=100)
    thief = world.visitor()
    thief.connect("same", clean=False, user="eve")
    assert thief.connack.reason == 0x87
    assert thief.is_closed
    assert not first.is_closed


def test_assigned_client_id(world: World) -> None:
    client = world.client("")
    assert client.connack.properties is not None
    assert client.connack.properties.assigned_client_id
    old = world.visitor(V311)
    old.connect("", clean=False)
    assert old.connack.reason == 0x85


def test_will_on_a_lost_connection_and_not_on_a_normal_end(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("will")
    for end, expected in (("lose", ["gone"]), ("disconnect", [])):
        client = world.client("c", will=Will("will", b"gone"))
        getattr(client, end)()
        assert reader.payloads() == expected
    client = world.client("c", will=Will("will", b"gone"))
    client.disconnect(reason=4)
    assert reader.payloads() == ["gone"]


def test_will_delay(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("will")
    will = Will("will", b"gone", properties=properties(will_delay=10))
    client = world.client("c", expiry=100, will=will)
    client.lose()
    world.wait(9)
    assert reader.messages() == []
    world.wait(2)
    assert reader.payloads() == ["gone"]
    will = Will("will", b"gone", properties=properties(will_delay=10))
    client = world.client("c", clean=False, expiry=100, will=will)
    client.lose()
    world.wait(5)
    world.client("c", clean=False, expiry=100)
    world.wait(20)
    assert reader.messages() == []


def test_will_delay_ends_with_the_session(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("will")
    will = Will("will", b"gone", properties=properties(will_delay=1000))
    world.client("c", expiry=5, will=will).lose()
    world.wait(6)
    assert reader.payloads() == ["gone"]


def test_keep_alive(world: World) -> None:
    client = world.client("c", keep_alive=10)
    world.wait(14)
    client.send_bytes(b"\xc0\x00")
    assert client.take()[0].kind == 13
    world.wait(14)
    assert not client.is_closed
    world.wait(2)
    (goodbye,) = client.take()
    assert isinstance(goodbye, Disconnect)
    assert goodbye.reason == 0x8D
    assert client.is_closed


def test_a_login_that_does_not_come_is_ended(world: World) -> None:
    visitor = world.visitor()
    world.wait(5)
    assert not visitor.is_closed
    world.wait(6)
    assert visitor.is_closed


def test_message_expiry_in_the_queue(world: World) -> None:
    reader = world.client("r", clean=False, expiry=100)
    reader.subscribe("t", qos=1)
    reader.lose()
    writer = world.client("w")
    writer.publish("t", "short", qos=1, message_expiry=10)
    writer.publish("t", "long", qos=1, message_expiry=60)
    world.wait(20)
    (message,) = world.client("r", clean=False, expiry=100).messages()
    assert message.payload == b"long"
    assert message.properties is not None
    assert message.properties.message_expiry == 40


def test_many_short_sessions_leave_nothing(world: World) -> None:
    own = len(world.broker.core.routes.tree)  # what the broker itself listens to
    for number in range(500):
        client = world.client(f"c{number}", clean=False, expiry=5)
        client.subscribe(f"t/{number}")
        client.lose()
    world.wait(6)
    core = world.broker.core
    assert not core.sessions
    assert not core.connections
    assert len(core.routes.tree) == own


@pytest.mark.parametrize(("head", "first"), [("0006 4d514973647003", 0), ("0004 4d51545404", 1)])
def test_clients_of_3_1_are_told_of_no_session(head: str, first: int) -> None:
    world = World()
    for expected in (0, first):
        visitor = world.visitor(V311)
        body = bytes.fromhex(head + "00 0000 0001 61")  # not a clean session
        visitor.send_bytes(bytes((0x10, len(body))) + body)
        assert visitor.sink.data == bytes((0x20, 2, expected, 0))
        visitor.send_bytes(bytes((0xE0, 0)))
