"""What rules and aggregates read of a payload: a number, a text, or neither."""

from collections.abc import Iterable
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gossamer.plus.fields import Field
from gossamer.spark import documents
from gossamer.spark.numbers import finite, is_number, read_number

_PAYLOAD: Final = "_payload"
_DOCUMENT: Final = "_document"


class PayloadColumns:
    """`number` is null unless finite, `numeric` true for infinite ones too, `text` null if none."""

    def __init__(self, number: Column, numeric: Column, text: Column) -> None:
        self.number = number
        self.numeric = numeric
        self.text = text


def name_of(field: Field | None) -> str:
    """Under which `read` gives its reading; the whole payload has the empty name."""
    return field.text if field is not None else ""


def read(
    frame: DataFrame, fields: Iterable[Field | None]
) -> tuple[DataFrame, dict[str, PayloadColumns]]:
    """The frame with columns for these fields, and their readings by name."""
    wanted = {name_of(field): field for field in fields}
    text = F.col("payload").cast("string")
    frame = frame.withColumn(_PAYLOAD, F.when(F.is_valid_utf8(text), text))
    readings: dict[str, PayloadColumns] = {}
    if "" in wanted:
        # No number has bytes that are not UTF-8, so that need not be looked at first.
        frame = frame.withColumn("_number", read_number(text))
        numeric = F.coalesce(is_number(F.col(_PAYLOAD)), F.lit(False))
        readings[""] = PayloadColumns(F.col("_number"), numeric, F.col(_PAYLOAD))
    within = [field for field in wanted.values() if field is not None]
    return _read_fields(frame, within, readings) if within else frame, readings


def _read_fields(
    frame: DataFrame, fields: list[Field], readings: dict[str, PayloadColumns]
) -> DataFrame:
    document = F.col(_DOCUMENT)
    values: dict[str, Column] = {}
    kinds: dict[str, Column] = {}
    read: dict[str, Column] = {}
    for at, field in enumerate(fields):
        value, kind = F.col(f"_value{at}"), F.col(f"_kind{at}")
        numeric = documents.is_numeric(kind)
        values[f"_value{at}"] = documents.look_up(document, field)
        kinds[f"_kind{at}"] = documents.kind_of(value)
        read[f"_number{at}"] = F.when(numeric, finite(documents.as_double(value)))
        read[f"_text{at}"] = documents.as_text(value, kind, F.col(_PAYLOAD), field)
        readings[field.text] = PayloadColumns(F.col(f"_number{at}"), numeric, F.col(f"_text{at}"))
    frame = frame.withColumn(_DOCUMENT, documents.document(F.col(_PAYLOAD)))
    return frame.withColumns(values).withColumns(kinds).withColumns(read)
