"""Clients that go from broker to broker, in memory: their sessions follow them."""

import pytest

from gossamer.mesh.roaming.departed import LINGER_SECONDS
from gossamer.mesh.settings import MODES
from gossamer.wire import reasons
from gossamer.wire.packets import (
    PUBREC,
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Connack,
    Disconnect,
    Publish,
)
from tests.support.memory import MemoryClient
from tests.support.meshes import Net

WAIT = 5.0


@pytest.fixture(params=MODES)
def line(request: pytest.FixtureRequest) -> Net:
    """a - b - c."""
    net = Net(request.param)
    for name in "abc":
        net.node(name)
    net.join("a", "b")
    net.join("c", "b")
    return net


def ask(
    net: Net,
    broker: str,
    name: str = "roamer",
    clean: bool = False,
    expiry: int = 1000,
    user: str | None = None,
    version: int = V5,
) -> MemoryClient:
    """Sends CONNECT; the answer may take its time."""
    client = net.nodes[broker].visitor(version)
    client.connect(name, clean=clean, expiry=expiry, user=user)
    net.run()
    look(client)
    return client


def look(client: MemoryClient) -> None:
    packets = client.take()
    for packet in packets:
        if isinstance(packet, Connack):
            client.connack = packet
    client._later = [packet for packet in packets if not isinstance(packet, Connack)]


def come(net: Net, broker: str, name: str = "roamer", **options: object) -> MemoryClient:
    client = ask(net, broker, name, **options)  # type: ignore[arg-type]
    assert client.connack.reason == 0
    return client


def wait(net: Net, seconds: float) -> None:
    """Links would take a longer silence for death."""
    while seconds > 0:
        for near, far in net.links.values():
            near.end.connection.last_seen = far.end.last_seen = 1e12  # type: ignore[attr-defined]
        for node in net.nodes.values():
            node.wait(min(1.0, seconds))
        net.run()
        seconds -= 1.0


def taken(net: Net, client: MemoryClient) -> list[str]:
    found: list[str] = []
    while True:
        net.run()
        news = client.payloads()
        if not news:
            return found
        found += news


def holders(net: Net, name: str = "roamer") -> list[str]:
    return [broker for broker, node in net.nodes.items() if name in node.broker.core.sessions]


def test_the_queue_and_the_subscriptions_follow(line: Net) -> None:
    client = come(line, "a")
    assert not client.connack.session_present
    client.subscribe("t/+", qos=2, identifier=5)
    line.run()
    client.lose()
    writer = line.nodes["b"].client("writer")
    for number in range(5):
        writer.publish("t/1", str(number), qos=1 + number % 2, packet_id=number + 1)
    line.run()
    client = come(line, "c")
    assert client.connack.session_present
    assert taken(line, client) == ["0", "1", "2", "3", "4"]
    for broker in "abc":
        line.nodes[broker].client(f"w{broker}").publish("t/2", broker, qos=1)
    assert sorted(taken(line, client)) == ["a", "b", "c"]


def test_nothing_is_left_behind_after_a_while(line: Net) -> None:
    client = come(line, "a")
    client.subscribe("t", "$share/g/u", qos=1)
    line.run()
    client = come(line, "c")
    wait(line, 3 * LINGER_SECONDS)
    assert holders(line) == ["c"]
    assert not line.nodes["a"].mesh.by_name["b"].session.queued()
    line.nodes["a"].client("writer").publish("t", "x", qos=2)
    assert taken(line, client) == ["x"]
    session = line.nodes["c"].broker.core.sessions["roamer"]
    assert session.seen is None


def test_messages_during_the_move_come_once(line: Net) -> None:
    client = come(line, "a")
    client.subscribe("t", qos=2)
    line.run()
    writers = [line.nodes[broker].client(f"w{broker}") for broker in "abc"]
    sent: list[str] = []
    got: list[str] = []
    for round_number, broker in enumerate("cbacab"):
        client = line.nodes[broker].visitor()
        client.connect("roamer", clean=False, expiry=1000)
        for writer in writers:
            number = str(len(sent))
            sent.append(number)
            writer.publish("t", number, qos=2, packet_id=round_number + 1)
        line.run()
        look(client)
        assert client.connack.session_present
        got += taken(line, client)
    assert sorted(got, key=int) == sent


def test_what_is_in_flight_goes_on_where_it_was(line: Net) -> None:
    client = come(line, "a")
    client.subscribe("t", qos=2)
    line.run()
    writer = line.nodes["b"].client("writer")
    for number in range(3):
        writer.publish("t", str(number), qos=2, packet_id=number + 1)
    line.run()
    first, second, third = [packet for packet in client.take() if isinstance(packet, Publish)]
    client.send(Acknowledgement(PUBREC, first.packet_id))  # received, not completed
    line.run()
    (release,) = client.take()
    assert isinstance(release, Acknowledgement)
    assert (release.kind, release.packet_id) == (PUBREL, first.packet_id)
    client = come(line, "c")
    packets = client.take()
    assert isinstance(packets[0], Acknowledgement)
    assert (packets[0].kind, packets[0].packet_id) == (PUBREL, first.packet_id)
    again = [packet for packet in packets if isinstance(packet, Publish)]
    assert [(each.packet_id, each.dup) for each in again] == [
        (second.packet_id, True),
        (third.packet_id, True),
    ]


def test_a_qos_2_publication_that_was_accepted_is_not_taken_again(line: Net) -> None:
    reader = line.nodes["b"].client("reader")
    reader.subscribe("t", qos=2)
    client = come(line, "a")
    client.send(Publish("t", b"once", 2, False, False, 9))
    line.run()
    client = come(line, "c")
    client.send(Publish("t", b"once", 2, False, True, 9), Acknowledgement(PUBREL, 9))
    line.run()
    assert reader.payloads() == ["once"]


def test_the_old_connection_is_told(line: Net) -> None:
    old = come(line, "a")
    come(line, "c")
    (goodbye,) = old.take()
    assert isinstance(goodbye, Disconnect)
    assert goodbye.reason == reasons.SESSION_TAKEN_OVER
    assert old.is_closed


def test_so_is_one_whose_session_ends_with_it(line: Net) -> None:
    old = come(line, "a", clean=True, expiry=0)
    new = come(line, "c", clean=True, expiry=0)
    (goodbye,) = old.take()
    assert isinstance(goodbye, Disconnect)
    assert goodbye.reason == reasons.SESSION_TAKEN_OVER
    assert not new.is_closed
    assert holders(line) == ["c"]


def test_a_clean_start_discards_everywhere(line: Net) -> None:
    client = come(line, "a")
    client.subscribe("t", qos=1)
    line.run()
    client.lose()
    line.nodes["b"].client("writer").publish("t", "old", qos=1)
    line.run()
    client = come(line, "c", clean=True)
    assert not client.connack.session_present
    assert holders(line) == ["c"]
    assert taken(line, client) == []
    client.disconnect()
    client = come(line, "b", clean=True, expiry=0)
    assert holders(line) == ["b"]


def test_only_the_same_user_takes_a_session(line: Net) -> None:
    come(line, "a", user="owner").subscribe("t", qos=1)
    line.run()
    thief = ask(line, "c", user="thief")
    assert thief.connack.reason == reasons.NOT_AUTHORIZED
    assert come(line, "c", user="owner").connack.session_present


def test_two_users_of_one_id_in_two_halves_keep_what_is_theirs(line: Net) -> None:
    owner = come(line, "a", user="owner")
    owner.subscribe("t", qos=1)
    line.run()
    line.cut("a", "b")
    line.nodes["c"].mesh.roaming.claims.remove("roamer", line.nodes["c"].now)
    thief = come(line, "c", user="thief")
    line.join("a", "b")
    line.nodes["b"].client("writer").publish("t", "secret", qos=1)
    assert taken(line, thief) == []


def test_a_311_client_roams_too(line: Net) -> None:
    client = come(line, "a", version=V311)
    client.subscribe("t", qos=1)
    line.run()
    client.lose()
    line.nodes["c"].client("writer").publish("t", "x", qos=1)
    client = come(line, "b", version=V311)
    assert client.connack.session_present
    assert taken(line, client) == ["x"]


def test_without_the_old_broker_a_client_begins_anew_and_gets_the_rest_later(line: Net) -> None:
    client = come(line, "a")
    client.subscribe("t", qos=1)
    line.run()
    client.lose()
    line.nodes["a"].client("writer").publish("t", "kept", qos=1)
    line.cut("a", "b")
    client = ask(line, "c")
    assert client.connack.reason == 0xFF  # no answer yet
    wait(line, WAIT + 1)
    look(client)
    assert client.connack.reason == 0
    assert not client.connack.session_present
    client.subscribe("u", qos=1)
    line.nodes["c"].client("other").publish("u", "new", qos=1)
    assert taken(line, client) == ["new"]
    line.join("a", "b")
    assert taken(line, client) == ["kept"]
    wait(line, 2.0)
    assert holders(line) == ["c"]


def test_others_are_not_held_up(line: Net) -> None:
    come(line, "a").lose()
    line.cut("a", "b")
    assert ask(line, "c").connack.reason == 0xFF
    assert come(line, "c", "somebody").connack.reason == 0


def test_the_newest_connection_wins_when_halves_meet(line: Net) -> None:
    come(line, "a").lose()
    line.cut("a", "b")
    there = ask(line, "c")
    wait(line, WAIT + 1)
    look(there)
    assert there.connack.reason == 0
    here = come(line, "a")  # after it
    line.join("a", "b")
    assert there.is_closed
    assert not here.is_closed
    assert "a" in holders(line)


def test_a_client_that_moves_on_before_its_session_came(line: Net) -> None:
    client = come(line, "a")
    client.subscribe("t", qos=1)
    line.run()
    client.lose()
    line.nodes["a"].client("writer").publish("t", "x", qos=1)
    line.cut("c", "b")
    hasty = ask(line, "c")
    assert hasty.connack.reason == 0xFF
    hasty.lose()
    line.join("c", "b")
    client = come(line, "b")
    assert client.connack.session_present
    assert taken(line, client) == ["x"]


def test_a_session_that_ended_is_not_waited_for(line: Net) -> None:
    client = come(line, "a", expiry=2)
    client.lose()
    line.cut("a", "b")
    wait(line, 3.0)
    line.join("a", "b")
    client = come(line, "c")
    assert not client.connack.session_present


def test_members_of_groups_take_their_place_along(line: Net) -> None:
    client = come(line, "a")
    client.subscribe("$share/g/t", qos=1)
    line.run()
    client.lose()
    writer = line.nodes["b"].client("writer")
    writer.publish("t", "1", qos=1)
    line.run()
    client = come(line, "c")
    writer.publish("t", "2", qos=1)
    assert taken(line, client) == ["1", "2"]
    wait(line, 3 * LINGER_SECONDS)
    writer.publish("t", "3", qos=1)
    assert taken(line, client) == ["3"]


def test_roaming_can_be_switched_off() -> None:
    net = Net()
    for name in "ab":
        net.node(name, roaming_seconds=0.0)
    net.join("a", "b")
    first, second = come(net, "a"), come(net, "b")
    assert not second.connack.session_present
    assert not first.is_closed


def test_what_it_had_and_waits_for_another_broker_does_not_come_again(line: Net) -> None:
    """c leaves b and comes back behind a. What waited for it then goes round to everybody, and
    comes to the broker where the client is by now."""
    reader = come(line, "c", "reader")
    reader.subscribe("t", qos=2)
    client = come(line, "b")
    client.subscribe("t", qos=2)
    line.run()
    line.cut("c", "b")
    reader.lose()
    line.nodes["b"].client("writer").publish("t", "once", qos=2, packet_id=1)
    assert taken(line, client) == ["once"]
    client.lose()
    client = come(line, "a")
    assert client.connack.session_present
    assert taken(line, client) == []
    line.join("a", "c")
    assert taken(line, client) == []
    assert taken(line, come(line, "c", "reader")) == ["once"]


@pytest.mark.parametrize("moves", ["c", "cb", "cbc"])
def test_a_subscription_that_ended_after_a_move_has_ended_everywhere(line: Net, moves: str) -> None:
    """At once: for the client, and on the links."""
    client = come(line, "a")
    client.subscribe("t", "$share/g/s", "kept", qos=2)
    line.run()
    for broker in moves:
        client = come(line, broker)
    client.unsubscribe("t", "$share/g/s")
    line.run()
    crossed = [
        (broker, name, link.traffic().messages_sent)
        for broker, node in line.nodes.items()
        for name, link in node.mesh.by_name.items()
    ]
    for broker in "abc":
        writer = line.nodes[broker].client(f"w{broker}")
        for number, topic in enumerate(("t", "s")):
            writer.publish(topic, "late", qos=2, packet_id=number + 1)
    assert taken(line, client) == []
    if line.mode not in ("pf", "bloom"):
        assert crossed == [
            (broker, name, link.traffic().messages_sent)
            for broker, node in line.nodes.items()
            for name, link in node.mesh.by_name.items()
        ]
    line.nodes["a"].client("again").publish("kept", "x", qos=2)
    assert taken(line, client) == ["x"]


def test_what_its_old_broker_had_for_it_is_not_wanted_after_an_unsubscribe(line: Net) -> None:
    """Messages and the word that the subscription has ended cross each other."""
    client = come(line, "a")
    client.subscribe("t", qos=2)
    line.run()
    client = come(line, "c")
    client.unsubscribe("t")
    line.nodes["a"].client("writer").publish("t", "late", qos=2)
    assert taken(line, client) == []
