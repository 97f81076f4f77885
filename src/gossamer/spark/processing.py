"""Processors on the executors: a payload (an image) becomes what the operators read.

The only Python that a message meets on its way. A processor is a function from bytes to bytes, or
to None where it fails; it counts at the time of its message.
"""

from collections.abc import Callable, Mapping

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType

from gossamer.spark.vectors import vectorised

Processor = Callable[[bytes], bytes | None]


def processed(frame: DataFrame, keyword: str, processors: Mapping[str, Processor]) -> DataFrame:
    """The frame with the answers for payloads, without the messages that have none."""
    process = processors[keyword]

    def answers(payloads: pd.Series) -> pd.Series:
        return pd.Series([_answer(process, payload) for payload in payloads], dtype="object")

    answer = vectorised(answers, BinaryType())
    return frame.withColumn("payload", answer("payload")).where(F.col("payload").isNotNull())


def _answer(process: Processor, payload: bytes | None) -> bytes | None:
    if payload is None:
        return None
    try:
        return process(bytes(payload))
    except Exception:
        # One poisoned image must not end a query that has read a million.
        return None
