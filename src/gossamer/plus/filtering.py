"""Rules alone, with or without a processor: each publication passes or does not."""

from collections import OrderedDict

from gossamer.plus.nodes import Plan
from gossamer.plus.publication import TOPIC_TOO_LONG, Publication
from gossamer.plus.replies import fits
from gossamer.plus.rules import PASSES, SKIPPED, checks_of, judge_all
from gossamer.plus.state import OperatorState, Result, Services


class Filtering(OperatorState):
    """Remembers the last result of each topic while its value is valid, the newest topics first.

    Nothing of it is saved: publications that should outlast a restart are retained ones.
    """

    def __init__(self, key: str, plan: Plan, services: Services) -> None:
        super().__init__(key, plan, services)
        self.remembers = False
        self._prefix = plan.chain + "/"
        self._checks = checks_of(plan.outer)
        self._forwards = plan.processor is None
        self._last: OrderedDict[str, tuple[Result, float]] = OrderedDict()

    def enter(self, publication: Publication, now: float) -> list[Result]:
        result = self.judge(publication)
        if result is None:
            return []
        self._remember(publication, result, now)
        return [result]

    def judge(self, publication: Publication) -> Result | None:
        """The result, without remembering it: for messages that were retained."""
        verdict = judge_all(self._checks, publication)
        if verdict != PASSES:
            if verdict == SKIPPED:
                self.services.skip(publication.trouble)
            return None
        topic = self._prefix + publication.topic
        if not fits(topic):
            self.services.skip(TOPIC_TOO_LONG)
            return None
        return Result(topic, publication.payload, self._forwards)

    def last_results(self, now: float) -> list[Result]:
        return [result for result, valid_until in self._last.values() if valid_until > now]

    def part(self, name: str) -> bytes | None:
        return None

    def restore(self, parts: list[tuple[str, bytes]], now: float) -> None:
        """Nothing was saved."""

    def _remember(self, publication: Publication, result: Result, now: float) -> None:
        limits = self.services.limits
        last = self._last
        if len(result.payload) > limits.last_result_bytes:
            last.pop(publication.topic, None)
            return
        last[publication.topic] = (result, self.valid_until(publication, now))
        last.move_to_end(publication.topic)
        if len(last) > limits.last_results:
            last.popitem(last=False)
