"""What is remembered before anybody subscribes: results are those of an operator that was always
there."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.broker.broker import Broker
from gossamer.broker.operator_memory import AT_ONCE
from gossamer.plus.engine import Engine
from gossamer.plus.memory import MemoryLimits
from gossamer.plus.plan import Field
from gossamer.plus.registry import AGGREGATES
from gossamer.plus.statistics import Statistics
from gossamer.session.journal import Journal
from tests.support.durable_world import DurableWorld
from tests.support.late_subscribers import NEVER, STEPS, WINDOWS, Step, received

MIB = 1 << 20


class Remembering(DurableWorld):
    """A broker that remembers."""

    begins = 86_400.0 * 10 + 7

    def __init__(
        self,
        filters: Sequence[str] = ("#",),
        topics: int = 1_000,
        size: int = 64 * MIB,
        fields: Sequence[str] = (),
    ) -> None:
        self._limits = (list(filters), topics, size, [Field(one, (one,)) for one in fields])
        super().__init__()
        self.broker = self._made(self.journal)

    def _made(self, journal: Journal) -> Broker:
        engine = Engine(WINDOWS)
        if self._limits[0]:
            engine.remember(MemoryLimits(*self._limits))
        offset = self.broker.core.wall_offset
        return Broker(self.settings, journal, self.now, engine, offset)

    def restart(self, filters: Sequence[str] | None = None) -> None:
        """After everything was committed."""
        if filters is not None:
            self._limits = (list(filters), *self._limits[1:])
        self.broker.core.operators.save()
        self.commit()
        self.journal = self.journal.restarted()
        self.broker = self._made(self.journal)
        self.broker.restore(self.journal.snapshot, self.now)
        self.wait(0.0)

    def settle(self) -> None:
        while self.broker.has_more():
            self.broker.go_on(self.now)
        self.commit()


def test_values_from_before_the_subscription_take_part() -> None:
    world = Remembering()
    writer = world.client("w")
    writer.publish("t/a", "10")
    writer.publish("t/b", "20")
    reader = world.client("r")
    reader.subscribe("$AVG/t/+")
    assert received(reader) == [("$AVG/t/$AGGREGATE", "15.0")]
    writer.publish("t/c", "30")
    assert received(reader) == [("$AVG/t/$AGGREGATE", "20.0")]


def test_a_dashboard_opened_at_noon_shows_a_day_that_began_at_midnight() -> None:
    world = Remembering()
    writer = world.client("w")
    for hour in range(12):
        world.now = 86_400.0 * 10 + hour * 3600
        writer.publish("meter/power", str(hour))
        writer.publish("other/power", "7")
    reader = world.client("r")
    reader.subscribe("$DAILYSUM/+/power", "$AVG$DAILYMAX/+/power")
    for hour in range(12, 24):
        world.now = 86_400.0 * 10 + hour * 3600
        writer.publish("meter/power", str(hour))
    world.now = 86_400.0 * 11
    world.broker.tick(world.now)
    assert sorted(received(reader)) == [
        ("$AVG$DAILYMAX/$AGGREGATE/power", "15.0"),
        ("$DAILYSUM/meter/power", "276.0"),
        ("$DAILYSUM/other/power", "84.0"),
    ]


def test_only_what_the_filters_name_is_remembered_and_each_message_once() -> None:
    world = Remembering(["home/#", "home/+/t", "+/hall/t"])
    writer = world.client("w")
    for topic in ("home/hall/t", "away/hall/t", "away/yard/t"):
        writer.publish(topic, "1")
    reader = world.client("r")
    reader.subscribe("$COUNT/#", "$MINUTECOUNT/#")
    assert received(reader) == [("$COUNT/$AGGREGATE", "2")]
    world.wait(60)
    assert sorted(received(reader)) == [
        ("$MINUTECOUNT/away/hall/t", "1"),
        ("$MINUTECOUNT/home/hall/t", "1"),
    ]


def test_the_last_value_counts_while_it_is_valid_and_whatever_it_is() -> None:
    world = Remembering()
    writer = world.client("w")
    writer.publish("t/a", "10", message_expiry=30)
    writer.publish("t/b", "20")
    writer.publish("t/b", "broken")
    writer.publish("t/c", '{"v":5,"s":"on"}', content_type="application/json")
    world.wait(20)
    reader = world.client("r")
    reader.subscribe("$SUM/t/+", "$SUM;;v$EQ;on;s/t/+", "$GT;1/t/+")
    assert sorted(received(reader)) == [
        ("$GT;1/t/a", "10"),
        ("$SUM/t/$AGGREGATE", "10.0"),
        ("$SUM;;v$EQ;on;s/t/$AGGREGATE", "5.0"),
    ]
    world.wait(20)
    late = world.client("late")
    late.subscribe("$COUNT/t/+")
    assert received(late) == []


def test_fields_have_windows_of_their_own() -> None:
    world = Remembering(fields=["v"])
    writer = world.client("w")
    for value in (1, 2):
        writer.publish("t", f'{{"v":{value},"w":100}}')
    reader = world.client("r")
    reader.subscribe("$MINUTESUM;;v/t", "$MINUTESUM;;w/t", "$MINUTESUM/t")
    writer.publish("t", '{"v":3,"w":100}')
    world.wait(60)
    assert received(reader) == [("$MINUTESUM;;v/t", "6.0"), ("$MINUTESUM;;w/t", "100.0")]
    assert world.broker.core.operators.engine.services.skipped == {"not_numeric": 1}


def test_topics_and_bytes_are_bounded() -> None:
    world = Remembering(topics=3)
    writer = world.client("w")
    for number in range(10):
        writer.publish(f"t/{number}", "1")
    reader = world.client("r")
    reader.subscribe("$COUNT/t/+")
    assert received(reader) == [("$COUNT/t/$AGGREGATE", "3")]
    memory = world.broker.core.operators.engine.memory
    assert memory is not None
    assert len(memory) == 3
    small = Remembering(size=MIB)
    writer = small.client("w")
    for number in range(40):
        writer.publish(f"t/{number}", "x" * 60_000)
    remembered = small.broker.core.operators.engine.memory
    assert remembered is not None
    assert 0 < remembered.values.held <= MIB
    assert small.broker.core.operators.engine.services.skipped["no_room"] > 0


def test_what_is_valid_no_more_and_windows_that_are_over_give_their_room_back() -> None:
    world = Remembering()
    empty = world.broker.core.ledger.operators.held
    writer = world.client("w")
    for number in range(50):
        writer.publish(f"t/{number}", str(number), message_expiry=10)
    memory = world.broker.core.operators.engine.memory
    assert memory is not None
    assert len(memory) == 50
    world.wait(86_400 * 2)
    writer.publish("x", "large" * 20_000)  # too large to be kept, and so is only looked at
    assert len(memory) == 0
    assert world.broker.core.ledger.operators.held == empty


def test_many_values_are_handed_over_in_slices_and_the_result_waits_for_all() -> None:
    world = Remembering(topics=5_000)
    world.broker.divides = True
    count = 4 * AT_ONCE
    writer = world.client("w")
    for number in range(count):
        writer.publish(f"t/{number}", "1")
    reader = world.client("r")
    reader.subscribe("$SUM/t/+", "$FIRST/t/+")
    writer.publish("t/0", "2")
    writer.publish("t/new", "5")
    assert received(reader) == []
    world.settle()
    assert dict(received(reader)) == {
        "$SUM/t/$AGGREGATE": f"{count + 6}.0",
        "$FIRST/t/$AGGREGATE": "1.0",
    }
    writer.publish("t/new", "6")
    assert dict(received(reader))["$SUM/t/$AGGREGATE"] == f"{count + 7}.0"


def test_who_leaves_before_all_is_handed_over_costs_nothing() -> None:
    world = Remembering(topics=5_000)
    world.broker.divides = True
    writer = world.client("w")
    for number in range(4 * AT_ONCE):
        writer.publish(f"t/{number}", "1")
    held = world.broker.core.ledger.operators.held
    reader = world.client("r")
    reader.subscribe("$SUM/t/+", "$DAILYSUM/t/+")
    reader.unsubscribe("$SUM/t/+", "$DAILYSUM/t/+")
    for _ in range(2):
        world.broker.core.operators.sweep(world.now)
    world.settle()
    assert world.broker.core.ledger.operators.held == held
    world.wait(86_400)


def test_filters_that_are_named_later_are_remembered_from_then_on() -> None:
    world = Remembering(["a/#"])
    writer = world.client("w")
    writer.publish("a/t", "1")
    writer.publish("b/t", "1")
    world.restart(["a/#", "b/#"])
    world.client("w").publish("b/t", "5")
    reader = world.client("r")
    reader.subscribe("$SUM/+/t")
    assert received(reader) == [("$SUM/$AGGREGATE/t", "6.0")]
    world.restart([])
    world.restart([])
    assert [key for key, _, _ in world.journal.snapshot.operators if "remembered" in key] == []


@pytest.mark.parametrize("function", sorted(AGGREGATES))
def test_statistics_answer_for_every_function(function: str) -> None:
    seen = Statistics()
    alone = AGGREGATES[function].running()
    for order, value in enumerate((3.5, -1.0, 0.0, 1e300, 3.5)):
        seen.add(value, order)
        alone.add(value, order)
    again = Statistics()
    again.restore(seen.save())
    for one in (seen, again):
        found = one.of(function)
        assert found is not None
        assert found.result() == alone.result()
        found.add(9.0, 9)
        alone_too = one.of(function)
        assert alone_too is not None
        assert alone_too.result() == alone.result()


FILTERS = (
    "$SUM/t/+",
    "$LAST/t/+",
    "$FIRST/t/a;b",
    "$MAX$GT;2/t/#",
    "$AVG;RPT/t/+",
    "$MINUTESUM/t/+",
    "$MINUTEFIRST/t/+",
    "$MINUTELAST/#",
    "$MINUTEMEDIAN/t/+",
    "$SUM$GT;3$MINUTEMAX/t/+",
    "$QUARTERHOURLYSTDDEV/t/a",
)
# They begin with their first subscriber, and take nothing that is of other windows.
NOT_SERVED = ("$SLIDESUM/t/+", "$MINUTESUM$DELTA/t/+")


@pytest.mark.parametrize("filter", NOT_SERVED)
def test_what_is_not_remembered_begins_as_ever(filter: str) -> None:
    ideal, late = Remembering([]), Remembering()
    for world in (ideal, late):
        for value in ("5", "7"):
            world.client("w").publish("t/a", value)
    for world in (ideal, late):
        reader = world.client("reader")
        reader.subscribe(filter, retain_handling=NEVER)
        for value in ("10", "30"):
            world.client("w").publish("t/a", value)
        world.wait(120.0)
        if world is ideal:
            expected = received(reader)
    assert received(reader) == expected
    assert expected


@settings(deadline=None)
@given(STEPS, STEPS, st.sampled_from(FILTERS), st.booleans(), st.booleans())
def test_results_are_those_of_an_operator_that_was_always_there(
    before: list[Step], after: list[Step], filter: str, restarts: bool, restarts_late: bool
) -> None:
    ideal, late = Remembering([]), Remembering()
    is_window = "MINUTE" in filter or "HOURLY" in filter
    handling = NEVER if is_window else 0
    ideal.client("keeper").subscribe(filter)

    def play(steps: list[Step]) -> None:
        for step in steps:
            for world in (ideal, late):
                if step[0] == "publish":
                    _, topic, value, expiry = step
                    more = {"message_expiry": expiry} if expiry else {}
                    world.client("w").publish(f"t/{topic}", str(value), **more)
                elif step[0] == "wait":
                    world.wait(step[1])
                else:
                    world.broker.clock_set(step[1], world.now)
                    world.wait(0.0)  # what is due has come before anything else

    play(before)
    if restarts:
        late.restart()
    readers = {}
    for world in (ideal, late):
        readers[world] = world.client("reader")
        readers[world].subscribe(filter, retain_handling=handling)
        world.settle()
    half = len(after) // 2
    play(after[:half])
    got: dict[Remembering, list[tuple[str, str]]] = {}
    if restarts_late:
        got = {world: received(readers[world]) for world in readers}
        late.restart()
        for world in (ideal, late):
            readers[world] = world.client("reader2")
            readers[world].subscribe(filter, retain_handling=NEVER)
            world.settle()
    play(after[half:])
    for world in (ideal, late):
        world.wait(1800.0)
    found = {world: got.get(world, []) + received(readers[world]) for world in readers}
    if is_window:  # topics end their windows together, in no particular order
        assert sorted(found[late]) == sorted(found[ideal])
    else:
        assert found[late] == found[ideal]
