"""The last results of an operator that keeps no values, for those who subscribe later.

A cache, bounded in topics and in bytes: without room, the oldest of the same operator goes.
"""

from collections import OrderedDict

from gossamer.plus.limits import topic_bytes
from gossamer.plus.state import OperatorResult, OperatorState


class LastResults:
    """By topic, the newest last."""

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
