"""Aggregates over topics, of a stream: the broker's own state, kept by Spark between batches.

Spark has no built-in function for "the last value of each of many topics", so this one case runs
the broker's code on the executor that holds the state. Within a batch the messages are taken in
the order of their time; from batch to batch, as they come.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Final

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from gossamer.plus.engine import Engine
from gossamer.plus.operators.kinds import Options, ProcessorKind
from gossamer.plus.plan import OperatorPlan
from gossamer.plus.publication import Publication
from gossamer.plus.state import OperatorResult, OperatorState
from gossamer.plus.vocabulary import Vocabulary
from gossamer.spark.compiler.values import read_number, valid_until
from gossamer.spark.fences.fence import OUTSIDE

_MICROSECONDS: Final = 1_000_000
_RESULT: Final = "micros bigint, topic string, payload binary"
_STATE: Final = "parts string"


def streamed_spatial_results(
    frame: DataFrame, plan: OperatorPlan, names_participants: bool, implicit_ttl: float
) -> DataFrame:
    processor = plan.processor.keyword if plan.processor is not None else ""
    subscription = (f"{plan.chain}/{plan.filter}", processor, names_participants, implicit_ttl)

    def advance(
        key: tuple[int], batches: Iterable[pd.DataFrame], kept: GroupState
    ) -> Iterator[pd.DataFrame]:
        return _advanced(subscription, batches, kept)

    events = frame.select(
        F.lit(0).alias("all"),
        F.unix_micros("time").alias("micros"),
        "broker",
        "offset",
        "topic",
        "payload",
        valid_until(implicit_ttl).alias("expires"),
        outside_in(frame),
    )
    results = events.groupBy("all").applyInPandasWithState(
        advance, _RESULT, _STATE, "append", GroupStateTimeout.NoTimeout
    )
    text = F.col("payload").cast("string")
    return results.select(
        F.timestamp_micros("micros").alias("time"),
        "topic",
        "payload",
        read_number(text).alias("value"),
    )


def outside_in(frame: DataFrame) -> Column:
    """Whether a message is outside the area of the subscription, if it has one."""
    found = F.col(OUTSIDE) if OUTSIDE in frame.columns else F.lit(False)
    return found.alias(OUTSIDE)


def _advanced(
    subscription: tuple[str, str, bool, float], batches: Iterable[pd.DataFrame], kept: GroupState
) -> Iterator[pd.DataFrame]:
    messages = pd.concat(list(batches)).sort_values(["micros", "broker", "offset"], kind="stable")
    state = _state(*subscription)
    parts: dict[str, str] = json.loads(kept.get[0]) if kept.exists else {}
    begin = int(messages["micros"].iloc[0]) / _MICROSECONDS
    state.restore([(topic, part.encode()) for topic, part in parts.items()], begin)
    found: list[tuple[int, OperatorResult]] = []
    names = ("micros", "topic", "payload", "expires", OUTSIDE)
    columns = (messages[name] for name in names)
    for micros, topic, payload, expires, is_outside in zip(*columns, strict=True):
        now = micros / _MICROSECONDS
        if is_outside:
            results = state.leave(topic, now)
        else:
            results = state.enter(Publication(topic, bytes(payload), expires), now)
        found += [(micros, result) for result in results]
    for topic, part in state.take_changes():
        if part is None:
            parts.pop(topic, None)
        else:
            parts[topic] = part.decode()
    kept.update((json.dumps(parts),))
    yield pd.DataFrame(
        {
            "micros": pd.Series([micros for micros, _ in found], dtype="int64"),
            "topic": [result.topic for _, result in found],
            "payload": [result.payload for _, result in found],
        }
    )


def _state(
    filter: str, processor: str, names_participants: bool, implicit_ttl: float
) -> OperatorState:
    kinds = [ProcessorKind(processor, "", "value")] if processor else []
    engine = Engine(Vocabulary(processors=kinds), implicit_ttl)
    engine.services.saves = True
    return engine.subscribe(engine.parse(filter), Options(names_participants))
