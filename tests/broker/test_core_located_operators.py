"""Operators with areas in the broker: what is published inside counts, wherever the area is now."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.broker.located_operators import JUDGED_AT_ONCE
from gossamer.broker.operators import LINGER_SECONDS
from gossamer.broker.policy import Permissions
from gossamer.geo.earth import Point, distance
from gossamer.session.identity import Identity
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.wire import reasons
from gossamer.wire.packets import Request, Suback, Subscribe
from tests.support.located import (
    NEAR_OSLO,
    NEAR_PISA,
    OSLO,
    PISA,
    ROUND_ME,
    ROUND_OSLO,
    ROUND_PISA,
    User,
    answer,
)
from tests.support.memory import MemoryClient, World, properties

HOUR = 3600.0
ROUND_FOUR = ("gpl_circleDynamic", "4;km;1;100")


@pytest.fixture
def world() -> World:
    return World()


def received(client: MemoryClient) -> list[tuple[str, str]]:
    return [(message.topic, message.payload.decode()) for message in client.messages()]


def values(client: MemoryClient) -> list[str]:
    return [payload for _, payload in received(client)]


def measure(world: World) -> MemoryClient:
    """Two sensors near Pisa, one in Oslo, one that does not say where it is."""
    writer = world.client("w")
    writer.publish("a/temp", "10", user=[PISA])
    writer.publish("b/temp", "20", user=[NEAR_PISA])
    writer.publish("c/temp", "90", user=[OSLO])
    writer.publish("d/temp", "30")
    return writer


CASES: list[tuple[str, str, User, list[str]]] = [
    ("aggregate", "$AVG/+/temp", [ROUND_PISA], ["10.0", "15.0", "20.0"]),
    ("two areas", "$AVG/+/temp", [ROUND_PISA, ROUND_OSLO], ["10.0", "15.0", "40.0", "37.5"]),
    ("around me", "$AVG/+/temp", [PISA, ROUND_ME], ["10.0", "15.0", "20.0"]),
    ("who knows where", "$AVG/+/temp", [ROUND_ME], ["30.0"]),
    ("my position", "$AVG/+/temp", [PISA], ["10.0", "20.0"]),
    ("inner rule", "$AVG$GT;15/+/temp", [ROUND_PISA], ["20.0", "25.0"]),
    ("outer rule", "$GT;12$AVG/+/temp", [ROUND_PISA], ["15.0", "20.0"]),
    ("rule", "$GT;15/+/temp", [ROUND_PISA], ["20", "30"]),
    ("rule, around me", "$GT;15/+/temp", [OSLO, ROUND_ME], ["90", "30"]),
    ("list", "$SUM/a;c/temp", [ROUND_PISA], ["10.0"]),
    ("removed", "$SUM/+/temp", [ROUND_PISA, ("gpl_circleStatic", "1;km;0;0;0;1")], ["30.0"]),
]


@pytest.mark.parametrize(
    ("filter", "user", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_what_counts(world: World, filter: str, user: User, expected: list[str]) -> None:
    reader = world.client("r")
    assert reader.subscribe(filter, user=user) == [0]
    measure(world)
    assert values(reader) == expected


@pytest.mark.parametrize("filter", ["$HOURLYSUM/+/temp", "$SUM$HOURLYSUM/+/temp"])
@pytest.mark.parametrize("user", [[ROUND_PISA], [PISA, ROUND_ME]], ids=["static", "dynamic"])
def test_windows_count_what_was_inside_when_it_was_published(
    world: World, filter: str, user: User
) -> None:
    world.now = 10 * HOUR
    reader = world.client("r")
    reader.subscribe(filter, user=user)
    writer = measure(world)
    writer.publish("a/temp", "5", user=[OSLO])
    world.now = 11 * HOUR
    world.broker.tick(world.now)
    by_topic = ["10.0", "20.0", "30.0"]
    assert values(reader) == (by_topic if filter.startswith("$HOURLY") else ["60.0"])


@pytest.mark.parametrize("user", [[ROUND_PISA], [PISA, ROUND_ME]], ids=["static", "dynamic"])
def test_a_sensor_that_goes_out_counts_no_more(world: World, user: User) -> None:
    reader = world.client("r")
    reader.subscribe("$SUM;RPT/+/temp", user=user)
    writer = measure(world)
    received(reader)
    writer.publish("b/temp", "nothing to read", user=[OSLO])
    writer.publish("c/temp", "7", user=[PISA])
    assert received(reader) == [
        ("$SUM;RPT/a;d/temp", "40.0"),
        ("$SUM;RPT/a;c;d/temp", "47.0"),
    ]


# The area moves -----------------------------------------------------------------------------------


def test_sensors_come_in_and_are_left_as_the_subscriber_moves(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("$SUM;RPT/+/temp", user=[PISA, ROUND_ME])
    measure(world)
    received(reader)
    reader.publish("position", user=[OSLO])
    assert received(reader) == [("$SUM;RPT/c;d/temp", "120.0")]
    reader.publish("position", user=[NEAR_OSLO])  # the same sensors
    assert received(reader) == []
    reader.publish("position", user=[NEAR_PISA])
    assert received(reader) == [("$SUM;RPT/a;b;d/temp", "60.0")]


def test_results_of_moving_come_no_sooner_than_asked_for(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("$SUM/+/temp", user=[PISA, ROUND_ME, ("plus_every", "10")])
    measure(world)
    reader.publish("position", user=[OSLO])
    assert values(reader) == ["10.0"]
    world.wait(10)
    assert values(reader) == ["120.0"]


@pytest.mark.parametrize(
    ("function", "here", "there"),
    [
        ("FIRST", "10.0", "90.0"),
        ("LAST", "30.0", "90.0"),
        ("MIN", "10.0", "90.0"),
        ("MAX", "30.0", "90.0"),
        ("MEDIAN", "20.0", "90.0"),
        ("COUNT", "3", "1"),
    ],
)
def test_values_that_come_back_are_as_old_as_they_were(
    world: World, function: str, here: str, there: str
) -> None:
    reader = world.client("r")
    writer = world.client("w")
    reader.subscribe(f"${function}/+/temp", user=[PISA, ROUND_ME])
    for name, value, where in (
        ("a", 10, PISA),
        ("b", 20, NEAR_PISA),
        ("c", 90, OSLO),
        ("d", 30, PISA),
    ):
        writer.publish(f"{name}/temp", str(value), user=[where])
    assert float(values(reader)[-1]) == pytest.approx(float(here), rel=0.01)
    for _ in range(3):
        reader.publish("position", user=[OSLO])
        assert [float(one) for one in values(reader)] == [pytest.approx(float(there), rel=0.01)]
        reader.publish("position", user=[PISA])
        assert [float(one) for one in values(reader)] == [pytest.approx(float(here), rel=0.01)]


def test_values_expire_outside_too(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("$SUM/+/temp", user=[PISA, ROUND_ME])
    writer = world.client("w")
    writer.publish("a/temp", "1", user=[PISA], message_expiry=60)
    writer.publish("b/temp", "2", user=[OSLO], message_expiry=60)
    writer.publish("c/temp", "4", user=[OSLO])
    world.wait(61)
    received(reader)
    reader.publish("position", user=[OSLO])
    assert values(reader) == ["4.0"]


def test_a_position_that_is_too_old_takes_its_areas_with_it() -> None:
    world = World(position_age=100.0)
    reader = world.client("r")
    reader.subscribe("$SUM/+/temp", user=[PISA, ROUND_ME])
    writer = measure(world)
    assert values(reader)[-1] == "60.0"
    world.wait(101)
    writer.publish("d/temp", "31")
    assert values(reader)[-1] == "31.0"
    reader.publish("position", user=[PISA])
    assert values(reader) == ["61.0"]


def test_other_areas_are_taken_in_place(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("$SUM/+/temp", user=[PISA, ROUND_ME])
    measure(world)
    received(reader)
    reader.subscribe("$SUM/+/temp", user=[ROUND_OSLO], retain_handling=2)
    assert values(reader) == ["150.0"]
    removed = ("gpl_circleDynamic", "3;km;0;5")
    reader.subscribe("$SUM/+/temp", user=[ROUND_FOUR, removed], retain_handling=2)
    assert len(world.broker.core.operators.operations) == 1
    reader.take()
    reader.publish("position", user=[OSLO])
    assert values(reader) == ["120.0"]
    reader.subscribe("$SUM/+/temp")  # without any: everything counts, from now on
    world.client("x").publish("c/temp", "1", user=[OSLO])
    assert values(reader) == ["1.0"]
    assert len(world.broker.core.operators.operations) == 1


def test_many_values_are_looked_at_in_turns(world: World) -> None:
    many = 2 * JUDGED_AT_ONCE + 10
    reader = world.client("r")
    reader.subscribe("$SUM/+/temp", user=[PISA, ROUND_ME])
    writer = world.client("w")
    for number in range(many):
        writer.publish(f"{number}/temp", "1", user=[OSLO if number % 2 else PISA])
    received(reader)
    writer.publish("there/temp", "1000", user=[OSLO])
    session = world.broker.core.sessions["r"]
    world.broker.core.locations.moved(session, Point(59.91, 10.75), world.now)
    turns = 0
    while world.broker.has_more():
        assert len(reader.sink.data) == 0  # not before all have been looked at
        world.broker.go_on(world.now)
        turns += 1
    assert turns == 2
    assert values(reader) == [f"{many // 2 + 1000}.0"]
    writer.publish("x/temp", "1", user=[PISA])
    assert values(reader) == []


def test_an_area_that_never_stands_still_leaves_nobody_out(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("$COUNT/+/temp", user=[PISA, ROUND_ME])
    writer = world.client("w")
    for number in range(3 * JUDGED_AT_ONCE):
        writer.publish(f"{number}/temp", "1", user=[PISA])
    assert values(reader)[-1] == str(3 * JUDGED_AT_ONCE)
    session = world.broker.core.sessions["r"]
    for lat in (59.91, 59.92, 59.93):
        world.broker.core.locations.moved(session, Point(lat, 10.75), world.now)
        world.broker.go_on(world.now)
    writer.publish("here/temp", "1")
    assert values(reader)[-1] == "1"


# Sharing, rights, restarts ------------------------------------------------------------------------


def test_the_same_areas_share_their_state_and_those_around_somebody_do_not(world: World) -> None:
    clients = [world.client(name) for name in "abc"]
    for client in clients:
        client.subscribe("$SUM/+/temp", user=[ROUND_PISA, PISA])
    operations = world.broker.core.operators.operations
    assert len(operations) == 1
    for client in clients:
        client.subscribe("$AVG/+/temp", user=[ROUND_ME, PISA])
    assert len(operations) == 4
    measure(world)
    assert [values(client)[-1] for client in clients] == ["20.0"] * 3
    for client in clients:
        client.unsubscribe("$SUM/+/temp", "$AVG/+/temp")
    world.wait(LINGER_SECONDS)
    world.wait(LINGER_SECONDS)
    assert not operations
    assert not world.broker.core.operators.engine.states
    assert world.broker.core.ledger.operators.held == 0


def test_a_shared_group_takes_areas_that_stand_still(world: World) -> None:
    one, two = world.client("one"), world.client("two")
    for client in (one, two):
        assert client.subscribe("$share/g/$SUM/+/temp", user=[ROUND_PISA]) == [0]
    measure(world)
    assert sorted(values(one) + values(two)) == ["10.0", "30.0", "60.0"]


@pytest.mark.parametrize(
    ("filter", "user", "words"),
    [
        ("$share/g/$SUM/+/temp", [PISA, ROUND_ME], "static areas only"),
        ("$share/g/$SUM/+/temp", [PISA], "static areas only"),
        ("$SUM/+/temp", [ROUND_PISA, ("gpl_events", "enter")], "no events"),
        ("$SUM/+/temp", [("gpl_circleStatic", "1;m;1;0")], "gpl_circleStatic"),
    ],
)
def test_what_is_refused(world: World, filter: str, user: User, words: str) -> None:
    client = world.client("c")
    client.send(Subscribe(1, [Request(filter)], properties(user=user)))
    packet = answer(client)
    assert isinstance(packet, Suback)
    assert packet.reasons == [reasons.IMPLEMENTATION_SPECIFIC_ERROR]
    assert packet.properties is not None
    assert words in (packet.properties.reason_string or "")


def test_no_more_areas_move_with_a_client_than_may(world: World) -> None:
    client = world.client("c")
    around = [("gpl_circleDynamic", f"{number};m;1;5") for number in range(256)]
    for number in range(7):
        assert client.subscribe(f"$SUM/{number}", user=around) == [0]
    assert client.subscribe("$SUM/7", user=around) == [reasons.IMPLEMENTATION_SPECIFIC_ERROR]
    assert client.subscribe("$SUM/6", user=around) == [0]  # in place of itself


def test_what_is_retained_begins_the_aggregate(world: World) -> None:
    writer = world.client("w")
    for name, value, where in (("a", "1", PISA), ("b", "2", OSLO)):
        writer.publish(f"{name}/temp", value, retain=True, user=[where])
    reader = world.client("r")
    reader.subscribe("$SUM/+/temp", "$GT;0/+/temp", user=[ROUND_PISA])
    assert received(reader) == [("$SUM/$AGGREGATE/temp", "1.0"), ("$GT;0/a/temp", "1")]
    walker = world.client("walker")
    walker.subscribe("$SUM/+/temp", user=[PISA, ROUND_ME])
    assert values(walker) == ["1.0"]
    walker.publish("position", user=[OSLO])
    assert values(walker) == ["2.0"]


class Guarded(Permissions):
    """Only `dispatch` may see where others are."""

    def __init__(self) -> None:
        super().__init__()
        self.guards_positions = True

    def may_locate(self, client: Identity, user: str) -> bool:
        return client.client_id == "dispatch"


def test_a_result_tells_nobody_where_somebody_is(world: World) -> None:
    world.broker.core.permissions = Guarded()
    dispatch, stranger = world.client("dispatch"), world.client("stranger")
    for client in (dispatch, stranger):
        client.subscribe("$SUM/+/temp", user=[ROUND_PISA])
    measure(world)
    assert values(dispatch) == ["10.0", "30.0", "60.0"]
    assert values(stranger) == ["10.0", "30.0", "120.0", "150.0"]


def restarted(world: World, journal: MemoryJournal, seconds: float) -> World:
    world.broker.committed(journal.commit(), world.now)
    after_journal = journal.restarted()
    after_journal.durable = False
    after = World(after_journal)
    after.now = world.now + seconds
    after.broker.restore(after_journal.snapshot, after.now)
    return after


@pytest.mark.parametrize("user", [[ROUND_PISA], [PISA, ROUND_ME]], ids=["static", "dynamic"])
def test_values_and_areas_outlast_a_restart(user: User) -> None:
    journal = MemoryJournal()
    journal.durable = False
    world = World(journal)
    reader = world.client("r", clean=False, expiry=100_000)
    reader.subscribe("$SUM;RPT/+/temp", user=user)
    measure(world)
    world.wait(2)  # what QoS 0 changed is written
    reader.lose()
    world = restarted(world, journal, 10)
    reader = world.client("r", clean=False, expiry=100_000)
    received(reader)
    world.client("w").publish("e/temp", "1", user=[PISA])
    assert received(reader) == [("$SUM;RPT/a;b;d;e/temp", "61.0")]
    if user != [ROUND_PISA]:
        reader.publish("position", user=[OSLO])
        assert received(reader) == [("$SUM;RPT/c;d/temp", "120.0")]


def test_an_area_that_nobody_comes_back_to_leaves_nothing_in_the_store() -> None:
    journal = MemoryJournal()
    journal.durable = False
    world = World(journal)
    reader = world.client("r", clean=False, expiry=1)
    reader.subscribe("$SUM/+/temp", user=[PISA, ROUND_ME])
    measure(world)
    world.wait(2)
    reader.lose()
    world = restarted(world, journal, 5_000)
    for _ in range(3):
        world.wait(LINGER_SECONDS)
    assert world.broker.core.operators.operations == {}
    assert world.broker.core.journal.commit()  # type: ignore[attr-defined]
    assert world.broker.core.journal.restarted().snapshot.operators == []  # type: ignore[attr-defined]


# Against a referee --------------------------------------------------------------------------------

SPOTS = [Point(43.72, 10.40), Point(43.74, 10.40), Point(43.72, 10.45), Point(59.91, 10.75)]
CENTRES = [Point(43.72, 10.40), Point(43.73, 10.42), Point(59.91, 10.75)]
RADII = [1_000.0, 3_000.0, 10_000.0]

PUBLISH = st.tuples(
    st.just("publish"),
    st.sampled_from("abcd"),
    st.integers(-5, 40),
    st.sampled_from([None, *SPOTS]),
)
MOVE = st.tuples(st.just("move"), st.sampled_from(CENTRES))
RESIZE = st.tuples(st.just("resize"), st.sampled_from(RADII))
WAIT = st.tuples(st.just("wait"), st.sampled_from([1.0, 40.0, 70.0]))
HISTORIES = st.lists(st.one_of(PUBLISH, PUBLISH, PUBLISH, MOVE, RESIZE, WAIT), max_size=25)


class Referee:
    """Every value ever published, looked through for each result."""

    def __init__(self) -> None:
        self.last: dict[str, tuple[float, float, Point | None]] = {}
        self.at = CENTRES[0]
        self.radius = RADII[1]

    def members(self, now: float) -> dict[str, float]:
        return {
            topic: value
            for topic, (value, ends, spot) in self.last.items()
            if ends > now and value > 0 and (spot is None or distance(spot, self.at) <= self.radius)
        }


def entry(point: Point) -> tuple[str, str]:
    return "gpl_current_pos", f"{point.lat!r};{point.lon!r}"


@settings(deadline=None)
@given(HISTORIES)
def test_the_result_is_the_sum_of_what_is_inside_now(history: list[tuple[object, ...]]) -> None:
    world = World(position_age=0.0)
    referee = Referee()
    reader, writer = world.client("r"), world.client("w")
    filter = "$SUM;RPT$GT;0/+/v"

    def subscribe() -> None:
        user = [entry(referee.at), ("gpl_circleDynamic", f"1;m;1;{referee.radius}")]
        reader.subscribe(filter, user=user, retain_handling=2)

    subscribe()
    for step in history:
        before = referee.members(world.now)
        match step:
            case ("publish", str(name), int(value), spot):
                where = [entry(spot)] if isinstance(spot, Point) else []
                at = spot if isinstance(spot, Point) else None
                writer.publish(f"{name}/v", str(value), user=where, message_expiry=60)
                referee.last[name] = (float(value), world.now + 60, at)
                after = referee.members(world.now)
                tells = name in before or name in after
            case ("move", Point() as point):
                referee.at = point
                reader.publish("position", user=[entry(point)])
                after = referee.members(world.now)
                tells = after.keys() != before.keys()
            case ("resize", float(radius)):
                referee.radius = radius
                subscribe()
                after = referee.members(world.now)
                tells = after.keys() != before.keys()
            case _:
                seconds = step[1]
                assert isinstance(seconds, float)
                world.wait(seconds)
                after = referee.members(world.now)
                tells = False
        expected = (
            [(f"$SUM;RPT$GT;0/{';'.join(sorted(after))}/v", repr(math.fsum(after.values())))]
            if tells and after
            else []
        )
        assert received(reader) == expected, step


def test_sequences_go_with_areas(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("$SUM$CHANGED;5/+/temp", "$CHANGED;5/+/temp", user=[PISA, ROUND_ME])
    writer = measure(world)
    writer.publish("a/temp", "11", user=[PISA])  # not enough to count
    writer.publish("b/temp", "30", user=[PISA])
    writer.publish("a/temp", "12", user=[OSLO])  # it goes, with a value that does not count
    assert received(reader) == [
        ("$SUM$CHANGED;5/$AGGREGATE/temp", "10.0"),
        ("$CHANGED;5/a/temp", "10"),
        ("$SUM$CHANGED;5/$AGGREGATE/temp", "30.0"),
        ("$CHANGED;5/b/temp", "20"),
        ("$SUM$CHANGED;5/$AGGREGATE/temp", "60.0"),
        ("$CHANGED;5/d/temp", "30"),
        ("$SUM$CHANGED;5/$AGGREGATE/temp", "70.0"),
        ("$CHANGED;5/b/temp", "30"),
        ("$SUM$CHANGED;5/$AGGREGATE/temp", "60.0"),
    ]
    reader.publish("position", user=[OSLO])
    assert received(reader) == [("$SUM$CHANGED;5/$AGGREGATE/temp", "130.0")]
