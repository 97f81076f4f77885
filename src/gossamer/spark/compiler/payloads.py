"""What rules and aggregates read of a payload, as columns: a number, a text, or neither.

Fields of JSON payloads are looked up in Spark's variants.
"""

from collections.abc import Iterable
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gossamer.plus.limits import MAX_JSON_BYTES
from gossamer.plus.plan import Field, PlusError
from gossamer.spark.compiler.values import finite, is_number, once, read_number, write_number

_PAYLOAD: Final = "_payload"
_DOCUMENT: Final = "_document"

# Spark's parser stops where a value ends, whatever follows. A payload is one value and nothing
# else if an element that stands behind it in a list comes out as the second.
_END: Final = "\x7fend"
_LONGEST_INDEX: Final = 10  # digits, as in `plus/values.py`

# An integer of more characters is a double like any other number, as in `plus/values.py`.
_EXACT_INTEGER_CHARACTERS: Final = 15


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


def reading_of(payload: Column, field: Field | None) -> PayloadColumns:
    """Of one column, where there is no frame that could keep what is read on the way."""
    text = payload.cast("string")
    whole = F.when(F.is_valid_utf8(text), text)
    if field is None:
        numeric = F.coalesce(is_number(whole), F.lit(False))
        return PayloadColumns(read_number(text), numeric, whole)
    value = look_up(document(whole), field)
    kind = kind_of(value)
    numeric = is_numeric(kind)
    number = F.when(numeric, finite(as_double(value)))
    return PayloadColumns(number, numeric, as_text(value, kind, whole, field))


def _read_fields(
    frame: DataFrame, fields: list[Field], readings: dict[str, PayloadColumns]
) -> DataFrame:
    values: dict[str, Column] = {}
    kinds: dict[str, Column] = {}
    read: dict[str, Column] = {}
    for at, field in enumerate(fields):
        value, kind = F.col(f"_value{at}"), F.col(f"_kind{at}")
        numeric = is_numeric(kind)
        values[f"_value{at}"] = look_up(F.col(_DOCUMENT), field)
        kinds[f"_kind{at}"] = kind_of(value)
        read[f"_number{at}"] = F.when(numeric, finite(as_double(value)))
        read[f"_text{at}"] = as_text(value, kind, F.col(_PAYLOAD), field)
        readings[field.text] = PayloadColumns(F.col(f"_number{at}"), numeric, F.col(f"_text{at}"))
    frame = frame.withColumn(_DOCUMENT, document(F.col(_PAYLOAD)))
    return frame.withColumns(values).withColumns(kinds).withColumns(read)


def document(text: Column) -> Column:
    """A variant whose first element is the document; null if the text is not JSON."""
    small = F.octet_length(text) <= MAX_JSON_BYTES
    listed = F.try_parse_json(F.concat(F.lit("["), text, F.lit(f',"{_END}"]')))
    whole = once(
        listed,
        lambda found: F.when(
            F.equal_null(F.try_variant_get(found, "$[1]", "string"), F.lit(_END)), found
        ),
    )
    return F.when(small, whole)


def look_up(found: Column, field: Field) -> Column:
    """The field's value, a variant; null if it is not there."""
    value = F.try_variant_get(found, "$[0]", "variant")
    for step in field.steps:
        named = F.try_variant_get(value, f"$[{_quoted(step)}]", "variant")
        if _is_index(step):
            value = F.coalesce(named, F.try_variant_get(value, f"$[{step}]", "variant"))
        else:
            value = named
    return value


def kind_of(value: Column) -> Column:
    """`STRING`, `BIGINT`, `OBJECT<…>`; null if there is no value."""
    return F.schema_of_variant(value)


def is_numeric(kind: Column) -> Column:
    return F.coalesce(kind.rlike("^(BIGINT|DECIMAL|DOUBLE)"), F.lit(False))


def as_double(value: Column) -> Column:
    return F.try_variant_get(value, "$", "double")


def as_text(value: Column, kind: Column, payload: Column, field: Field) -> Column:
    """Strings as they are, everything else as compact JSON."""
    text = F.try_variant_get(value, "$", "string")
    number = as_double(value)
    # Spark's variants sort the keys of objects; the text of the payload still has their order.
    path = "".join(f"[{s}]" if _is_index(s) else f"['{s}']" for s in field.steps)
    written = F.get_json_object(payload, f"${path}")
    return (
        F.when(kind == "VOID", "null")
        .when(kind.rlike("^(OBJECT|ARRAY)"), F.coalesce(written, text))
        .when((kind == "BIGINT") & (F.length(text) <= _EXACT_INTEGER_CHARACTERS), text)
        .when(is_numeric(kind), _written(number))
        .otherwise(text)
    )


def _written(number: Column) -> Column:
    infinite = F.when(number > 0, "Infinity").otherwise("-Infinity")
    return F.when(F.abs(number) == float("inf"), infinite).otherwise(
        write_number(number + F.lit(0.0))
    )


def _is_index(step: str) -> bool:
    """RFC 6901, section 4: digits only, without leading zeros."""
    digits = step.isascii() and step.isdigit() and len(step) <= _LONGEST_INDEX
    return digits and (step == "0" or step[0] != "0")


def _quoted(step: str) -> str:
    for quote in ("'", '"'):
        if quote not in step:
            return f"{quote}{step}{quote}"
    raise PlusError(f"the field step {step!r} has both kinds of quotes, which Spark cannot look up")
