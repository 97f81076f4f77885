"""Windows in a time zone, windows that slide, windows that a gap ends: cases, and naive models."""

import math
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.net.config.plus import Plus, windows_of
from gossamer.net.config.section import SectionError
from gossamer.plus.engine import Engine
from gossamer.plus.grammar import parse
from gossamer.plus.operators.kinds import Options
from gossamer.plus.operators.windows import MAX_HOPS, SessionWindow, SlidingWindow, Window
from gossamer.plus.plan import PlusError
from gossamer.plus.publication import Publication
from gossamer.plus.state import OperatorState
from gossamer.plus.time_zones import TimeZone, zone_of
from gossamer.plus.values import read_number
from gossamer.plus.vocabulary import Vocabulary
from tests.support.plus_model import FUNCTIONS, written

BEGIN = 1_000_000.0
SLIDING = SlidingWindow("SLIDE", 60.0, 20.0)
SESSION = SessionWindow("VISIT", 30.0)
VOCABULARY = Vocabulary([SLIDING, SESSION])
EXACT = ["COUNT", "SUM", "AVG", "MIN", "MAX", "STDDEV", "FIRST", "LAST"]

Said = tuple[float, str, str]


# Time zones --------------------------------------------------------------------------------------


def zone(name: str) -> TimeZone:
    found = zone_of(name)
    assert found is not None
    return found


def utc(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("name", "seconds", "time", "start", "end"),
    [
        ("Europe/Berlin", 86_400, "2026-01-10 12:00", "2026-01-09 23:00", "2026-01-10 23:00"),
        ("Europe/Berlin", 86_400, "2026-03-29 12:00", "2026-03-28 23:00", "2026-03-29 22:00"),
        ("Europe/Berlin", 86_400, "2026-10-25 12:00", "2026-10-24 22:00", "2026-10-25 23:00"),
        # A night shift has nine hours when the clock is set back, an hour always one.
        ("Europe/Berlin", 28_800, "2026-10-25 02:00", "2026-10-24 22:00", "2026-10-25 07:00"),
        ("Europe/Berlin", 3_600, "2026-10-25 00:30", "2026-10-25 00:00", "2026-10-25 01:00"),
        ("Europe/Berlin", 3_600, "2026-10-25 01:30", "2026-10-25 01:00", "2026-10-25 02:00"),
        ("Asia/Kolkata", 3_600, "2026-05-01 10:40", "2026-05-01 10:30", "2026-05-01 11:30"),
        ("Asia/Kathmandu", 900, "2026-05-01 10:40", "2026-05-01 10:30", "2026-05-01 10:45"),
        # Midnight comes twice, or not at all.
        ("Atlantic/Azores", 86_400, "2026-10-25 00:30", "2026-10-25 00:00", "2026-10-26 01:00"),
        ("America/Sao_Paulo", 86_400, "2018-11-04 12:00", "2018-11-04 03:00", "2018-11-05 02:00"),
        ("Pacific/Apia", 86_400, "2011-12-30 12:00", "2011-12-30 10:00", "2011-12-31 10:00"),
    ],
)
def test_windows_of_a_place(name: str, seconds: float, time: str, start: str, end: str) -> None:
    window = Window("W", seconds, zone(name))
    assert window.start(utc(time)) == utc(start)
    assert window.end(utc(start)) == utc(end)


@given(
    st.sampled_from(
        [
            *("Europe/Berlin", "America/New_York", "Atlantic/Azores", "Australia/Lord_Howe"),
            *("Asia/Kolkata", "America/Havana", "Africa/Casablanca", "Pacific/Apia"),
        ]
    ),
    st.sampled_from([60.0, 900.0, 3_600.0, 7_200.0, 28_800.0, 86_400.0, 604_800.0]),
    st.floats(utc("2000-01-01 00:00"), utc("2037-01-01 00:00")),
)
def test_windows_of_a_place_are_one_after_the_other(name: str, seconds: float, time: float) -> None:
    window = Window("W", seconds, zone(name))
    start = window.start(time)
    end = window.end(start)
    assert start <= time < end
    assert window.start(start) == start
    assert window.start(end) == end
    assert window.start(math.nextafter(end, 0.0)) == start
    if seconds > 3_600:
        shown = datetime.fromtimestamp(time, ZoneInfo(name)).replace(tzinfo=UTC).timestamp()
        assert abs((time - start) - shown % seconds) <= 90_000
        assert end - start <= seconds + 90_000


def test_a_day_follows_daylight_saving() -> None:
    engine = Engine(Vocabulary([Window("DAILY", 86_400.0, zone("Europe/Berlin"))]))
    engine.subscribe(engine.parse("$DAILYCOUNT/t"))
    state = next(iter(engine.states.values()))
    state.accept(Publication("t", b"1"), utc("2026-10-25 12:00"))
    assert engine.next_due() == utc("2026-10-25 23:00")
    state.accept(Publication("t", b"1"), utc("2026-10-25 23:30"))
    assert engine.next_due() == utc("2026-10-26 23:00")


# Cases -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "hop"), [(60, 0.5), (60, 45), (60, 60), (60, 0), (MAX_HOPS + 1, 1)]
)
def test_hops_that_are_refused(seconds: float, hop: float) -> None:
    with pytest.raises(ValueError, match="window W: a hop of"):
        SlidingWindow("W", seconds, hop)


def test_nothing_stands_around_windows_that_end_by_themselves() -> None:
    assert parse("$GT;1$VISITMAX/+/t", VOCABULARY).outer[0].keyword == "GT"
    with pytest.raises(PlusError, match=r"operator 2, \$VISITMAX: \$AVG cannot stand around it"):
        parse("$AVG$VISITMAX/+/t", VOCABULARY)


@pytest.mark.parametrize("window", [SLIDING, SESSION, Window("DAY", 86_400.0, zone("Asia/Tokyo"))])
def test_brokers_do_not_count_parts_of_them(window: Window) -> None:
    assert not window.is_plain()
    assert Window("DAY", 86_400.0).is_plain()


def test_the_configuration_has_them() -> None:
    plus = Plus.validated(
        {
            "timezone": "Europe/Berlin",
            "windows": {
                "MINUTE": "1 min",
                "FIVEMIN": {"length": "5 min", "hop": "1 min"},
                "BATCH": {"gap": "10 min"},
            },
        }
    )
    windows = {window.keyword: window for window in windows_of(plus)}
    assert [windows[name].seconds for name in ("DAILY", "MINUTE", "FIVEMIN", "BATCH")] == [
        86_400,
        60,
        300,
        600,
    ]
    assert isinstance(windows["FIVEMIN"], SlidingWindow)
    assert isinstance(windows["BATCH"], SessionWindow)
    assert windows["DAILY"].zone is not None
    assert all(window.zone is None for window in windows_of(Plus.validated({})))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"timezone": "Europe/Atlantis"}, "'Europe/Atlantis' is no time zone"),
        ({"timezone": "../../etc/passwd"}, "is no time zone"),
        ({"windows": {"W": {"hop": "1 min"}}}, "or a gap"),
        ({"windows": {"W": {"length": "1 min", "gap": "1 min"}}}, "or a gap"),
        ({"windows": {"W": {"length": "5 min", "hop": "2 min"}}}, "whole hops"),
        ({"windows": {"W": {"gap": "400 d"}}}, "allowed are"),
        ({"windows": {"W": {"length": "long"}}}, "not a duration"),
        ({"windows": {"W": "long"}}, "not a duration"),
        ({"windows": {"DAILY": "1 min"}}, "already means"),
    ],
)
def test_what_the_configuration_refuses(values: dict[str, object], words: str) -> None:
    with pytest.raises(SectionError, match=words):
        Plus.validated(values)


# Models ------------------------------------------------------------------------------------------


def sliding(function: str, said: list[Said], horizon: float) -> list[Said]:
    found: list[Said] = []
    hop, length = SLIDING.pane.seconds, SLIDING.seconds
    end = math.floor(BEGIN / hop) * hop
    while end <= horizon:
        values: dict[str, list[float]] = {}
        for time, topic, payload in said:
            if end - length <= time < end:
                values.setdefault(topic, []).append(read_number(payload.encode()))
        for topic, numbers in values.items():
            value = FUNCTIONS[function](numbers)
            found.append((end, f"$SLIDE{function}/{topic}", written(function, value)))
        end += hop
    return found


def sessions(function: str, said: list[Said], horizon: float) -> list[Said]:
    found: list[Said] = []
    for name in {topic for _, topic, _ in said}:
        numbers: list[float] = []
        latest = math.inf
        for time, payload in [(t, p) for t, topic, p in said if topic == name] + [(horizon, "")]:
            if numbers and time >= latest + SESSION.seconds:
                value = written(function, FUNCTIONS[function](numbers))
                found.append((latest + SESSION.seconds, f"$VISIT{function}/{name}", value))
                numbers = []
            if payload:
                numbers.append(read_number(payload.encode()))
                latest = time
    return found


histories = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["a", "b"]), st.integers(-9, 9).map(str)),
        st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["0.1", "1e300", "-2.5"])),
        st.tuples(st.just("wait"), st.sampled_from([0.25, 5.0, 20.0, 29.5, 30.0, 100.0])),
        st.just(("restart", 0.0)),
    ),
    max_size=40,
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
        engine = Engine(VOCABULARY)
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
        self.engine, self.state = self.begin()


def run(filter: str, history: list[tuple[str, float | str]]) -> tuple[Subject, list[Said]]:
    subject = Subject(filter)
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
    return subject, said


@given(st.sampled_from(EXACT), histories)
def test_sliding_windows(function: str, history: list[tuple[str, float | str]]) -> None:
    subject, said = run(f"$SLIDE{function}/+", history)
    assert sorted(subject.got) == sorted(sliding(function, said, subject.now))
    subject.wait(1000.0)
    assert subject.engine.next_due() == math.inf
    results = subject.state.last_results(subject.now)
    subject.engine.release(subject.state)
    assert subject.engine.services.account.held == 0
    assert bool(results) == bool(said)


@given(st.sampled_from(EXACT), histories)
def test_session_windows(function: str, history: list[tuple[str, float | str]]) -> None:
    subject, said = run(f"$VISIT{function}/+", history)
    assert sorted(subject.got) == sorted(sessions(function, said, subject.now))
    subject.wait(1000.0)
    assert subject.engine.next_due() == math.inf
    subject.engine.release(subject.state)
    assert subject.engine.services.account.held == 0


def test_topics_of_a_sliding_window_are_folded() -> None:
    subject = Subject("$SUM$SLIDECOUNT/+")
    for topic in ("a", "b", "b"):
        subject.publish(topic, "1")
    subject.wait(100.0)
    assert subject.got == [
        (BEGIN + 20.0 * n, "$SUM$SLIDECOUNT/$AGGREGATE", "3.0") for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    "name", ["#@", "#@x t", "#@nan t", "#@1e99 t", "#@999980.0 t", "#@-1.0 t", "t"]
)
@pytest.mark.parametrize("part", [b"", b"[1]", b"[2,1]", b'[1,"x"]', b"{}", b"[1,0]"])
@pytest.mark.parametrize("window", ["SLIDE", "VISIT"])
def test_parts_that_cannot_be_read_are_left_out(window: str, name: str, part: bytes) -> None:
    subject = Subject(f"${window}COUNT/+")
    subject.store = {name: part}
    subject.restart()
    subject.wait(1000.0)
    assert subject.got == []
