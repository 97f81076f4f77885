"""Shared subscriptions across brokers in memory: exactly one member gets each message."""

from typing import Any

import pytest

from gossamer.mesh.settings import MODES
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.wire import reasons
from gossamer.wire.packets import Will
from tests.support.memory import MemoryClient
from tests.support.meshes import Net

GROUP = "$share/crew/room/+"


@pytest.fixture(params=MODES)
def line(request: pytest.FixtureRequest) -> Net:
    """a - b - c."""
    net = Net(request.param)
    for name in "abc":
        net.node(name)
    net.join("a", "b")
    net.join("c", "b")
    return net


def member(net: Net, broker: str, name: str, filter: str = GROUP, **options: Any) -> MemoryClient:
    client = net.nodes[broker].client(name, **options)
    client.subscribe(filter, qos=2)
    net.run()
    return client


def taken(net: Net, *clients: MemoryClient) -> list[list[str]]:
    """What each client got, once nothing moves any more."""
    found: list[list[str]] = [[] for _ in clients]
    while True:
        net.run()
        news = [client.payloads() for client in clients]
        if not any(news):
            return found
        for got, new in zip(found, news, strict=True):
            got += new


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_one_member_gets_it_wherever_it_is(line: Net, qos: int) -> None:
    far = member(line, "c", "far")
    near = member(line, "b", "near")
    plain = line.nodes["c"].client("plain")
    plain.subscribe("room/1", qos=qos)
    line.run()
    writer = line.nodes["a"].client("writer")
    sent = [str(number) for number in range(10)]
    for number in sent:
        writer.publish("room/1", number, qos=qos, packet_id=int(number) + 1)
    got_far, got_near, got_plain = taken(line, far, near, plain)
    assert sorted(got_far + got_near, key=int) == sent
    assert len(got_far) == len(got_near) == 5
    assert got_plain == sent


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_members_on_the_publishers_own_broker_come_first(line: Net, qos: int) -> None:
    far = member(line, "c", "far")
    own = member(line, "a", "own")
    writer = line.nodes["a"].client("writer")
    for number in range(4):
        writer.publish("room/1", str(number), qos=qos, packet_id=number + 1)
    assert taken(line, far, own) == [[], ["0", "1", "2", "3"]]


def test_properties_and_flags_reach_the_member_as_published(line: Net) -> None:
    far = line.nodes["c"].client("far")
    far.subscribe(GROUP, qos=1, retain_as_published=True, identifier=7)
    line.run()
    line.nodes["a"].client("writer").publish(
        "room/1", "x", qos=2, retain=True, user=[("k", "v")], content_type="t", message_expiry=60
    )
    line.run()
    (message,) = far.messages()
    assert (message.topic, message.qos, message.retain) == ("room/1", 1, True)
    assert message.properties is not None
    assert message.properties.user == [("k", "v")]
    assert message.properties.content_type == "t"
    assert message.properties.message_expiry == 60
    assert message.properties.subscription_ids == [7]


def test_groups_of_other_names_and_filters_each_get_one(line: Net) -> None:
    crew = member(line, "c", "crew")
    other = member(line, "b", "other", "$share/other/room/+")
    wide = member(line, "c", "wide", "$share/crew/#")
    line.nodes["a"].client("writer").publish("room/1", "x", qos=1)
    assert taken(line, crew, other, wide) == [["x"], ["x"], ["x"]]


def test_a_will_is_shared(line: Net) -> None:
    far, near = member(line, "c", "far"), member(line, "b", "near")
    line.nodes["a"].client("dying", will=Will("room/1", b"gone", 1)).lose()
    assert sorted(taken(line, far, near)) == [[], ["gone"]]


def test_what_a_dead_member_has_not_acknowledged_goes_to_another_broker(line: Net) -> None:
    dying = member(line, "b", "dying")
    other = member(line, "c", "other")
    dying_b = line.nodes["b"].client("writer")
    for number in range(5):
        dying_b.publish("room/1", str(number), qos=1, packet_id=number + 1)
    line.run()
    dying.lose()
    assert taken(line, other) == [["0", "1", "2", "3", "4"]]


def test_a_member_that_is_away_is_the_last_choice(line: Net) -> None:
    away = member(line, "a", "away", expiry=1000)
    away.lose()
    here = member(line, "c", "here")
    writer = line.nodes["a"].client("writer")
    writer.publish("room/1", "one", qos=1)
    assert taken(line, here) == [["one"]]
    here.disconnect()
    line.run()
    writer.publish("room/1", "two", qos=1)
    line.run()
    back = line.nodes["a"].client("away", clean=False, expiry=1000)
    assert taken(line, back) == [["two"]]


def test_a_message_waits_for_the_only_member_behind_a_cut_link(line: Net) -> None:
    far = member(line, "c", "far")
    line.cut("c", "b")
    line.nodes["a"].client("writer").publish("room/1", "x", qos=1)
    assert taken(line, far) == [[]]
    line.join("c", "b")
    assert taken(line, far) == [["x"]]


def test_members_that_can_be_reached_come_before_others(line: Net) -> None:
    far, near = member(line, "c", "far"), member(line, "b", "near")
    line.cut("c", "b")
    writer = line.nodes["a"].client("writer")
    for number in range(4):
        writer.publish("room/1", str(number), qos=1, packet_id=number + 1)
    assert taken(line, far, near) == [[], ["0", "1", "2", "3"]]


def test_a_directed_that_finds_no_member_goes_on(line: Net) -> None:
    line.cut("a", "b")  # so that a does not hear of what follows
    line.join("a", "b")
    leaving = member(line, "c", "leaving")
    line.cut("a", "b")
    leaving.unsubscribe(GROUP)
    other = member(line, "b", "other")
    plain = line.nodes["b"].client("plain")
    plain.subscribe("room/1", qos=1)
    line.run()
    line.nodes["a"].client("writer").publish("room/1", "x", qos=2)
    line.join("a", "b")
    got_other, got_leaving, got_plain = taken(line, other, leaving, plain)
    assert (got_other, got_leaving) == (["x"], [])
    if line.mode in ("pf", "bloom"):
        assert got_plain in ([], ["x"])  # its interest was not known yet, unless it takes all


def test_a_retained_message_is_shared_once(line: Net) -> None:
    far, near = member(line, "c", "far"), member(line, "b", "near")
    line.cut("c", "b")
    line.nodes["a"].client("writer").publish("room/1", "x", qos=1, retain=True)
    line.join("c", "b")
    assert taken(line, far, near) == [[], ["x"]]


def run_with_disk(net: Net, broker: str, journal: MemoryJournal) -> None:
    """Everything settles, and what the broker with a store promises is committed."""
    for _ in range(6):
        net.run()
        batch = journal.take()
        journal.tables.apply(batch)
        net.nodes[broker].broker.committed(batch.number, net.nodes[broker].now)
    net.run()


def test_a_restarted_broker_still_knows_who_has_members(line: Net) -> None:
    far = member(line, "c", "far")
    journal = MemoryJournal()
    line.node("d", journal=journal)
    line.join("d", "b")
    run_with_disk(line, "d", journal)
    line.cut("d", "b")
    again = journal.restarted()
    line.node("d", journal=again, snapshot=again.snapshot)
    line.nodes["d"].client("writer").publish("room/1", "x", qos=1)
    line.join("d", "b")
    run_with_disk(line, "d", again)
    assert taken(line, far) == [["x"]]


def test_a_forgotten_broker_has_no_members(line: Net) -> None:
    member(line, "c", "far")
    line.cut("c", "b")
    line.nodes["b"].mesh.neighbour_table.forget("c", line.nodes["b"].now)
    line.run()
    for name in "ab":
        assert line.nodes[name].mesh.directory.elsewhere == {}


def test_shared_results_of_an_operator_come_once(line: Net) -> None:
    shared = "$share/crew/$COUNT/room/+"
    members = [member(line, broker, f"m{broker}", shared) for broker in "abc"]
    line.nodes["a"].client("writer").publish("room/1", "5", qos=1)
    got = taken(line, *members)
    assert sum(len(each) for each in got) == 1


def test_filters_of_groups_are_told_to_nobody(line: Net) -> None:
    member(line, "c", "far")
    for link in line.nodes["b"].mesh.by_name.values():
        assert not link.session.subscriptions


def test_the_directory_is_closed_to_clients(line: Net) -> None:
    client = line.nodes["a"].client("curious")
    assert client.subscribe("$mesh/#") == [reasons.NOT_AUTHORIZED]
    member(line, "c", "far")
    client.publish("$mesh/groups/c/x", "", qos=1, retain=True)
    line.run()
    assert line.nodes["a"].mesh.directory.elsewhere
