"""Shared subscriptions: section 4.8.2."""

from itertools import chain

import pytest

from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBREC,
    V5,
    V311,
    Acknowledgement,
    Request,
    Subscribe,
)
from tests.support.conformance import clauses, ending, publications
from tests.support.memory import World


@clauses("4.8.2-1 4.8.2-2")
@pytest.mark.parametrize(
    "filter",
    ["$share/", "$share/g", "$share/g/", "$share//t", "$share/+/t", "$share/g#/t", "$share/#/t"],
)
def test_names_that_are_none(world: World, version: int, filter: str) -> None:
    assert world.client("c", version).subscribe(filter) == [0x8F]


@clauses("4.8.2-1 4.8.2-2")
@pytest.mark.parametrize(
    ("filter", "topic"),
    [
        ("$share/g/t", "t"),
        ("$share/g/#", "a/b"),
        ("$share/g//t", "/t"),
        ("$share/g//", "/"),
        ("$share/a name, with $ and é/+/x", "t/x"),
        ("$share/g/$share", "$share"),
        ("$share/g/$app/#", "$app/x"),
    ],
)
def test_names_that_are_some(world: World, version: int, filter: str, topic: str) -> None:
    client = world.client("c", version)
    assert client.subscribe(filter, qos=1) == [1]
    world.client("w").publish(topic)
    assert [message.topic for message in client.messages()] == [topic]


@clauses("4.7.2-1")
def test_wildcards_of_a_group_hide_dollar_topics_too(world: World, version: int) -> None:
    client = world.client("c", version)
    client.subscribe("$share/g/#", "$share/g/+/x")
    world.client("w").publish("$app/x")
    assert client.messages() == []


@clauses("4.8.2-1")
def test_each_message_goes_to_one_member_of_each_group(world: World, version: int) -> None:
    groups = {name: [world.client(f"{name}{n}", version) for n in range(3)] for name in "ab"}
    for name, members in groups.items():
        for member in members:
            member.subscribe(f"$share/{name}/t/#", qos=1)
    alone = world.client("alone", version)
    alone.subscribe("t/#", qos=1)
    writer = world.client("w")
    everything = [str(number) for number in range(30)]
    for number in everything:
        writer.publish("t/x", number, int(number) % 2, packet_id=int(number) + 1)
    for members in groups.values():
        got = [member.payloads() for member in members]
        assert sorted(chain(*got), key=int) == everything
        assert all(got)
    assert alone.payloads() == everything


@clauses("4.8.2-1")
def test_the_same_name_with_another_filter_is_another_group(world: World, version: int) -> None:
    first, second = world.client("1", version), world.client("2", version)
    first.subscribe("$share/g/t")
    second.subscribe("$share/g/+")
    world.client("w").publish("t")
    assert (len(first.messages()), len(second.messages())) == (1, 1)


@clauses("3.3.4-4 3.8.4-3")
def test_shared_and_not_shared_are_two_subscriptions(world: World, version: int) -> None:
    client = world.client("c", version)
    client.subscribe("t", identifier=1)
    client.subscribe("$share/g/t", identifier=2)
    writer = world.client("w")
    writer.publish("t")
    found = [m.properties.subscription_ids for m in client.messages() if m.properties]
    assert sorted(found) == [[1], [2]]
    client.unsubscribe("t")
    writer.publish("t")
    assert len(client.messages()) == 1


@clauses("3.8.3-4")
@pytest.mark.parametrize("filter", ["$share/g/t", "$share/g/#", "$share//t"])
def test_no_local_is_an_error(world: World, version: int, filter: str) -> None:
    client = world.client("c", version)
    client.send(Subscribe(1, [Request("ok"), Request(filter, no_local=True)]))
    assert ending(client) == 0x82


@clauses("4.8.2-3")
def test_each_member_has_its_own_qos(world: World, version: int) -> None:
    members = [world.client(str(qos), version) for qos in (0, 1, 2)]
    for qos, member in enumerate(members):
        member.subscribe("$share/g/t", qos=qos)
    writer = world.client("w")
    for number in range(9):
        writer.publish("t", "x", 2, packet_id=number + 1)
    for qos, member in enumerate(members):
        assert {message.qos for message in member.messages()} == {qos}


@clauses("3.10.4-1 3.11.3-2")
def test_unsubscribe_needs_the_whole_name(world: World, version: int) -> None:
    client = world.client("c", version)
    client.subscribe("$share/g/t")
    writer = world.client("w")
    for other in ("t", "$share/h/t", "$share/g/t/#"):
        client.unsubscribe(other)
        writer.publish("t")
        assert len(client.messages()) == 1
    client.unsubscribe("$share/g/t")
    writer.publish("t")
    assert client.messages() == []


@clauses("4.8.2-4")
def test_a_begun_qos_2_stays_with_its_member(world: World, version: int) -> None:
    first = world.client("first", version, expiry=100)
    first.subscribe("$share/g/t", qos=2)
    world.client("w").publish("t", "x", 2)
    (message,) = publications(first.take())
    second = world.client("second", version)
    second.subscribe("$share/g/t", qos=2)
    first.lose()
    assert second.take() == []
    first = world.client("first", version, clean=False, expiry=100)
    (again,) = publications(first.take())
    assert again.packet_id == message.packet_id
    first.send(Acknowledgement(PUBREC, again.packet_id), Acknowledgement(PUBCOMP, again.packet_id))
    assert second.take() == []


@clauses("4.8.2-5")
@pytest.mark.parametrize("released", [False, True])
def test_and_ends_with_its_session(world: World, version: int, released: bool) -> None:
    first = world.client("first", version, expiry=5)
    first.subscribe("$share/g/t", qos=2)
    world.client("w").publish("t", "x", 2)
    (message,) = publications(first.take())
    if released:
        first.send(Acknowledgement(PUBREC, message.packet_id))
    second = world.client("second", version)
    second.subscribe("$share/g/t", qos=2)
    first.lose()
    world.wait(10)
    assert "first" not in world.broker.core.sessions
    assert second.take() == []


def test_an_unacknowledged_qos_1_goes_to_another_member(world: World) -> None:
    """The standard suggests it: "the Server SHOULD attempt to deliver" (4.8.2)."""
    first = world.client("first")
    first.subscribe("$share/g/t", qos=1)
    world.client("w").publish("t", "x", 1)
    assert len(first.take()) == 1
    second = world.client("second")
    second.subscribe("$share/g/t", qos=1)
    first.lose()
    assert second.payloads() == ["x"]


@clauses("4.8.2-6")
@pytest.mark.parametrize(("qos", "kind"), [(1, PUBACK), (2, PUBREC)])
def test_what_one_member_refuses_no_other_gets(
    world: World, version: int, qos: int, kind: int
) -> None:
    first = world.client("first", version)
    first.subscribe("$share/g/t", qos=2)
    world.client("w").publish("t", "x", qos)
    (message,) = publications(first.take())
    second = world.client("second", version)
    second.subscribe("$share/g/t", qos=2)
    first.send(Acknowledgement(kind, message.packet_id, 0x80))
    first.lose()
    assert second.take() == []


@clauses("3.3.1-9")
@pytest.mark.parametrize("handling", [0, 1, 2])
def test_no_retained_messages(world: World, version: int, handling: int) -> None:
    """Section 4.8.2 leaves them out."""
    world.client("w").publish("t", "kept", retain=True)
    client = world.client("c", version)
    client.subscribe("$share/g/t", retain_handling=handling)
    assert client.messages() == []


@clauses("4.5.0-1")
def test_members_that_are_away_keep_their_share(world: World, version: int) -> None:
    client = world.client("c", version, expiry=100)
    client.subscribe("$share/g/t", qos=1)
    client.lose()
    world.client("w").publish("t", "waits", 1)
    assert world.client("c", version, clean=False, expiry=100).payloads() == ["waits"]


def test_members_may_be_of_both_versions(world: World) -> None:
    members = [world.client("five", V5), world.client("four", V311)]
    for member in members:
        assert member.subscribe("$share/g/t") == [0]
    writer = world.client("w")
    for number in range(4):
        writer.publish("t", str(number))
    assert sorted(members[0].payloads() + members[1].payloads()) == ["0", "1", "2", "3"]
