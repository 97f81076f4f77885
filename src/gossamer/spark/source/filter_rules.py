"""Rules in the option `filter`: which rows of the archive pass, judged by the broker's own code.

A rule looks at one message, so the executor that reads a range can judge it. Operators that need
several messages, or another payload, are not for a source of rows: `subscribe` has them.
"""

from collections.abc import Iterator

import pyarrow as pa

from gossamer.plus.grammar import is_operator_filter, parse
from gossamer.plus.plan import OperatorPlan
from gossamer.plus.publication import Publication
from gossamer.plus.rules import PASSES, Check, checks_of, judge_all
from gossamer.plus.vocabulary import Vocabulary
from gossamer.topics.names import matches

LOOKED_AT = ("topic", "payload")


def read_rules(filter: str) -> OperatorPlan:
    """Of an operator filter. Raises ValueError if it is more than rules."""
    try:
        plan = parse(filter, Vocabulary())
    except ValueError as problem:
        raise ValueError(f"{filter!r}: {problem}; {_way_out(filter)}") from None
    if plan.spatial is not None or plan.temporal is not None or plan.has_steps():
        raise ValueError(
            f"{filter!r} looks at several messages, and a source reads them one by one; "
            + _way_out(filter)
        )
    return plan


def _way_out(filter: str) -> str:
    return f"rules alone work here, everything in gossamer.spark.subscribe(spark, {filter!r}, …)"


def reads_of(filters: tuple[str, ...]) -> tuple[str, ...]:
    """The ordinary filters whose messages these need, each once."""
    found: dict[str, None] = {}
    for filter in filters:
        plan_reads = read_rules(filter).reads if is_operator_filter(filter) else (filter,)
        found.update(dict.fromkeys(plan_reads))
    return tuple(found)


class RowFilter:
    """A row passes if one of the filters matches its topic and, if it has rules, they all pass."""

    def __init__(self, filters: tuple[str, ...]) -> None:
        self._tests: list[tuple[str, list[Check]]] = []
        for filter in filters:
            if not is_operator_filter(filter):
                self._tests.append((filter, []))
                continue
            plan = read_rules(filter)
            self._tests += [(read, checks_of(plan.outer)) for read in plan.reads]
        self._by_topic: dict[str, list[list[Check]]] = {}

    def passing(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            topics, payloads = (batch.column(name).to_pylist() for name in LOOKED_AT)
            passed = [self._passes(*row) for row in zip(topics, payloads, strict=True)]
            if any(passed):
                yield batch.filter(pa.array(passed))

    def _passes(self, topic: str, payload: bytes) -> bool:
        alternatives = self._by_topic.get(topic)
        if alternatives is None:
            alternatives = [checks for read, checks in self._tests if matches(read, topic)]
            self._by_topic[topic] = alternatives
        message = Publication(topic, payload)
        return any(judge_all(checks, message) == PASSES for checks in alternatives)
