"""Payloads in CBOR or Sparkplug B as the JSON that says the same, by the broker's own reader.

Only queries that name such payloads pay for it: the others never leave Java.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import BinaryType

from gossamer.plus.encodings import Encodings, as_json

# What is no JSON in any case, for payloads that are not what they should be.
_UNREADABLE: Final = b"\xff"
ORIGINAL: Final = "_original"


def decoded(frame: DataFrame, payloads: Mapping[str, str]) -> DataFrame:
    """With payloads that rules and aggregates can read, and the original ones beside them."""
    known = tuple(payloads.items())

    def read(topics: pd.Series, payloads: pd.Series, types: pd.Series) -> pd.Series:
        encodings = _encodings_of(known)
        return pd.Series(
            [
                _read(encodings, topic, payload, content_type)
                for topic, payload, content_type in zip(topics, payloads, types, strict=True)
            ]
        )

    reader = pandas_udf(read, BinaryType())  # type: ignore[call-overload]
    readable = reader(F.col("topic"), F.col("payload"), F.col("content_type"))
    return frame.withColumn(ORIGINAL, F.col("payload")).withColumn("payload", readable)


def original(frame: DataFrame) -> Column:
    """The payload as it was published."""
    return F.col(ORIGINAL) if ORIGINAL in frame.columns else F.col("payload")


@lru_cache(maxsize=256)
def _encodings_of(known: tuple[tuple[str, str], ...]) -> Encodings:
    """Made once in each worker, from what can be sent there: compiled, they are not pickled."""
    return Encodings(dict(known))


def _read(encodings: Encodings, topic: str, payload: bytes, content_type: str | None) -> bytes:
    encoding = encodings.find(topic, content_type)
    if not encoding:
        return payload
    try:
        return as_json(payload, encoding)
    except (ValueError, RecursionError):
        return _UNREADABLE
