"""Processors on the executors: what they make of payloads (images), or why there is nothing.

A poisoned image costs its own answer, never the query. A processor that cannot run on an executor
at all (no models, no packages) ends the query and says why.
"""

from collections.abc import Callable, Mapping
from typing import Final

import pandas as pd
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from gossamer.plus.publication import (
    NOT_AN_IMAGE,
    PROCESSOR_FAILED,
    TIMED_OUT,
    TOO_MANY_PIXELS,
)
from gossamer.spark.executor_worker import Answer, worker_for
from gossamer.vision.registry import installed_places
from gossamer.vision.settings import WorkerSettings

# A function from bytes to bytes, or a class as "module:Class" for a confined worker process.
Processor = Callable[[bytes], bytes | None] | str

ANSWER: Final = "answer"
PROBLEM: Final = "problem"
# Counted under the names of the broker's `$SYS/broker/operators/skipped/…`.
REASONS: Final = (NOT_AN_IMAGE, TOO_MANY_PIXELS, TIMED_OUT, PROCESSOR_FAILED)
ANSWERED: Final = "answered"

_SCHEMA: Final = f"{ANSWER} binary, {PROBLEM} string"


def known_processors(own: Mapping[str, Processor] | None) -> dict[str, Processor]:
    """By keyword: the caller's own, and those that are installed here.

    Whether one can run is asked where it runs: models are looked for on the executors.
    """
    return {**installed_places(), **(own or {})}


def look(
    frame: DataFrame,
    keyword: str,
    *,
    processors: Mapping[str, Processor] | None = None,
    vision: WorkerSettings | None = None,
) -> DataFrame:
    """The frame (`topic`, `payload`, …) with `answer`, or null and the `problem` with the image.

    Nothing is left out, so that bad images can be kept aside. Raises ValueError.
    """
    known = known_processors(processors)
    if keyword not in known:
        raise ValueError(f"no processor ${keyword}; there are {', '.join(sorted(known))}")
    processor = known[keyword]

    def answers(topics: pd.Series, payloads: pd.Series) -> pd.DataFrame:
        rows = zip(topics.tolist(), payloads.tolist(), strict=True)
        found = [_answer(keyword, processor, vision, *row) for row in rows]
        return pd.DataFrame(found, columns=[ANSWER, PROBLEM], dtype="object")

    # Else Spark would look again where an answer is used.
    ask = pandas_udf(answers, _SCHEMA).asNondeterministic()  # type: ignore[call-overload]
    asked = frame.withColumn("_look", ask("topic", "payload"))
    return asked.select(*frame.columns, f"_look.{ANSWER}", f"_look.{PROBLEM}")


def processed(
    frame: DataFrame,
    keyword: str,
    processors: Mapping[str, Processor] | None,
    vision: WorkerSettings | None,
    skipped: str | Observation | None,
) -> DataFrame:
    """The frame with the answers for payloads, without the messages that have none."""
    looked = look(frame, keyword, processors=processors, vision=vision)
    if skipped is not None:
        counts = [F.count_if(F.col(PROBLEM) == reason).alias(reason) for reason in REASONS]
        looked = looked.observe(skipped, F.count(ANSWER).alias(ANSWERED), *counts)
    answered = looked.where(F.col(ANSWER).isNotNull()).withColumn("payload", F.col(ANSWER))
    return answered.drop(ANSWER, PROBLEM)


def _answer(
    keyword: str,
    processor: Processor,
    settings: WorkerSettings | None,
    topic: str,
    payload: bytes | None,
) -> Answer:
    if payload is None:
        return None, NOT_AN_IMAGE
    if isinstance(processor, str):
        return worker_for(keyword, processor, settings).answer(topic or "", bytes(payload))
    try:
        found = processor(bytes(payload))
    except Exception:
        found = None  # whatever a stranger's payload does to it
    return found, None if found is not None else PROCESSOR_FAILED
