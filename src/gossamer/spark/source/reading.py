"""`read`: a history as one frame, sealed segments by Spark's own Parquet reader and the rest from
the brokers.

What the frame has is settled when it is made: offsets of each broker, and files. A segment that is
sealed later changes nothing; its rows come from the broker, by their offsets.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from gossamer.archive.schema import SCHEMA, projection
from gossamer.archive.segment_files import AUTO, NEVER, SegmentFile
from gossamer.plus.grammar import is_operator_filter
from gossamer.plus.rules import PASSES
from gossamer.spark.compiler.expressions import verdict
from gossamer.spark.compiler.payloads import read as read_payloads
from gossamer.spark.compiler.topics import matches
from gossamer.spark.data_source import register
from gossamer.spark.source.archives import Replay, find_replays
from gossamer.spark.source.filter_rules import read_rules
from gossamer.spark.source.source_options import (
    EARLIEST,
    LATEST,
    WARN,
    Position,
    SourceOptions,
    read_source_options,
)

_MASTER: Final = "spark.master"
# A path with one of these would be a pattern to Spark.
_OF_PATTERNS: Final = frozenset("*?[]{}\\")

Reaches = Callable[[SegmentFile], bool]


def read(
    spark: SparkSession,
    *,
    brokers: str,
    filter: str = "#",
    starting: str = EARLIEST,
    ending: str = LATEST,
    files: str = AUTO,
    **options: str,
) -> DataFrame:
    """The archived messages of these brokers, each once, as the format "gossamer" has them.

    Sealed segments are read as Parquet files where the brokers name them, which is only to a login
    that may read everything, and where Spark reaches them: with `files="auto"` the files of brokers
    on this machine, for a Spark that runs on it alone. Elsewhere `files` is the folder or the URI
    below which executors find the brokers' folders; "never" takes no files. `options` are those of
    the format. Raises ValueError, SourceError.
    """
    register(spark)
    given = {**options, "brokers": brokers, "filter": filter, "files": files}
    asked = read_source_options({**given, "starting": starting, "ending": ending})
    reaches = _reaching(spark, asked)
    replays = find_replays(asked, files=True).values()
    plans = [_planned(replay, asked, reaches) for replay in replays]
    frames = [_scan(spark, plan, asked) for plan in plans if plan.files]
    if not frames or any(plan.sealed_end < plan.end for plan in plans):
        given["starting"] = json.dumps({plan.broker: plan.sealed_end for plan in plans})
        given["ending"] = json.dumps({plan.broker: plan.end for plan in plans})
        frames.append(spark.read.format("gossamer").options(**given).load())
    return reduce(DataFrame.union, frames)


@dataclass(frozen=True)
class _Plan:
    """What is read of one broker: files up to `sealed_end`, and by offset from there on."""

    broker: str
    start: int
    sealed_end: int
    end: int
    files: tuple[SegmentFile, ...]


def _planned(replay: Replay, asked: SourceOptions, reaches: Reaches) -> _Plan:
    """Only files without a gap between them: what is missing is for the broker to tell of."""
    start = replay.offset_of(asked.starting or Position(end=EARLIEST))
    end = replay.offset_of(asked.ending or Position(end=LATEST))
    if asked.on_data_loss == WARN:
        start = max(start, replay.earliest)
    reached = start
    files: list[SegmentFile] = []
    for file in replay.files:
        if file.end <= reached:
            continue
        if reached >= end or file.first > reached or not reaches(file):
            break
        files.append(file)
        reached = min(file.end, end)
    return _Plan(replay.broker, start, reached, max(reached, end), tuple(files))


def _reaching(spark: SparkSession, asked: SourceOptions) -> Reaches:
    """Whether the executors can read a file, as far as that is known here."""
    if asked.files == NEVER:
        return lambda file: False
    if asked.files != AUTO:
        return lambda file: True
    is_here = "connect" not in type(spark).__module__
    if not is_here or not str(spark.conf.get(_MASTER)).startswith("local"):
        return lambda file: False
    return lambda file: _OF_PATTERNS.isdisjoint(file.path) and file.find() is not None


def _scan(spark: SparkSession, plan: _Plan, asked: SourceOptions) -> DataFrame:
    """The rows in the files, by Spark's own reader: it skips what statistics let it skip."""
    reader = spark.read.schema(from_arrow_schema(SCHEMA))
    # What retention removes meanwhile is an error, as it is with the brokers.
    missing = "true" if asked.on_data_loss == WARN else "false"
    reader = reader.options(ignoreMissingFiles=missing, ignoreCorruptFiles="false")
    frame = reader.parquet(*map(_hadoop_path, plan.files))
    if plan.files[0].first < plan.start:
        frame = frame.where(F.col("offset") >= plan.start)
    if plan.files[-1].end > plan.sealed_end:
        frame = frame.where(F.col("offset") < plan.sealed_end)
    frame = _passing(frame, asked.rules or asked.filters)
    columns = None if asked.columns is None else list(asked.columns)
    return frame.select(*projection(columns).names)


def _passing(frame: DataFrame, filters: tuple[str, ...]) -> DataFrame:
    """The rows that one of the filters, rules included, lets through."""
    topic = F.col("topic")
    plain = tuple(filter for filter in filters if not is_operator_filter(filter))
    plans = [read_rules(filter) for filter in filters if is_operator_filter(filter)]
    tests: list[Column] = [matches(plain, topic)] if plain else []
    if plans:
        fields = [rule.field for plan in plans for rule in plan.outer]
        frame, payloads = read_payloads(frame, [None, *fields])
        tests += [
            matches(plan.reads, topic) & (verdict(plan.outer, payloads) == PASSES) for plan in plans
        ]
    return frame.where(reduce(Column.__or__, tests))


def _hadoop_path(file: SegmentFile) -> str:
    if file.is_local:
        return f"file://{file.path}"
    path = file.path.partition("?")[0]
    return f"s3a://{path.removeprefix('s3://')}" if path.startswith("s3://") else path
