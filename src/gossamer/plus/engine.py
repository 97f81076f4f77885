"""The operators of one broker: states shared by those who subscribed to the same, and their time.

The engine reads no clock and does no IO. The broker brings publications and the time; what comes
out are results, jobs for processors, and the parts of the states that should survive a restart.
"""

from typing import Final

from gossamer.plus.counted_windows import COUNTED, CountedWindows
from gossamer.plus.entered_values import EnteredValues
from gossamer.plus.filter_operator import FilterOperator
from gossamer.plus.grammar import parse, read_options, settled
from gossamer.plus.jobs import Job
from gossamer.plus.limits import MAX_TOPIC_BYTES, OperatorLimits
from gossamer.plus.located import LOCATED_KEY, AreaTest
from gossamer.plus.located_spatial import LocatedSpatialState
from gossamer.plus.memory import Memory, MemoryLimits
from gossamer.plus.offload import OffloadedState, OffloadRule
from gossamer.plus.operators.kinds import Options
from gossamer.plus.operators.windows import SessionWindow, SlidingWindow
from gossamer.plus.plan import OperatorPlan, PlusError
from gossamer.plus.publication import IMPLICIT_TTL, Publication
from gossamer.plus.result_topics import AGGREGATE, fallback_topic, fits
from gossamer.plus.session_windows import SessionState
from gossamer.plus.sliding_windows import SlidingState
from gossamer.plus.spatial import SpatialState
from gossamer.plus.spelling import meant_by
from gossamer.plus.stages import StagedState
from gossamer.plus.state import OperatorResult, OperatorState, Services
from gossamer.plus.temporal import TemporalState
from gossamer.plus.vocabulary import Vocabulary

# Characters of a filter that a refusal repeats.
MAX_SHOWN: Final = 80


class AskedOperator:
    """An operator subscription as a client asked for it. `area` is what it is limited to, if
    anything; it comes with the SUBSCRIBE, and not with the filter."""

    def __init__(self, plan: OperatorPlan, options: Options) -> None:
        self.plan = plan
        self.options = options
        self.area: AreaTest | None = None


class Engine:
    """`states` is by key; a state lives while someone holds it."""

    def __init__(
        self,
        vocabulary: Vocabulary | None = None,
        implicit_ttl: float = IMPLICIT_TTL,
        limits: OperatorLimits | None = None,
    ) -> None:
        self.vocabulary = vocabulary if vocabulary is not None else Vocabulary()
        self.services = Services(implicit_ttl, limits)
        self.states: dict[str, OperatorState] = {}
        self.offloads: OffloadRule | None = None  # what somebody else computes
        self.memory: Memory | None = None  # of what was published before somebody subscribed
        self.failed: list[tuple[OperatorState, Exception]] = []  # for whoever calls to note
        self._latest_tick = 0.0

    def remember(self, limits: MemoryLimits) -> None:
        """From now on; once, before there are states."""
        windows = {
            window.keyword: window
            for window, _ in self.vocabulary.temporal.values()
            if window.tumbles
        }
        self.memory = Memory(limits, list(windows.values()), self.services)
        for state in self.memory.states():
            self.states[state.key] = state

    def parse(self, filter: str) -> OperatorPlan:
        """Raises PlusError."""
        return parse(filter, self.vocabulary)

    def refuse_misspelt(self, filter: str) -> None:
        """Raises PlusError for an ordinary filter that is plainly meant for the operators."""
        meant = meant_by(filter, self.vocabulary)
        if meant:
            raise PlusError(f"{filter[:MAX_SHOWN]} is no operator; is {meant[:MAX_SHOWN]} meant?")

    def ask(self, filter: str, user: list[tuple[str, str]]) -> AskedOperator:
        """From the filter and the User Properties of a SUBSCRIBE. Raises PlusError."""
        asked = AskedOperator(self.parse(filter), read_options(user))
        if asked.plan.spatial is not None and not fits(fallback_topic(asked.plan)):
            raise PlusError(
                f"the results' topic, with {AGGREGATE} for each wildcard, is over "
                f"{MAX_TOPIC_BYTES} bytes: subscribe to a shorter filter"
            )
        if self.offloads is not None:
            self.offloads.check(asked.plan, asked.options)
        return asked

    def limit(self, asked: AskedOperator, area: AreaTest) -> None:
        """To what is published about places in the area. Raises PlusError."""
        plan = asked.plan
        if plan.processor is not None and self.offloads is not None and self.offloads.takes(plan):
            raise PlusError(
                f"{plan.chain} is computed elsewhere, where nobody knows the area: subscribe "
                "without one"
            )
        asked.area = area

    def subscribe(
        self, plan: OperatorPlan, options: Options | None = None, area: AreaTest | None = None
    ) -> OperatorState:
        """The state for it, made if it is the first; `release` gives it back."""
        asked = settled(plan, options if options is not None else Options())
        key = _key(plan, asked, area)
        state = self.states.get(key)
        if state is None:
            state = self.states[key] = self._make_state(key, plan, asked, area)
        state.references += 1
        return state

    def count(self, name: str, plan: OperatorPlan, now: float) -> CountedWindows:
        """A state that only counts the windows of this plan, for somebody else; `release` ends it.
        The name is one that no other has."""
        assert plan.temporal is not None
        key = COUNTED + name
        state = CountedWindows(key, plan, self.services, plan.temporal, now)
        self.states[key] = state
        state.references += 1
        return state

    def note_values(self, name: str, plan: OperatorPlan) -> EnteredValues:
        """Likewise, one that only notes the last values that an aggregate over topics is of."""
        assert plan.spatial is not None
        key = COUNTED + name
        state = EnteredValues(key, plan, self.services, plan.spatial)
        self.states[key] = state
        state.references += 1
        return state

    def take_over(self, state: OffloadedState) -> OperatorState:
        """A state that computes what somebody else should, in its place."""
        options = read_key(state.key)[1]
        return self._replace(state, self._own_state(state.key, state.plan, options, None))

    def give_back(self, state: OperatorState) -> OffloadedState:
        """The other way round."""
        others = OffloadedState(state.key, state.plan, self.services)
        self._replace(state, others)
        return others

    def _replace(self, old: OperatorState, new: OperatorState) -> OperatorState:
        new.references = old.references
        self.states[old.key] = new
        old.released()
        self.services.unschedule(old)
        old.weigh(-old.held)
        return new

    def _make_state(
        self, key: str, plan: OperatorPlan, options: Options, area: AreaTest | None
    ) -> OperatorState:
        if area is None and self.offloads is not None and self.offloads.takes(plan):
            return OffloadedState(key, plan, self.services)
        return self._own_state(key, plan, options, area)

    def _own_state(
        self, key: str, plan: OperatorPlan, options: Options, area: AreaTest | None
    ) -> OperatorState:
        if not plan.has_steps():
            return self._make_core(key, plan, options, area)
        is_alone = plan.spatial is None and plan.temporal is None
        core = None if is_alone else self._make_core(key, plan, options, area)
        return StagedState(key, plan, self.services, core)

    def _make_core(
        self, key: str, plan: OperatorPlan, options: Options, area: AreaTest | None
    ) -> OperatorState:
        services, spatial, temporal = self.services, plan.spatial, plan.temporal
        named = options.names_participants
        if temporal is not None:
            window = temporal.window
            if isinstance(window, SessionWindow):
                return SessionState(key, plan, services, temporal)
            if isinstance(window, SlidingWindow):
                timed: TemporalState = SlidingState(key, plan, services, temporal, window, named)
            else:
                timed = TemporalState(key, plan, services, temporal, named)
            timed.require(options.least)
            return timed
        if (
            spatial is not None
            and area is not None
            and (area.changes or plan.processor is not None)
        ):
            located = LocatedSpatialState(key, plan, services, spatial, named, options.every, area)
            located.least = options.least
            return located
        if spatial is not None:
            over_topics = SpatialState(key, plan, services, spatial, named, options.every)
            over_topics.least = options.least
            return over_topics
        return FilterOperator(key, plan, services)

    def key(self, plan: OperatorPlan, options: Options, area: AreaTest | None = None) -> str:
        """Under which `states` has it, if it is there."""
        return _key(plan, settled(plan, options), area)

    def release(self, state: OperatorState) -> bool:
        """Whether it was the last holder, and the state is gone."""
        state.references -= 1
        if state.references:
            return False
        del self.states[state.key]
        state.released()
        self.services.unschedule(state)
        state.weigh(-state.held)
        return True

    def next_due(self) -> float:
        """When `tick` should be called; infinite if at no time."""
        return self.services.next_due()

    def clock_set(self, wall_offset: float, now: float) -> None:
        """The wall clock shows `wall_offset` more than `now` from here on."""
        if wall_offset != self.services.wall_offset:
            self.services.wall_offset = wall_offset
            for state in self.states.values():
                state.clock_set(now)

    def tick(self, now: float) -> list[tuple[OperatorState, OperatorResult]]:
        """Ends windows and sends what is owed. A state that fails does not stop the others."""
        if now < self._latest_tick:
            for state in self.states.values():
                state.clock_set(now)
        self._latest_tick = now
        results: list[tuple[OperatorState, OperatorResult]] = []
        due = self.services.take_due(now)
        while due is not None:
            try:
                found = due.tick(now)
                state = due if due.outer is None else due.outer
                for result in found if state is due else state.of_core(found, now):
                    results.append((state, result))
            except Exception as error:
                self.failed.append((due, error))
            due = self.services.take_due(now)
        return results

    def take_jobs(self) -> list[Job]:
        """The work that came up for processors; each must be answered with `processed`."""
        return self.services.jobs.take_new()

    def processed(
        self, job: Job, answer: bytes | None, now: float
    ) -> list[tuple[OperatorState, OperatorResult]]:
        """The answer to a job, None if it failed; it may release answers that came before it."""
        results: list[tuple[OperatorState, OperatorResult]] = []
        for ready in self.services.jobs.finish(job, answer):
            if ready.answer is None:
                self.services.skip(ready.trouble)
                continue
            asked = ready.publication
            # The answer is as old as the question: its validity was settled on arrival.
            valid_until = asked.valid_until(
                now, self.services.implicit_ttl, self.services.wall_offset
            )
            publication = Publication(asked.topic, ready.answer, valid_until)
            for key in ready.waiting:
                state = self.states.get(key)
                if state is None:
                    continue
                try:
                    for result in state.enter(publication, now):
                        results.append((state, result))
                except Exception as error:
                    self.failed.append((state, error))
        return results


_LEAST_MARK: Final = ":"


def _key(plan: OperatorPlan, options: Options, area: AreaTest | None) -> str:
    where = "" if area is None else f"{LOCATED_KEY}{area.key} "
    reply = "rpt" if options.names_participants else "skr"
    if options.least:
        reply += f"{_LEAST_MARK}{options.least}"
    return f"{where}{reply} {options.every!r} {plan.chain}/{plan.filter}"


def read_key(key: str) -> tuple[str, Options]:
    """The filter and the options that make this key, which may come from a store. ValueError for
    one with an area: that cannot be told from the key."""
    if key.startswith(LOCATED_KEY):
        raise ValueError("a subscription with an area")
    reply, _, rest = key.partition(" ")
    every, _, filter = rest.partition(" ")
    reply, _, least = reply.partition(_LEAST_MARK)
    return filter, Options(reply == "rpt", float(every), int(least) if least else 0)
