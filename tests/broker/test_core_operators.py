"""Operator subscriptions in the broker: sessions, QoS, retained, groups, rights, restarts."""

import json

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.policy import Permissions
from gossamer.broker.ports import ProcessorPort
from gossamer.plus.encodings import Encodings
from gossamer.plus.engine import Engine
from gossamer.plus.jobs import Job
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.wire.packets import V5, V311, Acknowledgement, Publish, Request, Suback, Subscribe
from gossamer.wire.properties import Properties
from tests.support.lives import Life
from tests.support.memory import MemoryClient, World
from tests.support.plus import VOCABULARY

HOUR = 3600.0


@pytest.fixture
def world() -> World:
    return World()


def received(client: MemoryClient) -> list[tuple[str, str]]:
    return [(message.topic, message.payload.decode()) for message in client.messages()]


@pytest.mark.parametrize("version", [V311, V5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_rules_and_aggregates(world: World, version: int, qos: int) -> None:
    reader = world.client("r", version)
    assert reader.subscribe("$GT;30/+/temp", "$AVG/+/temp", qos=qos) == [qos, qos]
    writer = world.client("w", version)
    writer.publish("a/temp", "20", qos=qos)
    writer.publish("b/temp", "40", qos=qos)
    assert received(reader) == [
        ("$AVG/$AGGREGATE/temp", "20.0"),
        ("$GT;30/b/temp", "40"),
        ("$AVG/$AGGREGATE/temp", "30.0"),
    ]


def test_results_come_at_the_subscribers_qos(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("$AVG/t", qos=1)
    reader.subscribe("$GT;1/t", qos=2)
    world.client("w").publish("t", "5", qos=1)
    assert sorted((m.topic, m.qos) for m in reader.messages()) == [("$AVG/t", 1), ("$GT;1/t", 1)]
    world.client("w").publish("t", "5", qos=0)
    assert sorted((m.topic, m.qos) for m in reader.messages()) == [("$AVG/t", 1), ("$GT;1/t", 0)]


def test_what_passes_a_rule_keeps_its_properties(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("$GT;1/t", identifier=7)
    world.client("w").publish("t", "5", content_type="text/plain", user=[("a", "b")])
    [message] = reader.messages()
    assert message.properties is not None
    assert message.properties.content_type == "text/plain"
    assert message.properties.user == [("a", "b")]
    assert message.properties.subscription_ids == [7]


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("is_read", [False, True])
def test_a_publisher_is_told_of_a_ttl_that_cannot_be_read(
    world: World, qos: int, is_read: bool
) -> None:
    if is_read:
        world.client("r").subscribe("$AVG/t")
    code = 0 if is_read else 0x10
    writer = world.client("w")
    writer.publish("t", "1", qos=qos, user=[("plus_ttl", "24/05/2031 15:36:25")])
    answer = writer.take()[0]
    assert isinstance(answer, Acknowledgement)
    assert (answer.reason, answer.properties) == (code, None)
    writer.publish("t", "2", qos=qos, packet_id=2, user=[("plus_ttl", "soon")])
    answer = writer.take()[0]
    assert isinstance(answer, Acknowledgement)
    assert answer.reason == code
    assert answer.properties is not None
    assert "plus_ttl: 'soon' is not a time" in (answer.properties.reason_string or "")
    silent = world.client("s", request_problem_information=0)
    silent.publish("t", "2", qos=qos, user=[("plus_ttl", "soon")])
    answer = silent.take()[0]
    assert isinstance(answer, Acknowledgement)
    assert (answer.reason, answer.properties) == (code, None)
    skipped = world.broker.core.operators.engine.services.skipped
    assert skipped == ({"bad_ttl": 2} if is_read else {})


@pytest.mark.parametrize("chain", ["$GT;0", "$QUARTERHOURLYLAST", "$CHANGED", "$AVG"])
def test_results_come_on_the_topic_as_it_was_spelt(world: World, chain: str) -> None:
    reader = world.client("r")
    assert reader.subscribe(f"{chain}/a%3Bb/+/x") == [0]
    world.client("w").publish("a;b/c;d/x", "1")
    world.wait(900.0)
    level = "$AGGREGATE" if chain == "$AVG" else "c;d"
    assert [topic for topic, _ in received(reader)] == [f"{chain}/a%3Bb/{level}/x"]


def test_participants_of_a_list_are_a_property(world: World) -> None:
    reader, old = world.client("r"), world.client("old", V311)
    assert reader.subscribe("$AVG/s1;s2/t", user=[("plus_reply", "rpt")]) == [0]
    assert old.subscribe("$AVG;RPT/s1;s2/t") == [0]
    world.client("w").publish("s2/t", "4")
    [message] = reader.messages()
    assert message.topic == "$AVG/s1;s2/t"
    assert message.properties is not None
    assert message.properties.user == [("plus_participants", "s2/t")]
    assert received(old) == [("$AVG;RPT/s1;s2/t", "4.0")]


def test_names_in_lists_have_the_limits_of_topics(world: World) -> None:
    world.settings.max_levels = 10
    reader = world.client("r")
    assert reader.subscribe("$AVG/" + "a%2F" * 9 + "b;c") == [0]
    assert reader.subscribe("$AVG/" + "a%2F" * 10 + "b;c") == [0x8F]


def test_windows_end_though_nothing_is_published(world: World) -> None:
    world.now = 10 * HOUR
    reader = world.client("r")
    reader.subscribe("$HOURLYSUM/+/count")
    writer = world.client("w")
    for topic, value in (("a/count", "1"), ("a/count", "2"), ("b/count", "5")):
        writer.publish(topic, value)
    assert world.broker.next_due() <= 11 * HOUR
    world.now = 11 * HOUR
    world.broker.tick(world.now)
    assert received(reader) == [("$HOURLYSUM/a/count", "3.0"), ("$HOURLYSUM/b/count", "5.0")]


def test_options_are_user_properties(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("$AVG/+/t", user=[("plus_reply", "rpt"), ("plus_every", "10")])
    writer = world.client("w")
    writer.publish("b/t", "4")
    writer.publish("a/t", "6")
    assert received(reader) == [("$AVG/b/t", "4.0")]
    world.wait(10)
    assert received(reader) == [("$AVG/a;b/t", "5.0")]
    assert reader.subscribe("$AVG/+/t", user=[("plus_every", "soon")]) == [0x8F]


@pytest.mark.parametrize(
    ("filter", "words"),
    [
        ("$DAILYAVG$SUM/+/temp", "operator 2, $SUM"),
        ("$SUM$DAILYAVG$GT;5/+/temp", "operator 3, $GT"),
        ("$AVGG/t", "operator 1, $AVGG"),
        ("$EQ;" + "x" * 10_000 + "/t", "10004 characters"),
    ],
)
def test_refusals_name_the_operator(world: World, filter: str, words: str) -> None:
    assert world.client("four", V311).subscribe(filter) == [0x80]
    client = world.client("five")
    assert client.subscribe(filter) == [0x8F]
    client.send_bytes(
        b"\x82" + _varint(len(filter) + 6) + b"\x00\x01\x00" + _text(filter) + b"\x00"
    )
    [answer] = client.take()
    assert isinstance(answer, Suback)
    assert answer.properties is not None
    assert words in (answer.properties.reason_string or "")


def _varint(number: int) -> bytes:
    return bytes((number,)) if number < 128 else bytes((number % 128 | 128, number // 128))


def _text(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def test_other_dollar_topics_stay_plain(world: World) -> None:
    reader = world.client("r")
    assert reader.subscribe("$aws/things/#", "$SYS/#") == [0, 0]
    world.client("w").publish("$aws/things/1", "x")
    assert ("$aws/things/1", "x") in received(reader)


def test_unsubscribing_ends_results(world: World) -> None:
    filters = len(world.broker.core.routes.tree)  # of the broker itself
    reader = world.client("r")
    reader.subscribe("$AVG/t", "$GT;1/t")
    reader.unsubscribe("$AVG/t", "$GT;1/t")
    world.client("w").publish("t", "5")
    assert received(reader) == []
    world.wait(300)
    world.wait(300)
    assert world.broker.core.operators.operations == {}
    assert len(world.broker.core.routes.tree) == filters
    assert world.broker.core.counters.operators == 0
    assert world.broker.core.counters.subscriptions == 0


def test_a_window_outlives_a_short_absence(world: World) -> None:
    world.now = 10 * HOUR
    reader = world.client("r")
    reader.subscribe("$HOURLYSUM/t")
    writer = world.client("w")
    writer.publish("t", "1")
    reader.lose()
    writer.publish("t", "2")
    world.wait(200)
    again = world.client("r")
    again.subscribe("$HOURLYSUM/t")
    writer.publish("t", "4")
    world.wait(HOUR)
    assert received(again) == [("$HOURLYSUM/t", "7.0")]


def test_sessions_that_are_away_get_their_results(world: World) -> None:
    reader = world.client("r", clean=False, expiry=3600)
    reader.subscribe("$GT;1/t", "$HOURLYMAX/t", qos=1)
    reader.lose()
    world.client("w").publish("t", "5", qos=1)
    world.wait(HOUR - 1)
    back = world.client("r", clean=False, expiry=3600)
    assert received(back) == [("$GT;1/t", "5"), ("$HOURLYMAX/t", "5.0")]


def test_newcomers_get_the_last_result(world: World) -> None:
    first = world.client("1")
    first.subscribe("$AVG/+", "$GT;4/+")
    writer = world.client("w")
    writer.publish("a", "4")
    writer.publish("b", "6")
    second = world.client("2")
    second.subscribe("$AVG/+", "$GT;4/+", qos=1)
    messages = second.messages()
    assert [(m.topic, m.payload, m.retain, m.qos) for m in messages] == [
        ("$AVG/$AGGREGATE", b"5.0", True, 1),
        ("$GT;4/b", b"6", True, 1),
    ]
    assert second.subscribe("$AVG/+", retain_handling=1) == [0]
    assert second.subscribe("$AVG/+", retain_handling=2) == [0]
    assert second.messages() == []
    assert second.subscribe("$AVG/+") == [0]
    assert received(second) == [("$AVG/$AGGREGATE", "5.0")]


def test_retained_messages_take_part_from_the_start(world: World) -> None:
    writer = world.client("w")
    for topic, value in (("a", "4"), ("b", "6"), ("c", "text")):
        writer.publish(topic, value, retain=True)
    reader = world.client("r")
    reader.subscribe("$AVG/+", "$GT;4/+")
    assert received(reader) == [("$AVG/$AGGREGATE", "5.0"), ("$GT;4/b", "6")]


def test_shared_groups_take_turns(world: World) -> None:
    members = [world.client(name) for name in ("1", "2")]
    for member in members:
        assert member.subscribe("$share/g/$SUM/+", qos=1) == [1]
    writer = world.client("w")
    for value in ("1", "2", "3", "4"):
        writer.publish("t", value)
    taken = [received(member) for member in members]
    assert [len(one) for one in taken] == [2, 2]
    assert sorted(taken[0] + taken[1]) == [("$SUM/$AGGREGATE", f"{n}.0") for n in (1, 2, 3, 4)]


def test_a_member_that_ends_leaves_its_results_to_the_group(world: World) -> None:
    gone = world.client("gone", clean=False, expiry=100)
    gone.subscribe("$share/g/$SUM/+", qos=1)
    gone.lose()
    world.client("w").publish("t", "1")
    stays = world.client("stays")
    stays.subscribe("$share/g/$SUM/+", qos=1)
    world.wait(100)
    assert received(stays) == [("$SUM/$AGGREGATE", "1.0")]


def test_no_local_holds_for_what_passes_a_rule(world: World) -> None:
    client = world.client("c")
    client.subscribe("$GT;1/t", no_local=True)
    client.publish("t", "5")
    assert client.messages() == []
    world.client("w").publish("t", "6")
    assert received(client) == [("$GT;1/t", "6")]


def test_subscribing_again_with_other_options_replaces(world: World) -> None:
    client = world.client("c")
    client.subscribe("$COUNT/+")
    client.subscribe("$COUNT/+", user=[("plus_reply", "rpt")])
    world.client("w").publish("t", "5")
    assert received(client) == [("$COUNT/t", "1")]
    assert world.broker.core.counters.subscriptions == 1


class Rooms(Permissions):
    """Everybody reads `open/…` only."""

    def may_subscribe(self, client: object, filter: str, *_: object) -> bool:
        return filter.startswith("open/")


def test_rights_are_those_of_the_topics_read(world: World) -> None:
    world.broker.core.permissions = Rooms()
    client = world.client("c")
    assert client.subscribe("$AVG/open/+", "$AVG/+/t", "$AVG/open;secret/t") == [0, 0x87, 0x87]


def test_the_number_of_operations_is_bounded() -> None:
    world = World(max_operators=1)
    client = world.client("c")
    assert client.subscribe("$AVG/a", "$AVG/a", "$AVG/b") == [0, 0, 0x97]


def test_capabilities_are_retained(world: World) -> None:
    client = world.client("c")
    client.subscribe("$SYS/capabilities")
    [message] = client.messages()
    assert message.retain
    assert {"$GT", "$AVG", "$DAILYAVG"} <= {one["keyword"] for one in json.loads(message.payload)}


def test_skipped_values_are_counted_in_sys() -> None:
    world = World(sys_interval=10.0)
    client = world.client("c")
    client.subscribe("$AVG/t", "$SYS/broker/operators/#")
    client.publish("t", "NaN")
    client.messages()
    world.wait(10)
    assert ("$SYS/broker/operators/skipped/not_numeric", "1") in received(client)


class CountingWorkshop(ProcessorPort):
    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def start(self, job: Job) -> None:
        self.jobs.append(job)


def test_payloads_in_other_encodings_are_read_as_configured() -> None:
    world = World()
    engine = Engine(VOCABULARY)
    engine.services.encodings = Encodings({"c/#": "cbor", "#": "auto"})
    world.broker = Broker(world.settings, world.broker.core.journal, world.now, engine)
    reader = world.client("r")
    filters = ("$SUM/+/t", "$AVG;;v/+/t", "$GT;1;v/+/t", "$SUM$EVERY;10s/+/x")
    assert reader.subscribe(*filters) == [0] * 4
    writer = world.client("w")

    def publish(topic: str, payload: bytes, content_type: str | None = None) -> None:
        properties = Properties()
        properties.content_type = content_type
        writer.send(Publish(topic, payload, 0, False, False, 0, properties))

    publish("c/t", b"\x18\x1e")
    publish("d/t", b"\xa1\x61v\x05", "application/cbor")
    publish("d/t", b"7")
    publish("e/t", b"\x18\x1e")
    publish("c/x", b"\x01")
    publish("c/x", b"\x04")
    world.wait(10.0)
    forwarded = [message for message in reader.messages() if message.topic == "$GT;1;v/d/t"]
    assert [message.payload for message in forwarded] == [b"\xa1\x61v\x05"]
    assert forwarded[0].properties is not None
    assert forwarded[0].properties.content_type == "application/cbor"
    results = {
        state.plan.chain: [result.payload for result in state.last_results(world.now)]
        for state in engine.states.values()
    }
    assert results["$SUM"] == [b"37.0"]
    assert results["$AVG;;v"] == [b"5.0"]
    assert results["$SUM$EVERY;10s"] == [b"4.0"]


class BusyWorkshop(CountingWorkshop):
    def __init__(self) -> None:
        super().__init__()
        self.waiting = 52
        self.seconds = 0

    def busy_seconds(self) -> int:
        return self.seconds


def test_workers_that_are_behind_take_no_further_subscriptions() -> None:
    world = World()
    world.broker = Broker(world.settings, world.broker.core.journal, world.now, Engine(VOCABULARY))
    workshop = BusyWorkshop()
    world.broker.core.operators.processors = workshop
    reader = world.client("r")
    assert reader.subscribe("$CNTPPL/a/image", "$SYS/capabilities") == [0, 0]
    [(_, listed)] = received(reader)
    assert "unavailable" not in listed
    workshop.seconds = 12
    asking = Subscribe(2, [Request("$SUM$CNTPPL/+/image", 0)])
    reader.send(asking)
    [answer] = reader.take()
    assert isinstance(answer, Suback)
    assert answer.reasons == [0x97]
    assert answer.properties is not None
    assert answer.properties.reason_string == (
        "$CNTPPL: the workers are behind, 52 publications wait for them; try again in 12 s"
    )
    # What does no more work, and what somebody has already, is had as ever.
    other = world.client("o")
    assert other.subscribe("$CNTPPL/a/image", "$AVG/t") == [0, 0]
    world.wait(1.0)
    [(_, listed)] = received(reader)
    by_keyword = {entry["keyword"]: entry for entry in json.loads(listed)}
    assert by_keyword["$CNTPPL"]["retry_seconds"] == 12
    assert by_keyword["$CNTPPL"]["unavailable"].startswith("the workers are behind")
    assert "unavailable" not in by_keyword["$AVG"]
    world.wait(1.0)
    assert received(reader) == []  # nothing has changed
    workshop.seconds = 0
    world.wait(1.0)
    [(_, listed)] = received(reader)
    assert "unavailable" not in listed
    assert reader.subscribe("$SUM$CNTPPL/+/image") == [0]


def test_processors_answer_later() -> None:
    world = World()
    world.broker = Broker(world.settings, world.broker.core.journal, world.now, Engine(VOCABULARY))
    workshop = CountingWorkshop()
    world.broker.core.operators.processors = workshop
    reader = world.client("r")
    assert reader.subscribe("$CNTPPL/+/image", "$SUM$CNTPPL/+/image", "$GT;3$CNTPPL/#") == [0] * 3
    world.client("w").publish("a/image", "pixels")
    assert reader.messages() == []
    [job] = workshop.jobs
    assert (job.processor, job.publication.topic) == ("CNTPPL", "a/image")
    world.broker.processed(job, b"2", world.now)
    assert received(reader) == [
        ("$CNTPPL/a/image", "2"),
        ("$SUM$CNTPPL/$AGGREGATE/image", "2.0"),
    ]


def test_what_was_counted_survives_a_crash() -> None:
    life = Life(MemoryJournal(), 10 * HOUR)
    reader = life.world.visitor()
    reader.connect("r", clean=False, expiry=100_000)
    reader.subscribe("$HOURLYSUM/t", "$AVG/+", qos=1)
    writer = life.world.visitor()
    writer.connect("w")
    life.commit()
    writer.publish("t", "1", qos=1)
    writer.publish("u", "2", qos=1, message_expiry=60)
    writer.publish("v", "4", qos=1, message_expiry=5000)
    assert life.journal.dirty
    life.commit()
    reader.messages()
    life.commit()
    after = life.next(100)
    writer = after.world.visitor()
    writer.connect("w")
    writer.publish("t", "9", qos=1)
    after.commit()
    reader = after.world.visitor()
    reader.connect("r", clean=False, expiry=100_000)
    after.commit()
    assert received(reader) == [("$AVG/$AGGREGATE", "6.5")]
    after.world.wait(HOUR)
    after.commit()
    assert received(reader) == [("$HOURLYSUM/t", "10.0")]


def test_a_window_that_ended_while_the_broker_was_down_fires_when_it_is_back() -> None:
    life = Life(MemoryJournal(), 10 * HOUR)
    reader = life.world.visitor()
    reader.connect("r", clean=False, expiry=100_000)
    reader.subscribe("$HOURLYSUM/t", qos=1)
    reader.publish("t", "1", qos=1)
    life.commit()
    after = life.next(2 * HOUR)
    after.world.broker.tick(after.world.now)
    reader = after.world.visitor()
    reader.connect("r", clean=False, expiry=100_000)
    after.commit()
    assert received(reader) == [("$HOURLYSUM/t", "1.0")]


def test_a_clean_session_finds_its_window_after_a_restart() -> None:
    life = Life(MemoryJournal(), 10 * HOUR)
    client = life.world.visitor()
    client.connect("c")
    client.subscribe("$HOURLYSUM/t")
    client.publish("t", "1")
    life.world.wait(1)
    life.commit()
    after = life.next(5)
    client = after.world.visitor()
    client.connect("c")
    client.subscribe("$HOURLYSUM/t")
    client.publish("t", "2")
    after.world.wait(HOUR)
    after.commit()
    assert received(client) == [("$HOURLYSUM/t", "3.0")]
    client.disconnect()
    after.world.wait(300)
    after.world.wait(300)
    after.commit()
    assert after.journal.restarted().snapshot.operators == []


def test_states_of_operators_no_longer_configured_are_dropped() -> None:
    journal = MemoryJournal()
    journal.operator_saved("skr 0.0 $FORTNIGHTLYAVG/t", "t", b"[1]")
    journal.operator_saved("nonsense", "t", b"[1]")
    journal.commit()
    life = Life(journal.restarted(), 0.0)
    life.commit()
    assert life.journal.restarted().snapshot.operators == []
