"""Sequences follow each topic by itself: cases by hand, and a naive model over random histories."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.plus.engine import Engine
from gossamer.plus.grammar import parse
from gossamer.plus.limits import OperatorLimits, topic_bytes
from gossamer.plus.operators.kinds import Options
from gossamer.plus.plan import PlusError, RuleNode, SequenceNode, StepNode
from gossamer.plus.publication import Publication
from gossamer.plus.registry import SEQUENCES
from gossamer.plus.state import OperatorState
from gossamer.plus.values import read_number
from gossamer.plus.vocabulary import Vocabulary
from tests.support.plus import VOCABULARY, Bench, deliveries
from tests.support.plus_model import COMPARISONS

BEGIN = 1_000_000.0

Said = tuple[float, str, str]  # time, topic, payload


# Grammar -----------------------------------------------------------------------------------------


def spelled(steps: tuple[StepNode, ...]) -> list[str]:
    found = []
    for step in steps:
        assert isinstance(step, RuleNode | SequenceNode)
        field = "" if step.field is None else f" of {step.field.text}"
        found.append(step.keyword + field)
    return found


@pytest.mark.parametrize(
    ("filter", "after", "outer", "inner", "before"),
    [
        ("$CHANGED/t", [], [], [], ["CHANGED"]),
        ("$GT;3$CHANGED;0.5$LT;9/t", [], [], [], ["GT", "CHANGED", "LT"]),
        ("$EVERY;10s$RATE;1h;a.b/t", [], [], [], ["EVERY", "RATE of a.b"]),
        ("$GT;1$CHANGED;5$LT;7$AVG/+/t", ["GT", "CHANGED"], ["LT"], [], []),
        ("$SUM$GT;0$RATE$NEQ;0/+/n", [], [], ["GT"], ["RATE", "NEQ"]),
        ("$EQ;1$SUM$ABSENT;5min/+/t", [], ["EQ"], [], ["ABSENT"]),
        ("$HOURLYMAX$DELTA$EQ;ok;state/t", [], [], [], ["DELTA", "EQ of state"]),
        ("$DELTA$HOURLYLAST/t", ["DELTA"], [], [], []),
        ("$SUM$HOURLYSUM$DELTA/+/t", [], [], [], ["DELTA"]),
        # What stands inside reads the same field, unless it names another.
        (
            "$AVG;;temp$GT;2$CHANGED;1$LT;5;hum/+/t",
            [],
            [],
            ["GT of temp"],
            ["CHANGED of temp", "LT of hum"],
        ),
        ("$CHANGED;1;temp$GT;5/t", [], [], [], ["CHANGED of temp", "GT of temp"]),
        ("$HOURLYMAX;;temp$EVERY;1min$GT;5/t", [], [], [], ["EVERY", "GT of temp"]),
        ("$CHANGED;0.5$CNTPPL/t", [], [], [], ["CHANGED"]),
    ],
)  # fmt: skip
def test_where_they_stand(
    filter: str, after: list[str], outer: list[str], inner: list[str], before: list[str]
) -> None:
    plan = parse(filter, VOCABULARY)
    assert spelled(plan.after) == after
    assert spelled(plan.outer) == outer
    assert spelled(plan.inner) == inner
    assert spelled(plan.before) == before


@pytest.mark.parametrize(
    ("filter", "reason"),
    [
        ("$CHANGED;x/t", r"operator 1, \$CHANGED: needs a number from 0 on, .*, not 'x'"),
        ("$CHANGED;-1/t", "needs a number from 0 on"),
        ("$CHANGED;1e999/t", "needs a number from 0 on"),
        ("$EVERY/t", r"operator 1, \$EVERY: needs a time of 0.1 s to 366 d, as in \$EVERY;10s"),
        ("$EVERY;soon/t", "'soon' is not a duration"),
        ("$EVERY;0/t", "needs a time of 0.1 s"),
        ("$EVERY;400d/t", "needs a time of 0.1 s"),
        ("$EVERY;10s;temp/t", "takes one argument, and reads no field"),
        ("$ABSENT/t", r"as in \$ABSENT;5min"),
        ("$RATE;0/t", "needs a time that is not 0"),
        ("$RATE;fast/t", "'fast' is not a duration"),
        ("$DELTA;1/t", "first argument must be empty"),
        ("$GT;1;a$RATE/t", r"operator 1, \$GT: reads the result of \$RATE, which has no fields"),
        ("$AVG;;a$ABSENT;1h$CHANGED/t", r"operator 1, \$AVG: reads the result of \$ABSENT"),
        ("$SUM$DELTA$HOURLYLAST/+/t", r"operator 3, .*between two aggregates .*inside of both"),
        ("$CNTPPL$CHANGED/t", r"a sequence cannot stand inside \$CNTPPL"),
        ("$CHANGED$AVG$MAX/t", "cannot stand inside another aggregate"),
        ("$HOURLYMAX$GT;1$CHANGED/t", r"a rule cannot stand inside \$HOURLYMAX"),
    ],
)
def test_refusals(filter: str, reason: str) -> None:
    with pytest.raises(PlusError, match=reason):
        parse(filter, VOCABULARY)


# Cases -------------------------------------------------------------------------------------------


def test_a_deadband_adds_small_steps_up() -> None:
    bench = Bench("$CHANGED;0.5/t")
    passed = [value for value in (20, 20.4, 20.5, 20.6, 20.2, 20.09) if bench.publish("t", value)]
    assert passed == [20, 20.6, 20.09]


def test_changes_of_texts_and_of_fields() -> None:
    bench = Bench("$CHANGED/door", "$CHANGED;;state/json")
    assert [len(bench.publish("door", text)) for text in ("open", "open", "shut", "x" * 99)] == [
        1,
        0,
        1,
        1,
    ]
    assert bench.publish("door", "x" * 99) == []
    documents = ['{"state":"on","n":1}', '{"state":"on","n":2}', '{"n":3}', '{"state":"off"}']
    passed = [text for text in documents if bench.publish("json", text)]
    assert passed == [documents[0], documents[3]]
    assert bench.engine.services.skipped == {"no_field": 1}


def test_a_sample_ends_with_the_latest() -> None:
    bench = Bench("$EVERY;10s/+")
    assert bench.publish("t", 1) == [("$EVERY;10s/t", "1")]
    bench.advance(4)
    assert bench.publish("t", 2) == []
    assert bench.publish("t", 3) == []
    assert bench.publish("u", 9) == [("$EVERY;10s/u", "9")]
    assert bench.advance(9.9) == []
    assert bench.advance(10) == [("$EVERY;10s/t", "3")]
    assert bench.advance(19) == []
    assert bench.publish("t", 4) == []
    # What is due comes before what is published, however late the broker is.
    bench.now = 21
    assert bench.publish("t", 5) == [("$EVERY;10s/t", "4")]
    assert bench.advance(31) == [("$EVERY;10s/t", "5")]
    assert bench.engine.next_due() == float("inf")


def test_what_expired_while_it_waited_is_not_sent() -> None:
    bench = Bench("$EVERY;10s/t")
    bench.publish("t", 1)
    assert bench.publish("t", 2, expiry=5) == []
    assert bench.advance(10) == []
    assert bench.publish("t", 3) == [("$EVERY;10s/t", "3")]


def test_silence_is_told_once_and_so_is_its_end() -> None:
    bench = Bench("$ABSENT;5min/+/temp")
    assert bench.publish("a/temp", 20) == []
    bench.advance(200)
    assert bench.publish("a/temp", 20) == []
    assert bench.advance(499) == []
    assert bench.advance(500) == [("$ABSENT;5min/a/temp", "1")]
    assert bench.advance(5000) == []
    assert bench.publish("a/temp", 21) == [("$ABSENT;5min/a/temp", "0")]
    assert bench.advance(5300) == [("$ABSENT;5min/a/temp", "1")]


def test_named_topics_are_missed_from_the_subscription_on() -> None:
    bench = Bench("$ABSENT;5min/pump", "$SUM$ABSENT;5min/a;b/temp")
    for state in bench.states:
        state.begin(0.0)
    assert bench.advance(300) == [
        ("$ABSENT;5min/pump", "1"),
        ("$SUM$ABSENT;5min/a;b/temp", "1.0"),
        ("$SUM$ABSENT;5min/a;b/temp", "2.0"),
    ]
    assert bench.publish("b/temp", 3) == [("$SUM$ABSENT;5min/a;b/temp", "1.0")]


def test_named_topics_are_the_same_after_a_restart() -> None:
    bench = Bench("$ABSENT;5min/pump")
    before = bench.states[0]
    before.begin(0.0)
    again = Bench("$ABSENT;5min/pump", now=100.0)
    state = again.states[0]
    state.begin(100.0)
    state.restore([(name, part) for name, part in before.take_changes() if part], 100.0)
    assert state.held == before.held == topic_bytes("pump")
    assert again.advance(299) == []
    assert again.advance(300) == [("$ABSENT;5min/pump", "1")]


def test_rules_inside_say_what_counts() -> None:
    bench = Bench("$ABSENT;1min$EQ;on/pump")
    assert bench.publish("pump", "on") == []
    bench.advance(50)
    assert bench.publish("pump", "off") == []
    assert bench.advance(60) == [("$ABSENT;1min$EQ;on/pump", "1")]
    outside = Bench("$GT;30$CHANGED;5/t")
    assert [v for v in (31, 10, 31, 33) if outside.publish("t", v)] == [31, 31]


def test_rates_and_differences() -> None:
    bench = Bench("$RATE;1h/kwh", "$DELTA/kwh")
    assert bench.publish("kwh", 100) == []
    bench.now = 900
    assert bench.publish("kwh", 103) == [("$RATE;1h/kwh", "12.0"), ("$DELTA/kwh", "3.0")]
    # At the same moment: against the latest that came before it.
    assert bench.publish("kwh", 104) == [("$RATE;1h/kwh", "16.0"), ("$DELTA/kwh", "1.0")]
    assert len(bench.publish("kwh", "1e308")) == 1
    assert bench.publish("kwh", "-1e308") == []
    assert bench.engine.services.skipped == {"overflow": 3}


def test_around_and_inside_of_aggregates() -> None:
    bench = Bench("$CHANGED;1$AVG/+/t", "$SUM$RATE/+/n", "$SUM$HOURLYSUM$DELTA/+/kwh")
    published = (("a/t", 20), ("b/t", 21), ("b/t", 30), ("a/t", 20.5))
    assert [len(bench.publish(topic, value)) for topic, value in published] == [1, 0, 1, 0]
    for topic in ("a/n", "b/n"):
        assert bench.publish(topic, 0) == []
    bench.now = 10
    assert bench.publish("a/n", 5) == [("$SUM$RATE/$AGGREGATE/n", "0.5")]
    assert bench.publish("b/n", 20) == [("$SUM$RATE/$AGGREGATE/n", "2.5")]
    for topic, value in (("a/kwh", 10), ("b/kwh", 50), ("a/kwh", 12), ("b/kwh", 53)):
        bench.publish(topic, value)
    assert bench.advance(3600) == [("$SUM$HOURLYSUM$DELTA/$AGGREGATE/kwh", "5.0")]


def test_newcomers_get_the_last_that_passed() -> None:
    bench = Bench("$CHANGED;1/t", "$CHANGED;1$AVG/+/x", "$AVG$CHANGED;1/+/x")
    for value in (5, 5.5):
        bench.publish("t", value)
        bench.publish("a/x", value)
    assert [deliveries(state.last_results(0.0)) for state in bench.states] == [
        [("$CHANGED;1/t", "5")],
        [("$CHANGED;1$AVG/$AGGREGATE/x", "5.0")],
        [("$AVG$CHANGED;1/$AGGREGATE/x", "5.0")],
    ]


@pytest.mark.parametrize(
    ("filter", "starts"),
    [
        ("$CHANGED/t", True),
        ("$GT;3$EVERY;5s/t", True),
        ("$DELTA/t", True),
        ("$RATE/t", False),
        ("$AVG$ABSENT;5s/t", False),
        ("$CHANGED$AVG/t", True),
        ("$AVG/t", True),
        ("$CHANGED$HOURLYAVG/t", False),
        ("$CHANGED$CNTPPL/t", False),
        ("$GT;3/t", False),
    ],
)
def test_what_begins_with_retained_messages(filter: str, starts: bool) -> None:
    assert parse(filter, VOCABULARY).starts_retained() is starts


# Bounds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chain", ["$CHANGED", "$EVERY;10s", "$DELTA", "$RATE"])
def test_topics_that_were_not_heard_of_for_long_are_forgotten(chain: str) -> None:
    bench = Bench(f"{chain}/#", limits=OperatorLimits(topics=2, last_results=0))
    for topic in ("a", "b", "c"):
        bench.publish(topic, 1)
    assert bench.states[0].held == topic_bytes("a") * 2
    assert bench.engine.services.account.evicted > 0
    for state in bench.states:
        bench.engine.release(state)
    assert bench.engine.services.account.held == 0


def test_silence_is_not_forgotten() -> None:
    bench = Bench("$ABSENT;10s/#", limits=OperatorLimits(topics=1))
    for topic in ("a", "b"):
        bench.publish(topic, 1)
    assert bench.engine.services.skipped == {"too_many_topics": 1}
    assert bench.advance(10) == [("$ABSENT;10s/a", "1")]


def test_what_waits_is_charged() -> None:
    bench = Bench("$EVERY;10s/t", limits=OperatorLimits(last_results=0))
    bench.publish("t", b"")
    held = bench.states[0].held
    bench.publish("t", b"x" * 1000)
    bench.publish("t", b"x" * 700)
    assert bench.states[0].held == held + 700
    bench.engine.services.account.budget = bench.engine.services.account.held + 10
    bench.publish("t", b"x" * 900)
    assert bench.engine.services.skipped == {"no_room": 1}
    [(_, payload)] = bench.advance(10)
    assert len(payload) == 700
    assert bench.states[0].held == held


@pytest.mark.parametrize(
    "part", [b"", b"{}", b"[2,1.0]", b"[1]", b'[1,"x"]', b"[1,null]", b"[1,NaN]"]
)
@pytest.mark.parametrize(
    "chain", ["$CHANGED", "$CHANGED;1", "$EVERY;5s", "$ABSENT;5s", "$RATE", "$DELTA"]
)
def test_parts_that_cannot_be_read_are_left_out(chain: str, part: bytes) -> None:
    bench = Bench(f"{chain}/t")
    state = bench.states[0]
    state.restore([("#0t", part), ("#", part), ("#9t", part), ("+0x", part)], 0.0)
    assert dict(state.take_changes()).get("#0t") is None
    bench.publish("t", 1)
    bench.advance(100)


# The model ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Event:
    time: float
    payload: str
    late: bool = False  # nothing was published: something fell due


def changed(amount: float, events: list[Event], horizon: float) -> list[Event]:
    passed: list[Event] = []
    for event in events:
        value = read_number(event.payload.encode())
        if amount >= 0 and value != value:
            continue
        last = passed[-1].payload if passed else None
        if (
            last is None
            or (amount < 0 and last != event.payload)
            or (amount >= 0 and abs(value - read_number(last.encode())) > amount)
        ):
            passed.append(event)
    return passed


def every(seconds: float, events: list[Event], horizon: float) -> list[Event]:
    passed: list[Event] = []
    waiting: list[Event] = []
    for event in [*events, Event(horizon, "", late=True)]:
        while waiting and passed[-1].time + seconds <= event.time:
            passed.append(Event(passed[-1].time + seconds, waiting[-1].payload, late=True))
            waiting = []
        if event.time == horizon and event.payload == "":
            break
        if not passed or event.time >= passed[-1].time + seconds:
            passed.append(event)
        else:
            waiting.append(event)
    return passed


def absent(seconds: float, events: list[Event], horizon: float) -> list[Event]:
    found: list[Event] = []
    for at, event in enumerate(events):
        following = events[at + 1] if at + 1 < len(events) else None
        until = horizon if following is None else following.time
        if event.time + seconds <= until:
            found.append(Event(event.time + seconds, "1", late=True))
            if following is not None:
                found.append(Event(following.time, "0"))
    return found


def numbers(events: list[Event]) -> list[tuple[Event, float]]:
    read = [(event, read_number(event.payload.encode())) for event in events]
    return [(event, value) for event, value in read if value - value == 0]


def delta(amount: float, events: list[Event], horizon: float) -> list[Event]:
    read = numbers(events)
    return [
        Event(event.time, repr(value - before + 0.0))
        for (_, before), (event, value) in pairwise(read)
    ]


def rate(seconds: float, events: list[Event], horizon: float) -> list[Event]:
    read = numbers(events)
    found: list[Event] = []
    for at, (event, value) in enumerate(read):
        earlier = [(one.time, number) for one, number in read[:at] if one.time < event.time]
        if earlier:
            time, number = earlier[-1]
            found.append(
                Event(event.time, repr((value - number) / (event.time - time) * seconds + 0.0))
            )
    return found


MODELS: dict[str, Callable[[float, list[Event], float], list[Event]]] = {
    "CHANGED": changed,
    "EVERY": every,
    "ABSENT": absent,
    "DELTA": delta,
    "RATE": rate,
}


def expected(
    chain: str, steps: tuple[StepNode, ...], said: list[Said], horizon: float
) -> list[Said]:
    found: list[Said] = []
    for name in {topic for _, topic, _ in said}:
        events = [Event(time, payload) for time, topic, payload in said if topic == name]
        for step in reversed(steps):
            if isinstance(step, SequenceNode):
                events = MODELS[step.keyword](step.amount, events, horizon)
            else:
                assert isinstance(step, RuleNode)
                assert step.number is not None
                number, test = step.number, COMPARISONS[step.keyword]
                events = [event for event, value in numbers(events) if test(value, number)]
        found += [(event.time, f"{chain}/{name}", event.payload) for event in events]
    return sorted(found)


chains = st.lists(
    st.sampled_from(
        ["$CHANGED", "$CHANGED;2.5", "$EVERY;10s", "$ABSENT;20s", "$DELTA", "$RATE;1min", "$GT;1"]
    ),
    min_size=1,
    max_size=3,
).map("".join)  # fmt: skip
histories = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.one_of(st.integers(-9, 9).map(str), st.sampled_from(["0.5", "2.25", "hot", "NaN"])),
        ),
        st.tuples(st.just("wait"), st.sampled_from([0.25, 1.0, 5.0, 10.0, 20.0, 300.0])),
        st.just(("restart", 0.0)),
    ),
    max_size=50,
)


class Subject:
    """An engine with a store, and restarts."""

    def __init__(self, filter: str) -> None:
        self.filter = filter
        self.store: dict[str, bytes] = {}
        self.now = BEGIN
        self.got: list[Said] = []
        self.engine, self.state = self.begin()

    def begin(self) -> tuple[Engine, OperatorState]:
        engine = Engine(Vocabulary())
        engine.services.saves = True
        state = engine.subscribe(engine.parse(self.filter), Options())
        state.restore(list(self.store.items()), self.now)
        return engine, state

    def wait(self, seconds: float) -> None:
        until = self.now + seconds
        while self.engine.next_due() <= until:
            due = self.engine.next_due()
            for _, result in self.engine.tick(due):
                self.got.append((due, result.topic, result.payload.decode()))
        self.now = until

    def publish(self, topic: str, payload: str) -> None:
        for result in self.state.accept(Publication(topic, payload.encode()), self.now):
            self.got.append((self.now, result.topic, result.payload.decode()))

    def restart(self) -> None:
        for name, part in self.state.take_changes():
            if part is None:
                self.store.pop(name, None)
            else:
                self.store[name] = part
                json.loads(part)
        self.engine, self.state = self.begin()


@given(chains, histories)
def test_the_same_as_a_naive_model(chain: str, history: list[tuple[str, float | str]]) -> None:
    plan = parse(f"{chain}/+", Vocabulary())
    if not plan.has_steps():
        return
    subject = Subject(f"{chain}/+")
    said: list[Said] = []
    for what, argument in history:
        if what == "restart":
            subject.restart()
        elif what == "wait":
            assert isinstance(argument, float)
            subject.wait(argument)
        else:
            assert isinstance(argument, str)
            subject.publish(what, argument)
            said.append((subject.now, what, argument))
    assert sorted(subject.got) == expected(chain, plan.before, said, subject.now)


def test_all_of_them_are_in_the_model() -> None:
    assert MODELS.keys() == SEQUENCES.keys()


# Groups ------------------------------------------------------------------------------------------


def test_groups_are_topics_of_their_own() -> None:
    bench = Bench(
        "$HOURLYAVG;;temp$BY;sensor/plant/+", "$SUM;RPT;temp$BY;sensor/plant/+", "$BY;n/plant/+"
    )
    assert bench.states[0].plan.reads == ("plant",)
    assert bench.publish("plant", '{"sensor": "a", "temp": 2, "n": 1.5}') == [
        ("$SUM;RPT;temp$BY;sensor/plant/a", "2.0"),
        ("$BY;n/plant/1.5", '{"sensor": "a", "temp": 2, "n": 1.5}'),
    ]
    assert bench.publish("plant", '{"sensor": "x/y+#%", "temp": 5, "n": true}') == [
        ("$SUM;RPT;temp$BY;sensor/plant/a;x%252Fy%252B%2523%2525", "7.0"),
        ("$BY;n/plant/true", '{"sensor": "x/y+#%", "temp": 5, "n": true}'),
    ]
    assert bench.advance(3600) == [
        ("$HOURLYAVG;;temp$BY;sensor/plant/a", "2.0"),
        ("$HOURLYAVG;;temp$BY;sensor/plant/x%2Fy%2B%23%25", "5.0"),
    ]


def test_groups_are_followed_each_by_itself() -> None:
    bench = Bench("$CHANGED;1;temp$BY;id$EQ;ok;status/+/all/+", "$ABSENT;1min$BY;id/a/all/+")
    for state in bench.states:
        state.begin(0.0)
    said = '{"id": %d, "temp": %d, "status": "%s"}'
    passed = [
        len(bench.publish("a/all", said % values))
        for values in ((1, 5, "ok"), (2, 50, "ok"), (1, 5, "ok"), (2, 60, "bad"), (2, 52, "ok"))
    ]
    assert passed == [1, 1, 0, 0, 1]
    assert bench.advance(60) == [
        ("$ABSENT;1min$BY;id/a/all/1", "1"),
        ("$ABSENT;1min$BY;id/a/all/2", "1"),
    ]
    assert bench.publish("a/all", '{"id": null}') == []
    assert bench.publish("a/all", '{"id": "' + "x" * 70_000 + '"}') == []
    assert bench.engine.services.skipped == {"no_key": 1, "no_field": 2, "topic_too_long": 1}


@pytest.mark.parametrize(
    ("filter", "reason"),
    [
        ("$BY/a/+", r"operator 1, \$BY: needs one field, as in \$BY;sensor"),
        ("$BY;a;b/a/+", "needs one field"),
        ("$BY;a..b/a/+", "empty step"),
        ("$BY;id/a", r"\$BY needs a filter that ends with /\+, where the keys stand"),
        ("$BY;id/+", "needs a filter that ends"),
        ("$BY;id/a/#", "needs a filter that ends"),
        ("$BY;id$CHANGED/a/+", r"operator 2, \$CHANGED: \$BY has only rules and a processor"),
        ("$BY;id$AVG/a/+", r"operator 2, \$AVG: \$BY has only rules and a processor"),
        ("$BY;id$BY;x/a/+", "has only rules and a processor"),
        ("$BY;id$RATE/a/+", "has only rules"),
    ],
)
def test_groups_that_are_refused(filter: str, reason: str) -> None:
    with pytest.raises(PlusError, match=reason):
        parse(filter, VOCABULARY)
