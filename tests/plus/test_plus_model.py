"""The incremental engine equals a naive one, over random publications, TTLs and clocks."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.plus.engine import Engine
from gossamer.plus.operators.kinds import Options
from gossamer.plus.operators.quantile import RELATIVE_ERROR
from gossamer.plus.publication import Publication
from gossamer.plus.state import OperatorState
from gossamer.topics.names import matches
from tests.support.plus import VOCABULARY, Delivery, deliveries
from tests.support.plus_model import IMPLICIT_TTL, Model

EXACT = ["COUNT", "SUM", "AVG", "MIN", "MAX", "STDDEV", "FIRST", "LAST"]
ESTIMATED = ["MEDIAN", "P95"]
RULES = ["", "$GT;0", "$LTE;20$NEQ;5"]

topics = st.sampled_from(["a/x", "a/y", "b/x", "b/y", "c/x"])
numbers = st.one_of(
    st.integers(-30, 30).map(str),
    st.floats(-1e6, 1e6).map(repr),
    st.sampled_from(["1e300", "-1e-300", "5", "-0", "0.1", "0.2", "0.3"]),
)
payloads = st.one_of(numbers, numbers, st.sampled_from(["", "NaN", "1e999", "hot", "01", "+1"]))
publications = st.tuples(
    st.just("publish"), topics, payloads, st.sampled_from([0.0, 0.0, 1.0, 400.0, 5000.0])
)
steps = st.tuples(
    st.just("step"), st.sampled_from([0.0, 1.0, 7.0, 300.0, 900.0, 4000.0, -200.0, -2000.0])
)
restarts = st.tuples(st.just("restart"))
histories = st.lists(
    st.one_of(publications, publications, publications, steps, restarts), max_size=60
)

spatial_filters = st.builds(
    "{}${}{}/{}".format,
    st.sampled_from(RULES),
    st.sampled_from(EXACT + ESTIMATED),
    st.sampled_from(RULES),
    st.sampled_from(["+/x", "+/+", "a/x", "a;b/x"]),
)
temporal_filters = st.builds(
    "{}$QUARTERHOURLY{}/{}".format,
    st.sampled_from(RULES),
    st.sampled_from(EXACT),
    st.sampled_from(["+/x", "#", "a/x"]),
)
combined_filters = st.builds(
    "{}${}{}$QUARTERHOURLY{}/{}".format,
    st.sampled_from(RULES),
    st.sampled_from(EXACT + ESTIMATED),
    st.sampled_from(RULES),
    st.sampled_from(EXACT),
    st.sampled_from(["+/x", "+/+"]),
)


class Subject:
    """The engine with one subscription, a store, and restarts."""

    def __init__(self, filter: str, options: Options) -> None:
        self.filter = filter
        self.options = options
        self.store: dict[str, bytes] = {}
        self.now = 1_000_000.0
        self.engine, self.state = self.begin()

    def begin(self) -> tuple[Engine, OperatorState]:
        engine = Engine(VOCABULARY)
        engine.services.saves = True
        state = engine.subscribe(engine.parse(self.filter), self.options)
        state.restore(list(self.store.items()), self.now)
        engine.tick(self.now)
        return engine, state

    def publish(self, topic: str, payload: str, expires_at: float) -> list[Delivery]:
        if not any(matches(read, topic) for read in self.state.plan.reads):
            return []
        publication = Publication(topic, payload.encode(), expires_at)
        return deliveries(self.state.accept(publication, self.now))

    def save(self) -> None:
        for name, part in self.state.take_changes():
            if part is None:
                self.store.pop(name, None)
            else:
                self.store[name] = part


def check(filter: str, options: Options, history: list[tuple[object, ...]]) -> None:
    subject = Subject(filter, options)
    model = Model(subject.state.plan, options.names_participants, options.every)
    for event in history:
        if event[0] == "publish":
            _, topic, payload, expiry = event
            assert isinstance(topic, str)
            assert isinstance(payload, str)
            assert isinstance(expiry, float)
            now = subject.now
            expected: list[Delivery] = []
            if any(matches(read, topic) for read in subject.state.plan.reads):
                ends = now + (expiry or IMPLICIT_TTL)
                expected = model.publish(topic, payload, ends, now)
            got = subject.publish(topic, payload, now + expiry if expiry else 0.0)
            assert sorted(got) == sorted(expected)
        elif event[0] == "step":
            assert isinstance(event[1], float)
            subject.now += event[1]
            expected = model.step(subject.now, event[1] < 0)
            got = deliveries([result for _, result in subject.engine.tick(subject.now)])
            assert sorted(got) == sorted(expected)
        else:
            latest = subject.engine.tick(subject.now)
            assert latest == []
            subject.save()
            subject.engine, subject.state = subject.begin()
            model.restart()
            model.expire(subject.now)


@given(
    spatial_filters,
    st.booleans(),
    st.sampled_from([0.0, 0.0, 5.0, 1000.0]),
    histories,
)
def test_spatial(filter: str, named: bool, every: float, history: list[tuple[object, ...]]) -> None:
    check(filter, Options(named, every), history)


@given(temporal_filters, histories)
def test_temporal(filter: str, history: list[tuple[object, ...]]) -> None:
    check(filter, Options(), history)


@given(combined_filters, st.booleans(), histories)
def test_spatio_temporal(filter: str, named: bool, history: list[tuple[object, ...]]) -> None:
    check(filter, Options(named), history)


@pytest.mark.parametrize("function", ESTIMATED)
@given(st.lists(st.one_of(st.floats(-1e5, 1e5), st.floats(1e-3, 1e9)), min_size=1, max_size=200))
def test_quantiles_over_time_are_within_their_error(function: str, values: list[float]) -> None:
    subject = Subject(f"$HOURLY{function}/t", Options())
    for value in values:
        subject.publish("t", repr(value), 0.0)
    subject.save()
    subject.engine, subject.state = subject.begin()
    [(_, result)] = subject.engine.tick(subject.now + 3600)
    ordered = sorted(values)
    if function == "MEDIAN":
        low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    else:
        low = high = ordered[math.ceil(len(ordered) * 0.95) - 1]
    error = max(abs(low), abs(high)) * RELATIVE_ERROR * (1 + 1e-9) + 1e-300
    assert abs(float(result.payload) - (low / 2 + high / 2)) <= error
