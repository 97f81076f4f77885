"""Rules alone, with or without a processor: each publication passes or does not."""

from collections import OrderedDict

from gossamer.plus.limits import topic_bytes
from gossamer.plus.plan import OperatorPlan
from gossamer.plus.publication import TOPIC_TOO_LONG, Publication
from gossamer.plus.result_topics import ResultAddress, fits
from gossamer.plus.rules import PASSES, SKIPPED, checks_of, judge_all
from gossamer.plus.state import OperatorResult, OperatorState, Services


class LastResults:
    """The last results of an operator that keeps no values, for those who subscribe later.

    A cache by topic, the newest last, bounded in topics and in bytes: without room, the oldest of
    the same operator goes.
    """

    __slots__ = ("_results",)

    def __init__(self) -> None:
        self._results: OrderedDict[str, tuple[OperatorResult, float]] = OrderedDict()

    def put(
        self, state: OperatorState, topic: str, result: OperatorResult, valid_until: float
    ) -> None:
        """In place of the one that the topic had; one that is too large is not kept.

        What it costs is charged to the state, which has these results.
        """
        self._remove(state, topic)
        limits = state.services.limits
        size = _size_of(topic, result)
        account = state.services.account
        if len(result.payload) > limits.last_result_bytes or size > account.client_most:
            return
        while self._results and (
            len(self._results) >= limits.last_results
            or state.held + size > account.client_most
            or account.held + size > account.budget
        ):
            self._remove(state, next(iter(self._results)))
            account.evicted += 1
        if limits.last_results and account.held + size <= account.budget:
            self._results[topic] = (result, valid_until)
            state.weigh(size)

    def valid(self, now: float) -> list[OperatorResult]:
        return [result for result, valid_until in self._results.values() if valid_until > now]

    def _remove(self, state: OperatorState, topic: str) -> None:
        known = self._results.pop(topic, None)
        if known is not None:
            state.weigh(-_size_of(topic, known[0]))


def _size_of(topic: str, result: OperatorResult) -> int:
    return topic_bytes(topic) + len(result.payload)


class FilterOperator(OperatorState):
    """Remembers the last result of each topic while its value is valid, the newest topics first.

    Nothing of it is saved: publications that should outlast a restart are retained ones.
    """

    def __init__(self, key: str, plan: OperatorPlan, services: Services) -> None:
        super().__init__(key, plan, services)
        self.remembers = False
        self._address = ResultAddress(plan)
        self._checks = checks_of(plan.outer)
        self._forwards = plan.processor is None
        self._last = LastResults()

    def enter(self, publication: Publication, now: float) -> list[OperatorResult]:
        result = self.judge(publication)
        if result is None:
            return []
        self._last.put(self, publication.topic, result, self.valid_until(publication, now))
        return [result]

    def judge(self, publication: Publication) -> OperatorResult | None:
        """The result, without remembering it: for messages that were retained."""
        verdict = judge_all(self._checks, publication)
        if verdict != PASSES:
            if verdict == SKIPPED:
                self.services.skip(publication.trouble)
            return None
        topic = self._address.of(publication.topic)
        if not fits(topic):
            self.services.skip(TOPIC_TOO_LONG)
            return None
        return OperatorResult(topic, publication.payload, self._forwards)

    def last_results(self, now: float) -> list[OperatorResult]:
        return self._last.valid(now)
