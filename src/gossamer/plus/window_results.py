"""What becomes of the values that topics had in a window of time: a result each, or one of all."""

from gossamer.plus.plan import OperatorPlan, SpatialNode, TemporalNode
from gossamer.plus.publication import OVERFLOW, TOPIC_TOO_LONG
from gossamer.plus.registry import AGGREGATES
from gossamer.plus.result_topics import ReplyTopic, ResultAddress, fits
from gossamer.plus.rules import admits_all, checks_of
from gossamer.plus.state import OperatorResult, Services
from gossamer.plus.values import INFINITY


class WindowResults:
    """Each topic's, on its own topic."""

    def __init__(self, plan: OperatorPlan, services: Services, temporal: TemporalNode) -> None:
        self.plan = plan
        self.services = services
        self.outer = checks_of(plan.outer)
        self.least = 0  # topics that must take part where they are folded
        self._address = ResultAddress(plan)
        self._write = AGGREGATES[temporal.function].write

    def of(self, values: list[tuple[str, float]]) -> list[OperatorResult]:
        results: list[OperatorResult] = []
        for topic, value in values:
            address = self._address.of(topic)
            if not fits(address):
                self.services.skip(TOPIC_TOO_LONG)
            elif admits_all(self.outer, value):
                results.append(OperatorResult(address, self._write(value)))
        return results


class FoldedResults(WindowResults):
    """The topics' values, those that pass the inner rules, folded into one."""

    def __init__(
        self,
        plan: OperatorPlan,
        services: Services,
        temporal: TemporalNode,
        spatial: SpatialNode,
        names_participants: bool,
    ) -> None:
        super().__init__(plan, services, temporal)
        self._fold = AGGREGATES[spatial.function]
        self._inner = checks_of(plan.inner)
        self._names_participants = names_participants

    def of(self, values: list[tuple[str, float]]) -> list[OperatorResult]:
        aggregate = self._fold.moving()
        reply = ReplyTopic(self.plan, self._names_participants)
        taking_part = 0
        # They all end at once, so FIRST and LAST go by the topics' names.
        for topic, value in sorted(values):
            if admits_all(self._inner, value):
                taking_part += 1
                aggregate.add(value, taking_part)
                reply.join(topic)
        if not taking_part or taking_part < self.least:
            return []
        folded = aggregate.result()
        if abs(folded) == INFINITY:
            self.services.skip(OVERFLOW)
            return []
        if not admits_all(self.outer, folded):
            return []
        result = OperatorResult(reply.topic(), self._fold.write(folded))
        result.user = reply.properties()
        return [result]


def window_results(
    plan: OperatorPlan, services: Services, temporal: TemporalNode, names_participants: bool
) -> WindowResults:
    if plan.spatial is None:
        return WindowResults(plan, services, temporal)
    return FoldedResults(plan, services, temporal, plan.spatial, names_participants)
