"""Operators that catch up from the archive: results are those of one that was always there,
whenever the answer comes."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.broker.broker import Broker
from gossamer.broker.catch_up import AT_ONCE
from gossamer.plus.engine import Engine
from tests.support.collected_rows import Readers, RowsInMemory
from tests.support.durable_world import DurableWorld
from tests.support.late_subscribers import NEVER, STEPS, WINDOWS, Step, received


class Archiving(DurableWorld):
    begins = 86_400.0 * 10 + 7

    def __init__(self) -> None:
        super().__init__()
        self.archive = RowsInMemory()
        self.readers = Readers(self.archive)
        self._begin()

    def _begin(self) -> None:
        offset = self.broker.core.wall_offset
        self.broker = Broker(self.settings, self.journal, self.now, Engine(WINDOWS), offset)

    def _connect(self) -> None:
        self.broker.begin_archiving(self.archive.collector, ["t/#"])
        self.broker.core.operators.begin_catching_up(self.readers, self.now)

    @classmethod
    def made(cls) -> "Archiving":
        world = cls()
        world._connect()
        return world

    def restart(self) -> None:
        self.broker.core.operators.save()
        self.commit()
        self.journal = self.journal.restarted()
        self._begin()
        self.broker.restore(self.journal.snapshot, self.now)
        self.readers = Readers(self.archive)
        self._connect()
        self.wait(0.0)

    def answer(self) -> None:
        """Everything that was asked."""
        asked, self.readers.asked = self.readers.asked, []
        for request in asked:
            self.readers.read(request)
            self.broker.caught_up(request, self.now)
        self.settle()

    def settle(self) -> None:
        while self.broker.has_more():
            self.broker.go_on(self.now)
        self.commit()


def test_the_window_under_way_has_what_was_published_before() -> None:
    world = Archiving.made()
    writer = world.client("w")
    writer.publish("t/a", "1")
    writer.publish("t/b", "2", qos=1)
    reader = world.client("r")
    reader.subscribe("$MINUTESUM/t/+", "$AVG/t/+", "$LAST/t/+")
    writer.publish("t/a", "10")
    assert received(reader) == []  # not all is known yet
    world.answer()
    assert sorted(received(reader)) == [
        ("$AVG/t/$AGGREGATE", "6.0"),
        ("$LAST/t/$AGGREGATE", "10.0"),
    ]
    writer.publish("t/b", "20")
    assert sorted(received(reader)) == [
        ("$AVG/t/$AGGREGATE", "15.0"),
        ("$LAST/t/$AGGREGATE", "20.0"),
    ]
    world.wait(60)
    assert sorted(received(reader)) == [("$MINUTESUM/t/a", "11.0"), ("$MINUTESUM/t/b", "22.0")]


def test_a_window_that_ends_meanwhile_waits_with_its_result() -> None:
    world = Archiving.made()
    writer = world.client("w")
    writer.publish("t/a", "1")
    reader = world.client("r")
    reader.subscribe("$MINUTECOUNT/t/+")
    writer.publish("t/a", "1")
    world.wait(60)
    assert received(reader) == []
    writer.publish("t/a", "1")
    world.answer()
    assert received(reader) == [("$MINUTECOUNT/t/a", "2")]
    world.wait(60)
    assert received(reader) == [("$MINUTECOUNT/t/a", "1")]


def test_what_cannot_be_read_is_told_with_the_result_and_counted() -> None:
    world = Archiving.made()
    writer = world.client("w")
    writer.publish("t/a", "1")
    reader = world.client("r")
    reader.subscribe("$MINUTECOUNT/t/+", "$COUNT/t/+")
    for request in world.readers.asked:
        request.trouble = "the archive does not reach back so far"
        world.broker.caught_up(request, world.now)
    writer.publish("t/b", "1")
    world.wait(60)
    found = {message.topic: message for message in reader.messages()}
    assert found["$COUNT/t/$AGGREGATE"].payload == b"1"
    properties = found["$MINUTECOUNT/t/b"].properties
    assert properties is not None
    assert properties.user == [("plus_since", "1970-01-11T00:00:07Z")]
    assert world.broker.core.operators.engine.services.skipped == {"catch_up_failed": 2}
    writer.publish("t/b", "1")
    world.wait(60)
    second = {message.topic: message.properties for message in reader.messages()}
    assert second["$MINUTECOUNT/t/b"] is None


def test_what_the_archive_does_not_have_all_of_begins_as_before() -> None:
    world = Archiving.made()
    reader = world.client("r")
    reader.subscribe("$MINUTECOUNT/+/a", "$COUNT/#", "$GT;1/t/a", "$COUNT/t/a")
    assert [request.reads for request in world.readers.asked] == [("t/a",)]


def test_many_topics_are_taken_over_in_slices() -> None:
    world = Archiving.made()
    world.broker.divides = True
    writer = world.client("w")
    count = 3 * AT_ONCE
    for number in range(count):
        writer.publish(f"t/{number}", "1")
    reader = world.client("r")
    reader.subscribe("$SUM/t/+", "$SUM$MINUTEP95/t/+")
    writer.publish("t/0", "1")
    world.answer()
    assert received(reader) == [("$SUM/t/$AGGREGATE", f"{count}.0")]
    world.wait(60)
    [(_, result)] = received(reader)
    assert abs(float(result) - count) < count / 50


def test_who_leaves_meanwhile_costs_nothing() -> None:
    world = Archiving.made()
    writer = world.client("w")
    writer.publish("t/a", "1")
    held = world.broker.core.ledger.operators.held
    reader = world.client("r")
    reader.subscribe("$MINUTESUM/t/+", "$SUM/t/+")
    reader.unsubscribe("$MINUTESUM/t/+", "$SUM/t/+")
    for _ in range(2):
        world.broker.core.operators.sweep(world.now)
    world.answer()
    assert world.broker.core.ledger.operators.held == held


def test_an_operator_that_was_not_done_at_a_restart_reads_again() -> None:
    world = Archiving.made()
    writer = world.client("w")
    writer.publish("t/a", "1")
    reader = world.client("r")
    reader.subscribe("$MINUTESUM/t/+")
    writer.publish("t/a", "10", qos=1)
    world.restart()
    reader = world.client("r")
    reader.subscribe("$MINUTESUM/t/+", retain_handling=NEVER)
    world.client("w").publish("t/a", "100")
    world.answer()
    world.wait(60)
    assert received(reader) == [("$MINUTESUM/t/a", "111.0")]


FILTERS = (
    "$SUM/t/+",
    "$LAST/t/+",
    "$FIRST/t/a;b",
    "$MAX$GT;2/t/#",
    "$AVG;RPT/t/+",
    "$MINUTESUM/t/+",
    "$MINUTEFIRST/t/+",
    "$MINUTELAST/t/#",
    "$MINUTEMEDIAN/t/+",
    "$SUM$GT;3$MINUTEMAX/t/+",
    "$QUARTERHOURLYSTDDEV/t/a",
)


@settings(deadline=None)
@given(STEPS, STEPS, st.integers(0, 25), st.sampled_from(FILTERS), st.booleans())
def test_results_are_those_of_an_operator_that_was_always_there(
    before: list[Step], after: list[Step], answered: int, filter: str, restarts: bool
) -> None:
    ideal, late = Archiving(), Archiving.made()
    is_window = "MINUTE" in filter or "HOURLY" in filter
    ideal.client("keeper").subscribe(filter)
    for world in (ideal, late):
        world.wait(0.0)

    def play(step: Step) -> None:
        for world in (ideal, late):
            if step[0] == "publish":
                _, topic, value, expiry = step
                more: dict[str, Any] = {"message_expiry": expiry} if expiry else {}
                world.client("w").publish(f"t/{topic}", str(value), **more)
            elif step[0] == "wait":
                world.wait(step[1])
            # The clock stands still here: rows of before a step are in the windows of that time.

    for step in before:
        play(step)
    readers = {}
    for world in (ideal, late):
        readers[world] = world.client("reader")
        readers[world].subscribe(filter, retain_handling=NEVER)
    if restarts:
        late.restart()
        readers[late] = late.client("reader")
        readers[late].subscribe(filter, retain_handling=NEVER)
    for step in after[:answered]:
        play(step)
    late.answer()
    last = readers[ideal].messages()
    if not is_window:
        # Until it was answered it had no results; then it had the last, if it is valid still.
        got = received(readers[late])
        assert len(got) <= 1
        if last and got and not any(step[0] == "wait" for step in after):
            assert got[0][1] == last[-1].payload.decode()
    for step in after[answered:]:
        play(step)
    for world in (ideal, late):
        world.wait(1800.0)
    found = received(readers[late])
    expected = received(readers[ideal])
    if is_window:
        expected = [(message.topic, message.payload.decode()) for message in last] + expected
        assert sorted(found) == sorted(expected)
    else:
        assert found == expected
