"""Fields of JSON payloads as columns, by Spark's variants."""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from gossamer.plus.errors import PlusError
from gossamer.plus.fields import Field
from gossamer.plus.limits import MAX_JSON_BYTES
from gossamer.spark.numbers import once, write_number

# Spark's parser stops where a value ends, whatever follows. A payload is one value and nothing
# else if an element that stands behind it in a list comes out as the second.
_END: Final = "\x7fend"
_LONGEST_INDEX: Final = 10  # digits, as in `plus.fields`

# An integer of more characters is a double like any other number, as in `plus.values`.
_EXACT_INTEGER_CHARACTERS: Final = 15


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
