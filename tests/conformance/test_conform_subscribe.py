"""SUBSCRIBE and SUBACK: sections 3.8 and 3.9, and overlapping subscriptions in 3.3.4."""

import pytest

from gossamer.broker.policy import Permissions
from gossamer.session.identity import Identity
from gossamer.wire.packets import V5, V311, Publish, Request, Suback, Subscribe
from tests.support.conformance import GONE, clauses, ending, publications
from tests.support.memory import World, properties
from tests.support.packet_bytes import spelled


@clauses("3.8.1-1", v311="3.8.1-1")
@pytest.mark.parametrize("head", ["80", "81", "83", "8a"])
def test_the_flags_are_fixed(world: World, version: int, head: str) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled(head + " 07 00 01 00 00 01 'a' 00"))
    assert ending(client) == (0x81 if version == V5 else GONE)


@clauses("3.8.3-1", v311="3.8.3-1")
@pytest.mark.parametrize("filter", ["00 02 c3 28", "00 03 ed a0 80", "00 03 'a' 00 'b'"])
def test_a_filter_is_text(world: World, version: int, filter: str) -> None:
    client = world.client("c", version)
    body = spelled("00 01" + (" 00" if version == V5 else "")) + spelled(filter) + b"\x00"
    client.send_bytes(bytes((0x82, len(body))) + body)
    assert ending(client) == (0x81 if version == V5 else GONE)


@clauses("3.8.3-2", v311="3.8.3-3")
def test_there_is_at_least_one_filter(world: World, version: int) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled("82 03 00 01 00") if version == V5 else spelled("82 02 00 01"))
    assert ending(client) == (0x82 if version == V5 else GONE)


@clauses("2.2.1-3", v311="2.3.1-1")
def test_packet_identifier_0(world: World, version: int) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled("82 07 00 00 00 00 01 'a' 00"))
    assert ending(client) == (0x82 if version == V5 else GONE)


OPTIONS = [
    pytest.param(0x40, 0x81, id="MQTT-3.8.3-5 bit 6"),
    pytest.param(0x80, 0x81, id="MQTT-3.8.3-5 bit 7"),
    pytest.param(0x03, 0x82, id="3.8.3.1 QoS 3"),
    pytest.param(0x30, 0x82, id="3.8.3.1 retain handling 3"),
]


@pytest.mark.parametrize(("options", "reason"), OPTIONS)
def test_options_that_do_not_exist(world: World, options: int, reason: int) -> None:
    client = world.client("c")
    client.send_bytes(spelled("82 07 00 01 00 00 01 'a'") + bytes((options,)))
    assert ending(client) == reason


@clauses(v311="3.8.3-4")
@pytest.mark.parametrize("options", [0x03, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80])
def test_in_311_there_is_only_the_qos(world: World, version: int, options: int) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled("82 06 00 01 00 01 'a'") + bytes((options,)))
    assert ending(client) == GONE


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        pytest.param("02 0b 00", 0x82, id="3.8.2.1.2 identifier 0"),
        pytest.param("04 0b 01 0b 02", 0x82, id="3.8.2.1.2 two identifiers"),
        pytest.param("06 0b ff ff ff ff 01", 0x81, id="MQTT-1.5.5-1 identifier of five bytes"),
        pytest.param("03 0b 81 00", 0x81, id="MQTT-1.5.5-1 padded identifier"),
        pytest.param("03 23 00 01", 0x81, id="2.2.2.2 a property of PUBLISH"),
        pytest.param("04 1f 00 01 'x'", 0x81, id="2.2.2.2 a property of answers"),
    ],
)
def test_bad_properties(world: World, block: str, reason: int) -> None:
    client = world.client("c")
    body = spelled("00 01") + spelled(block) + spelled("00 01 'a' 00")
    client.send_bytes(bytes((0x82, len(body))) + body)
    assert ending(client) == reason


@clauses("3.8.4-1 3.8.4-2 2.2.1-6", v311="3.8.4-1 3.8.4-2 2.3.1-7")
@pytest.mark.parametrize("number", [1, 255, 65_535])
def test_suback_has_the_same_identifier(world: World, version: int, number: int) -> None:
    client = world.client("c", version)
    client.send(Subscribe(number, [Request("t")]))
    (answer,) = client.take()
    assert isinstance(answer, Suback)
    assert answer.packet_id == number


@clauses("3.8.4-5 3.8.4-6 3.8.4-7 3.9.3-1 3.9.3-2", v311="3.8.4-4 3.8.4-5 3.9.3-1 3.9.3-2")
def test_each_filter_has_its_reason_in_order(world: World, version: int) -> None:
    client = world.client("c", version)
    requests = [
        Request("a", 0),
        Request("b#", 1),
        Request("c/+", 2),
        Request("$share/g", 0),
        Request("#", 1),
        Request("", 0),
        Request("a", 2),
    ]
    client.send(Subscribe(1, requests))
    (answer,) = client.take()
    assert isinstance(answer, Suback)
    bad = 0x8F if version == V5 else 0x80
    assert answer.reasons == [0, bad, 2, bad, 1, bad, 2]


@clauses("3.8.4-5", v311="3.8.4-4")
def test_a_thousand_filters_in_one_packet(world: World, version: int) -> None:
    client = world.client("c", version)
    client.send(Subscribe(1, [Request(f"t/{n}", n % 3) for n in range(1000)]))
    (answer,) = client.take()
    assert isinstance(answer, Suback)
    assert answer.reasons == [n % 3 for n in range(1000)]
    world.client("w").publish("t/999", "x", 2)
    assert [message.qos for message in client.messages()] == [0]


class NoSubscribe(Permissions):
    def may_subscribe(self, client: Identity, filter: str, is_shared: bool) -> bool:
        return filter != "test/nosubscribe"


@clauses("3.8.4-7", v311="3.8.4-5 3.9.3-2")
def test_a_filter_that_is_not_allowed(world: World, version: int) -> None:
    world.broker.set_permissions(NoSubscribe(), world.now)
    client = world.client("c", version)
    reasons = client.subscribe("test/nosubscribe", "test/yes", qos=2)
    assert reasons == [0x87 if version == V5 else 0x80, 2]
    world.client("w").publish("test/nosubscribe")
    assert client.messages() == []


@clauses("3.8.4-3", v311="3.8.4-3")
def test_the_same_filter_replaces(world: World, version: int) -> None:
    client = world.client("c", version)
    writer = world.client("w")
    for qos in (2, 0, 1):
        client.subscribe("t", qos=qos)
        writer.publish("t", "x", 2)
        assert [message.qos for message in client.messages()] == [qos]
    client.unsubscribe("t")
    writer.publish("t", "x", 2)
    assert client.messages() == []


@clauses("3.8.4-3")
def test_every_option_is_replaced(world: World, version: int) -> None:
    client = world.client("c", version)
    client.subscribe("t", qos=1, no_local=True, retain_as_published=True, identifier=7)
    client.publish("t", "own")
    assert client.messages() == []
    client.subscribe("t", qos=1)
    client.publish("t", "own", retain=True)
    (message,) = client.messages()
    assert not message.retain
    assert message.properties is None or message.properties.subscription_ids == []


@clauses("3.8.4-4", v311="3.8.4-3")
def test_nothing_is_lost_while_replacing(world: World, version: int) -> None:
    options = {"receive_maximum": 1} if version == V5 else {}
    reader = world.client("r", version, **options)
    reader.subscribe("t", qos=1)
    writer = world.client("w")
    for number in range(10):
        writer.publish("t", str(number), 1, packet_id=number + 1)
        reader.send(Subscribe(2, [Request("t", 1)]))
    assert reader.payloads() == [str(number) for number in range(10)]


# Overlapping ------------------------------------------------------------------------------------


@clauses("3.3.4-2", v311="3.3.5-1 3.8.4-6")
@pytest.mark.parametrize("published", [0, 1, 2])
def test_overlapping_filters_give_the_highest_qos(
    world: World, version: int, published: int
) -> None:
    client = world.client("c", version)
    client.subscribe("a/#", qos=1)
    client.subscribe("a/+", qos=2)
    client.subscribe("a/b", qos=0)
    world.client("w").publish("a/b", "x", published)
    assert [message.qos for message in client.messages()] == [published]


@clauses("3.3.4-3 3.3.4-4 3.3.4-5")
def test_overlapping_filters_give_all_identifiers(world: World, version: int) -> None:
    client = world.client("c", version)
    client.subscribe("a/#", identifier=1)
    client.subscribe("a/+", identifier=268_435_455)
    client.subscribe("a/b")
    client.subscribe("x", identifier=3)
    world.client("w").publish("a/b")
    (message,) = client.messages()
    assert message.properties is not None
    assert sorted(message.properties.subscription_ids) == [1, 268_435_455]


@clauses("3.3.4-3")
@pytest.mark.parametrize("retain", [False, True])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_identifiers_with_every_kind_of_message(
    world: World, version: int, retain: bool, qos: int
) -> None:
    client = world.client("c", version, expiry=100)
    writer = world.client("w")
    if not retain:
        client.subscribe("t", qos=2, identifier=128)
    writer.publish("t", "x", qos, retain)
    if retain:
        client.subscribe("t", qos=2, identifier=128)
    for message in client.messages():
        assert message.properties is not None
        assert message.properties.subscription_ids == [128]
    if qos and not retain:
        client.lose()
        writer.publish("t", "x", qos)
        (message,) = world.client("c", clean=False, expiry=100).messages()
        assert message.properties is not None
        assert message.properties.subscription_ids == [128]


def test_identifiers_are_not_sent_to_311(world: World) -> None:
    five = world.client("c", V5, expiry=100)
    five.subscribe("t", qos=1, identifier=5)
    five.lose()
    four = world.client("c", V311, clean=False)
    world.client("w").publish("t", "x", 1)
    assert four.payloads() == ["x"]


@clauses("3.8.3-3")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_no_local(world: World, version: int, qos: int) -> None:
    client = world.client("c", version)
    other = world.client("d", version)
    for each in (client, other):
        each.subscribe("t", qos=2, no_local=True)
    client.publish("t", "c", qos)
    other.publish("t", "d", qos)
    assert client.payloads() == ["d"]
    assert other.payloads() == ["c"]


@clauses("3.8.3-3")
def test_no_local_is_of_the_client_not_of_the_connection(world: World, version: int) -> None:
    client = world.client("c", version, expiry=100)
    client.subscribe("t", qos=1, no_local=True)
    client.lose()
    client = world.client("c", version, clean=False, expiry=100)
    client.publish("t", "mine", 1)
    assert publications(client.take()) == []


@clauses("3.8.4-8", v311="3.8.4-6")
def test_a_client_reads_what_it_writes(world: World, version: int) -> None:
    client = world.client("c", version)
    client.subscribe("t", qos=2)
    for qos in (0, 1, 2):
        client.publish("t", str(qos), qos)
    assert client.payloads() == ["0", "1", "2"]


@clauses("3.8.4-1", v311="3.8.4-1")
def test_user_properties_do_not_disturb(world: World, version: int) -> None:
    client = world.client("c", version)
    sent = properties(user=[("a", "b"), ("a", "b")]) if version == V5 else None
    client.send(Subscribe(1, [Request("t")], sent))
    client.send(Publish("t", b"x"))
    assert [packet.kind for packet in client.take()] == [9, 3]
