"""UNSUBSCRIBE and UNSUBACK: sections 3.10 and 3.11."""

import pytest

from gossamer.wire.packets import PUBCOMP, PUBREC, V5, Acknowledgement, Unsuback, Unsubscribe
from tests.support.conformance import GONE, clauses, ending, publications
from tests.support.memory import World
from tests.support.packet_bytes import spelled


@clauses("3.10.1-1", v311="3.10.1-1")
@pytest.mark.parametrize("head", ["a0", "a1", "a3", "aa"])
def test_the_flags_are_fixed(world: World, version: int, head: str) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled(head + " 06 00 01 00 00 01 'a'"))
    assert ending(client) == (0x81 if version == V5 else GONE)


@clauses("3.10.3-1", v311="3.10.3-1")
@pytest.mark.parametrize("filter", ["00 02 c3 28", "00 03 'a' 00 'b'", "00 05 'a'"])
def test_a_filter_is_text(world: World, version: int, filter: str) -> None:
    client = world.client("c", version)
    body = spelled("00 01" + (" 00" if version == V5 else "")) + spelled(filter)
    client.send_bytes(bytes((0xA2, len(body))) + body)
    assert ending(client) == (0x81 if version == V5 else GONE)


@clauses("3.10.3-2", v311="3.10.3-2")
def test_there_is_at_least_one_filter(world: World, version: int) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled("a2 03 00 01 00") if version == V5 else spelled("a2 02 00 01"))
    assert ending(client) == (0x82 if version == V5 else GONE)


@clauses("2.2.1-3", v311="2.3.1-1")
def test_packet_identifier_0(world: World, version: int) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled("a2 06 00 00 00 00 01 'a'"))
    assert ending(client) == (0x82 if version == V5 else GONE)


@clauses("3.10.4-1", v311="3.10.4-1")
def test_filters_are_compared_to_the_letter(world: World, version: int) -> None:
    client = world.client("c", version)
    client.subscribe("a/+", "a/b")
    writer = world.client("w")
    for other in ("a/#", "A/+", "a/+/", "+/+", "a/c", "é", ""):
        client.unsubscribe(other)
    writer.publish("a/b")
    writer.publish("a/c")
    assert len(client.messages()) == 2
    client.unsubscribe("a/+")
    writer.publish("a/b")
    writer.publish("a/c")
    assert [message.topic for message in client.messages()] == ["a/b"]


@clauses("3.10.4-4 3.10.4-5 3.10.4-6 3.11.3-1 3.11.3-2 2.2.1-6", v311="3.10.4-4 3.10.4-5 3.10.4-6")
def test_one_answer_with_a_reason_for_each(world: World, version: int) -> None:
    client = world.client("c", version)
    client.subscribe("a", "b/#")
    client.send(Unsubscribe(4711, ["b/#", "none", "a", "a"]))
    (answer,) = client.take()
    assert isinstance(answer, Unsuback)
    assert answer.packet_id == 4711
    assert answer.reasons == ([0, 0x11, 0, 0x11] if version == V5 else [])


@clauses("3.10.4-2", v311="3.10.4-2")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_nothing_new_is_added(world: World, version: int, qos: int) -> None:
    client = world.client("c", version)
    client.subscribe("t", qos=2)
    client.unsubscribe("t")
    world.client("w").publish("t", "x", qos)
    assert client.take() == []


@clauses("3.10.4-3", v311="3.10.4-3")
def test_what_was_begun_is_completed(world: World, version: int) -> None:
    expiry = 100 if version == V5 else None
    client = world.client("c", version, clean=False, expiry=expiry)
    client.subscribe("t", qos=2)
    writer = world.client("w")
    writer.publish("t", "one", 1, packet_id=1)
    writer.publish("t", "two", 2, packet_id=2)
    one, two = publications(client.take())
    client.unsubscribe("t")
    client.send(Acknowledgement(PUBREC, two.packet_id))
    client.lose()
    client = world.client("c", version, clean=False, expiry=expiry)
    packets = client.take()
    assert [(p.kind, p.packet_id) for p in packets] == [  # type: ignore[attr-defined]
        (3, one.packet_id),
        (6, two.packet_id),
    ]
    client.send(Acknowledgement(PUBCOMP, two.packet_id))


@clauses("3.10.4-1", v311="3.10.4-1")
def test_it_lasts_as_long_as_the_session(world: World, version: int) -> None:
    expiry = 100 if version == V5 else None
    client = world.client("c", version, clean=False, expiry=expiry)
    client.subscribe("t", "u", qos=1)
    client.unsubscribe("t")
    client.lose()
    writer = world.client("w")
    writer.publish("t", "t", 1)
    writer.publish("u", "u", 1)
    assert world.client("c", version, clean=False, expiry=expiry).payloads() == ["u"]
