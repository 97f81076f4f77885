"""Sequences: the broker's own steps, run on the executor that has all messages of a topic.

Each topic is followed by itself, so that topics are the groups. Of a history, what falls due after
its last message is not in it. Of a stream, Spark keeps what the steps remember, and what falls due
is given once the watermark has passed it.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from gossamer.plus.grammar import parse
from gossamer.plus.operators.kinds import ProcessorKind
from gossamer.plus.operators.windows import Window
from gossamer.plus.plan import OperatorPlan, PlusError, StepNode
from gossamer.plus.publication import TTL_PROPERTY, Publication
from gossamer.plus.stages import BEFORE, StepLine
from gossamer.plus.state import OperatorState, Services
from gossamer.plus.values import INFINITY
from gossamer.plus.vocabulary import Vocabulary
from gossamer.wire.properties import Properties

_MICROSECONDS: Final = 1_000_000
_ROW: Final = (
    "micros bigint, broker string, offset bigint, topic string, payload binary, expiry bigint, "
    "ttl string"
)
_STATE: Final = "parts string, latest bigint"
# What is valid for ever is valid until then.
_LAST_TIME: Final = "9999-12-31T23:59:59Z"


class _Row(NamedTuple):
    micros: int
    broker: str | None
    offset: int | None
    topic: str
    payload: bytes
    expiry: int | None
    ttl: str | None


class _Sequence(NamedTuple):
    """What executors need to read the steps anew: the core's plans, compiled, are not pickled.

    Of a window, steps need only what its keyword means: others compute it.
    """

    filter: str
    window: tuple[str, float] | None
    processor: str
    is_after: bool

    def steps(self, plan: OperatorPlan) -> tuple[StepNode, ...]:
        return plan.after if self.is_after else plan.before


def followed(
    frame: DataFrame, plan: OperatorPlan, watermark: str, *, is_after: bool = False
) -> DataFrame:
    """What the steps before or after an aggregate make of a frame of topics, payloads, times, and
    what orders and dates them."""
    window = plan.temporal.window if plan.temporal is not None else None
    sequence = _Sequence(
        f"{plan.chain}/{plan.filter}",
        (window.keyword, window.seconds) if window is not None else None,
        plan.processor.keyword if plan.processor is not None else "",
        is_after,
    )
    if not sequence.steps(plan):
        return frame
    if frame.isStreaming:
        if plan.spatial is not None or plan.temporal is not None:
            raise PlusError(
                f"{plan.chain}: sequences around or inside an aggregate are computed over a "
                "history; Spark follows no stream through two states"
            )
        frame = frame.withWatermark("time", watermark)
    rows = frame.select(
        "time",
        F.unix_micros("time").alias("micros"),
        "broker",
        "offset",
        "topic",
        "payload",
        "expiry",
        F.try_element_at("user_properties", F.lit(TTL_PROPERTY)).alias("ttl"),
    )
    if frame.isStreaming:
        made = _of_stream(rows, sequence)
    else:
        made = _of_history(rows, sequence)
    return made.select(
        F.timestamp_micros("micros").alias("time"),
        "broker",
        "offset",
        "topic",
        "payload",
        "expiry",
        F.when(F.col("ttl").isNotNull(), F.create_map(F.lit(TTL_PROPERTY), F.col("ttl"))).alias(
            "user_properties"
        ),
    )


def _of_history(rows: DataFrame, sequence: _Sequence) -> DataFrame:
    def follow(group: pd.DataFrame) -> pd.DataFrame:
        follower = _Follower(sequence)
        found = follower.take(group)
        return _frame([*found, *follower.tick(int(group["last"].iloc[0]))])

    last = rows.agg(F.max("micros").alias("last"))
    return rows.crossJoin(F.broadcast(last)).groupBy("topic").applyInPandas(follow, _ROW)


def _of_stream(rows: DataFrame, sequence: _Sequence) -> DataFrame:
    def advance(
        key: tuple[str], batches: Iterable[pd.DataFrame], kept: GroupState
    ) -> Iterator[pd.DataFrame]:
        follower = _Follower(sequence)
        if kept.exists:
            follower.resume(*kept.get)
        if kept.hasTimedOut:
            found = follower.tick(kept.getCurrentWatermarkMs() * 1000)
        else:
            found = follower.take(pd.concat(list(batches)))
        kept.update(follower.saved())
        due = follower.due_milliseconds()
        if due is not None:
            kept.setTimeoutTimestamp(max(due, kept.getCurrentWatermarkMs() + 1))
        yield _frame(found)

    return rows.groupBy("topic").applyInPandasWithState(
        advance, _ROW, _STATE, "append", GroupStateTimeout.EventTimeTimeout
    )


class _Follower:
    """The steps of one topic, with the time of the latest message."""

    def __init__(self, sequence: _Sequence) -> None:
        plan = _plan_of(sequence)
        services = Services()
        services.saves = True
        self._owner = OperatorState("", plan, services)
        self._line = StepLine(sequence.steps(plan), BEFORE)
        self._latest = 0
        self._parts: dict[str, str] = {}

    def take(self, group: pd.DataFrame) -> list[_Row]:
        ordered = group.sort_values(["micros", "broker", "offset"], kind="stable")
        columns = [ordered[name].tolist() for name in _Row._fields]
        found: list[_Row] = []
        for values in zip(*columns, strict=True):
            row = _Row._make([None if pd.isna(value) else value for value in values])
            # A message that is late is taken as if it had come with the one before it.
            self._latest = max(self._latest, row.micros)
            found += self.tick(self._latest)
            made = self._line.take(self._owner, _publication(row), self._latest / _MICROSECONDS)
            if made is not None:
                found.append(_made(row, made, self._latest))
        return found

    def tick(self, until: int) -> list[_Row]:
        """What falls due by then, each at its time."""
        found: list[_Row] = []
        while self._line.due() <= until / _MICROSECONDS:
            due = self._line.due()
            micros = round(due * _MICROSECONDS)
            found += [_late(made, micros) for made in self._line.tick(self._owner, due)]
        return found

    def due_milliseconds(self) -> int | None:
        due = self._line.due()
        return None if due == INFINITY else int(due * 1000) + 1

    def resume(self, parts: str, latest: int) -> None:
        self._parts = json.loads(parts)
        self._latest = latest
        for name, part in self._parts.items():
            self._line.restore(self._owner, name, part.encode(), latest / _MICROSECONDS)
        self._owner.changed.clear()

    def saved(self) -> tuple[str, int]:
        for name in self._owner.changed:
            part = self._line.part(name)
            if part is None:
                self._parts.pop(name, None)
            else:
                self._parts[name] = part.decode()
        self._owner.changed.clear()
        return json.dumps(self._parts), self._latest


@lru_cache(maxsize=256)
def _plan_of(sequence: _Sequence) -> OperatorPlan:
    """Read once in each worker, not for each topic."""
    windows = [] if sequence.window is None else [Window(*sequence.window)]
    kinds = [ProcessorKind(sequence.processor, "", "value")] if sequence.processor else []
    return parse(sequence.filter, Vocabulary(windows, kinds))


def _publication(row: _Row) -> Publication:
    properties = Properties()
    if row.ttl is not None:
        properties.user = [(TTL_PROPERTY, row.ttl)]
    expires_at = 0.0 if row.expiry is None else row.micros / _MICROSECONDS + row.expiry
    return Publication(row.topic, bytes(row.payload), expires_at, properties)


def _made(row: _Row, made: Publication, micros: int) -> _Row:
    """In place of the message, and valid as long, unless it is valid for ever."""
    if made.expires_at == INFINITY:
        return _late(made, micros)._replace(broker=row.broker, offset=row.offset)
    return row._replace(micros=micros, topic=made.topic, payload=made.payload)


def _late(made: Publication, micros: int) -> _Row:
    ttl = None
    if made.expires_at == INFINITY:
        ttl = _LAST_TIME
    elif made.expires_at > 0.0:
        ends = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=made.expires_at)
        ttl = ends.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    # Before what is published at that time, and by their names: brokers' have no such character.
    return _Row(micros, f"\0{made.topic}", 0, made.topic, made.payload, None, ttl)


def _frame(rows: list[_Row]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(_Row._fields), dtype="object")
    for name in ("micros", "offset", "expiry"):
        frame[name] = frame[name].astype("Int64")
    return frame
