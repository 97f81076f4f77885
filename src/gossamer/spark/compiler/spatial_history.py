"""Aggregates over the topics of a history: the broker's own state, once through the messages.

Time is cut into stretches. Each is gone through in order by one task, which begins with the values
that were valid when the stretch began; built-in functions find those. So a result costs what its
message costs, however many topics take part in it. (Of a stream, `spatial_stream.py` computes the
same.)
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from gossamer.plus.grammar import parse
from gossamer.plus.limits import OperatorLimits
from gossamer.plus.operators.kinds import ProcessorKind
from gossamer.plus.plan import OperatorPlan
from gossamer.plus.publication import Publication
from gossamer.plus.rules import PASSES, SKIPPED
from gossamer.plus.spatial import SpatialState
from gossamer.plus.state import SAVED_VERSION, Services
from gossamer.plus.vocabulary import Vocabulary
from gossamer.spark.compiler.expressions import verdict
from gossamer.spark.compiler.payloads import name_of, read
from gossamer.spark.compiler.spatial_stream import outside_in
from gossamer.spark.compiler.values import read_number, seconds, valid_until
from gossamer.spark.fences.fence import OUTSIDE

# Of so many stretches is the implicit validity: a value that is not renewed is carried into each.
_STRETCHES: Final = 4
_MICROSECONDS: Final = 1_000_000
_ORDER: Final = ("time", "broker", "offset")
_RESULT: Final = pa.schema(
    [
        ("micros", pa.int64()),
        ("broker", pa.string()),
        ("offset", pa.int64()),
        ("topic", pa.string()),
        ("payload", pa.binary()),
    ]
)
# A history may have more topics than a broker keeps values of: the executor's memory is the limit.
_TOPICS: Final = 1 << 40


def spatial_results(
    frame: DataFrame, plan: OperatorPlan, names_participants: bool, implicit_ttl: float
) -> DataFrame:
    width = max(implicit_ttl / _STRETCHES, 1.0)
    expires = valid_until(implicit_ttl).alias("expires")
    stretch = _stretch(seconds(F.col("time")), width)
    messages = frame.select(stretch, *_ORDER, "topic", "payload", expires, outside_in(frame))
    carried = _carried(frame, plan, expires, width)
    rows = messages.unionByName(carried, allowMissingColumns=True)
    ordered = rows.repartition("stretch").sortWithinPartitions(
        "stretch", F.col("carried").isNull(), *_ORDER
    )
    processor = plan.processor.keyword if plan.processor is not None else ""
    operator = _Operator(f"{plan.chain}/{plan.filter}", processor, names_participants)

    def go_through(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        run = _Run(operator, width)
        return (run.results(batch) for batch in batches)

    micros = F.unix_micros("time").alias("micros")
    needed = ordered.select(
        "stretch", micros, "broker", "offset", "topic", "payload", "expires", "carried", OUTSIDE
    )
    results = needed.mapInArrow(go_through, from_arrow_schema(_RESULT))
    # Several results may have one time: what comes after them needs their order.
    more = ("broker", "offset") if plan.after else ()
    return results.select(
        F.timestamp_micros("micros").alias("time"),
        "topic",
        "payload",
        read_number(F.col("payload").cast("string")).alias("value"),
        *more,
    )


def _carried(frame: DataFrame, plan: OperatorPlan, expires: Column, width: float) -> DataFrame:
    """The values that take part, once for each stretch that begins while they do."""
    spatial = plan.spatial
    assert spatial is not None
    read_frame, readings = read(frame, [spatial.field, *(rule.field for rule in plan.inner)])
    number = readings[name_of(spatial.field)].number
    judged = read_frame.select(
        *_ORDER,
        "topic",
        number.alias("carried"),
        verdict(plan.inner, readings).alias("verdict"),
        expires,
        outside_in(frame),
    )
    # Who publishes outside the area takes part no more, whatever that is.
    is_known = (F.col("verdict") != SKIPPED) & F.col("carried").isNotNull()
    known = judged.where(F.col(OUTSIDE) | is_known)
    line = Window.partitionBy("topic").orderBy(*_ORDER)
    followed = known.withColumn("next", F.lead("time").over(line))
    values = followed.where(~F.col(OUTSIDE) & (F.col("verdict") == PASSES))
    last = F.broadcast(frame.agg(F.max("time").alias("last")))
    ends = F.least(F.col("expires"), seconds(F.col("next")), seconds(F.col("last")))
    begins = F.floor(seconds(F.col("time")) / width) + 1
    until = F.floor(ends / width)
    stretches = F.when(begins <= until, F.sequence(begins, until))
    return values.crossJoin(last).select(
        F.explode(stretches).alias("stretch"), *_ORDER, "topic", "carried", "expires"
    )


def _stretch(now: Column, width: float) -> Column:
    return F.floor(now / width).alias("stretch")


class _Operator(NamedTuple):
    """What executors need to make the state anew."""

    filter: str
    processor: str
    names_participants: bool

    def state(self) -> SpatialState:
        kinds = [ProcessorKind(self.processor, "", "value")] if self.processor else []
        plan = parse(self.filter, Vocabulary(processors=kinds))
        assert plan.spatial is not None
        services = Services(limits=OperatorLimits(topics=_TOPICS))
        named = self.names_participants
        return SpatialState(self.filter, plan, services, plan.spatial, named, 0.0)


class _Run:
    """Through the rows of a partition: of each stretch what was carried into it, then messages."""

    def __init__(self, operator: _Operator, width: float) -> None:
        self._operator = operator
        self._width = width
        self._stretch: int | None = None
        self._carried: list[tuple[str, bytes]] = []
        self._state: SpatialState | None = None  # None until the stretch's first message

    def results(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        found: list[tuple[int, str | None, int | None, str, bytes]] = []
        columns = (column.to_pylist() for column in batch.columns)
        for stretch, micros, broker, offset, topic, payload, expires, carried, is_outside in zip(
            *columns, strict=True
        ):
            if stretch != self._stretch:
                self._stretch, self._carried, self._state = stretch, [], None
            if carried is not None:
                saved = [SAVED_VERSION, carried, expires, len(self._carried) + 1]
                self._carried.append((topic, json.dumps(saved).encode()))
                continue
            state, now = self._running(), micros / _MICROSECONDS
            if is_outside:
                results = state.leave(topic, now)
            else:
                results = state.enter(Publication(topic, payload, expires), now)
            found += [(micros, broker, offset, one.topic, one.payload) for one in results]
        made: Any = zip(*found, strict=True) if found else [[] for _ in _RESULT]
        arrays = [
            pa.array(list(values), field.type) for values, field in zip(made, _RESULT, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=_RESULT)

    def _running(self) -> SpatialState:
        if self._state is None:
            assert self._stretch is not None
            self._state = self._operator.state()
            self._state.restore(self._carried, self._stretch * self._width)
        return self._state
