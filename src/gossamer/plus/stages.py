"""Sequences of steps, around an aggregate or alone: what happens to a publication on its way.

Steps before the aggregate see what is published and those after it see its results; without one,
what has passed all steps goes to the subscriber.
"""

from typing import Final

from gossamer.plus.filter_operator import LastResults
from gossamer.plus.plan import GroupNode, OperatorPlan, RuleNode, SequenceNode, StepNode
from gossamer.plus.publication import TOPIC_TOO_LONG, Publication
from gossamer.plus.registry import GROUPS, SEQUENCES
from gossamer.plus.result_topics import ResultAddress, fits
from gossamer.plus.rules import PASSES, SKIPPED, Check
from gossamer.plus.sequence import Step
from gossamer.plus.state import OperatorResult, OperatorState, Services
from gossamer.plus.values import INFINITY

# What parts are named by, with a digit: no topic's name begins so, and no pane's of a window.
BEFORE: Final = "#"
AFTER: Final = "+"
_DIGITS: Final = "0123456789abcdef"


class RuleStep(Step):
    def __init__(self, rule: RuleNode) -> None:
        super().__init__()
        self._check = Check(rule)

    def take(
        self, owner: OperatorState, publication: Publication, now: float
    ) -> Publication | None:
        verdict = self._check.judge(publication)
        if verdict == SKIPPED:
            owner.services.skip(publication.trouble)
        return publication if verdict == PASSES else None


class StepLine:
    """Steps one after the other. `where` names their parts, with the number of each."""

    def __init__(self, nodes: tuple[StepNode, ...], where: str) -> None:
        self._where = where
        # Innermost first: the order in which a publication meets them.
        self._steps = [
            _step(node, where + _DIGITS[number]) for number, node in enumerate(reversed(nodes))
        ]
        self._timed = [step for step in self._steps if step.is_timed]
        self.forwards = True
        for step in self._steps:
            self.forwards = self.forwards and step.forwards

    def due(self) -> float:
        due = INFINITY
        for step in self._timed:
            due = min(due, step.due)
        return due

    def take(
        self, owner: OperatorState, publication: Publication, now: float
    ) -> Publication | None:
        return self._from(0, owner, publication, now)

    def tick(self, owner: OperatorState, now: float) -> list[Publication]:
        found: list[Publication] = []
        for at, step in enumerate(self._steps):
            if step.due > now:
                continue
            for late in step.tick(owner, now):
                last = self._from(at + 1, owner, late, now)
                if last is not None:
                    found.append(last)
        return found

    def begin(self, owner: OperatorState, topics: list[str], now: float) -> None:
        for step in self._steps:
            step.begin(owner, topics, now)

    def clock_set(self, now: float) -> None:
        for step in self._steps:
            step.clock_set(now)

    def part(self, name: str) -> bytes | None:
        step = self._named(name)
        return None if step is None else step.part(name[2:])

    def restore(self, owner: OperatorState, name: str, part: bytes, now: float) -> None:
        """A part that cannot be read is left out."""
        step = self._named(name)
        try:
            if step is None:
                raise ValueError("no such step")
            step.restore(owner, name[2:], part, now)
        except (ValueError, TypeError, IndexError):
            owner.mark(name)

    def _named(self, name: str) -> Step | None:
        number = _DIGITS.find(name[1:2]) if len(name) > 1 else -1
        return self._steps[number] if 0 <= number < len(self._steps) else None

    def _from(
        self, first: int, owner: OperatorState, publication: Publication, now: float
    ) -> Publication | None:
        for at in range(first, len(self._steps)):
            found = self._steps[at].take(owner, publication, now)
            if found is None:
                return None
            publication = found
        return publication


class StagedState(OperatorState):
    """`core` is the aggregate, None where there is none; it goes on in the name of this one.

    Results are remembered for those who subscribe later, as a rule's are; of an aggregate with
    nothing after it, the aggregate does that.
    """

    def __init__(
        self, key: str, plan: OperatorPlan, services: Services, core: OperatorState | None
    ) -> None:
        super().__init__(key, plan, services)
        self._core = core
        if core is not None:
            core.outer = self
        self._before = StepLine(plan.before, BEFORE)
        self._after = StepLine(plan.after, AFTER)
        self._address = ResultAddress(plan)
        self._forwards = plan.processor is None and self._before.forwards
        self._last = LastResults()

    def begin(self, now: float) -> None:
        self._before.begin(self, self.plan.named_topics(), now)
        self._expect()

    def enter(self, publication: Publication, now: float) -> list[OperatorResult]:
        results: list[OperatorResult] = []
        if self.due <= now:
            results = self.tick(now)  # what is due comes before what is published now
        found = self._before.take(self, publication, now)
        if found is not None:
            results += self._within(found, now, self._forwards)
        self._expect()
        return results

    def leave(self, topic: str, now: float) -> list[OperatorResult]:
        return [] if self._core is None else self.of_core(self._core.leave(topic, now), now)

    def aggregate(self) -> OperatorState | None:
        return self._core

    def tick(self, now: float) -> list[OperatorResult]:
        results: list[OperatorResult] = []
        for late in self._before.tick(self, now):
            results += self._within(late, now, False)
        for late in self._after.tick(self, now):
            results.append(self._remembered(late, now))
        self._expect()
        return results

    def of_core(self, results: list[OperatorResult], now: float) -> list[OperatorResult]:
        """What its subscribers get of them."""
        if not self.plan.after:
            return results
        found: list[OperatorResult] = []
        for result in results:
            publication = Publication(result.topic, result.payload)
            last = self._after.take(self, publication, now)
            if last is not None:
                found.append(self._remembered(last, now))
                if last is publication:
                    found[-1].user = result.user
        self._expect()
        return found

    def last_results(self, now: float) -> list[OperatorResult]:
        if self._core is not None and not self.plan.after:
            return self._core.last_results(now)
        return self._last.valid(now)

    def clock_set(self, now: float) -> None:
        self._before.clock_set(now)
        self._after.clock_set(now)
        self._expect()
        if self._core is not None:
            self._core.clock_set(now)

    def released(self) -> None:
        core = self._core
        if core is not None:
            core.released()
            core.outer = None
            self.services.unschedule(core)
            core.weigh(-core.held)

    def part(self, name: str) -> bytes | None:
        line = self._line_of(name)
        if line is not None:
            return line.part(name)
        return self._core.part(name) if self._core is not None else None

    def restore(self, parts: list[tuple[str, bytes]], now: float) -> None:
        of_core: list[tuple[str, bytes]] = []
        for name, part in parts:
            line = self._line_of(name)
            if line is not None:
                line.restore(self, name, part, now)
            else:
                of_core.append((name, part))
        if self._core is not None:
            self._core.restore(of_core, now)
        self._expect()

    def _line_of(self, name: str) -> StepLine | None:
        """Whose part has this name; None for the aggregate's."""
        if len(name) > 1 and name[1] in _DIGITS:
            if name[0] == BEFORE:
                return self._before
            if name[0] == AFTER:
                return self._after
        return None

    def _within(self, publication: Publication, now: float, forwards: bool) -> list[OperatorResult]:
        """What has passed the steps before the aggregate."""
        if self._core is not None:
            return self.of_core(self._core.enter(publication, now), now)
        topic = self._address.of(publication.topic)
        if not fits(topic):
            self.services.skip(TOPIC_TOO_LONG)
            return []
        result = OperatorResult(topic, publication.payload, forwards)
        self._last.put(self, publication.topic, result, self.valid_until(publication, now))
        return [result]

    def _remembered(self, publication: Publication, now: float) -> OperatorResult:
        result = OperatorResult(publication.topic, publication.payload)
        self._last.put(self, publication.topic, result, INFINITY)
        return result

    def _expect(self) -> None:
        due = min(self._before.due(), self._after.due())
        if due == self.due:
            return
        if due == INFINITY:
            self.services.unschedule(self)
        else:
            self.services.schedule(self, due)


def _step(node: StepNode, mark: str) -> Step:
    if isinstance(node, GroupNode):
        return GROUPS[node.keyword].make(node.field)
    if isinstance(node, SequenceNode):
        return SEQUENCES[node.keyword].make(mark, node.field, node.amount)
    assert isinstance(node, RuleNode)
    return RuleStep(node)
