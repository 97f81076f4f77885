"""Numbers and times as columns: read as the broker reads them, written as it writes them."""

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from gossamer.plus.limits import MAX_NUMBER_BYTES
from gossamer.plus.publication import TTL_PROPERTY

# RFC 8259's number, with the white space that JSON allows around a value.
_NUMBER: Final = r"\A[ \t\n\r]*-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?[ \t\n\r]*\z"

# A number of so many digits is finite.
_PLAIN_BYTES: Final = 64

# Java before 19 does not write the shortest decimal; the JSON library within Spark does.
_SHORTEST: Final = ("com.fasterxml.jackson.core.io.NumberOutput", "toString")

# Java's shortest has two digits at least. Among the very least of doubles one may be enough, and
# is then another: Java writes 4.9E-324 where Python writes 5e-324.
_LEAST: Final = [n * 2.0**-1074 for n in range(1, 64)]
_TINY: Final = {
    f"{value:.1e}".upper(): repr(value).replace("e", ".0E")
    for value in _LEAST
    if "." not in repr(value) and f"{value:.1e}"[2] != "0"
}

# Python writes an exponent below 1e-4 and from 1e16 on, Java below 1e-3 and from 1e7 on.
_PLAIN_FROM: Final = -4
_PLAIN_TO: Final = 15

# As `plus/publication.py` reads them: RFC 3339, and dd/mm/yyyy, in UTC where no zone is named.
_TIME: Final = (
    r"\A(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:[Zz]|([+-])(\d\d):(\d\d))?\z"
)
_PRINTED_TIME: Final = r"\A(\d\d)/(\d\d)/(\d{4}) (\d\d:\d\d:\d\d)\z"


def is_number(text: Column) -> Column:
    """Whether it is a JSON number, one that a double can hold or not."""
    return text.rlike(_NUMBER)


def read_number(text: Column) -> Column:
    """Null unless it is a number that a double can hold."""
    short = is_number(text) & (F.octet_length(text) <= MAX_NUMBER_BYTES)
    any_number = finite(F.when(short, F.trim(text, F.lit(" \t\n\r")).try_cast("double")))
    # Nearly all that sensors send: read in half the time, and never infinite.
    return F.when(_is_plain(text), text.try_cast("double") + F.lit(0.0)).otherwise(any_number)


def _is_plain(text: Column) -> Column:
    """Whether Spark's own cast, which takes more than JSON does, decides rightly by itself.

    Without an exponent, from a digit (or a sign and a digit) to a digit: what is between them has
    one point at most, or is no number to Spark either. Comparing is by bytes, and costs little.
    """
    begins_well = (
        ((text >= "1") & (text < ":"))
        | ((text >= "-1") & (text < "-:"))
        | text.startswith("0.")
        | text.startswith("-0.")
    )
    ends_well = F.right(text, F.lit(1)).between("0", "9")
    has_exponent = text.contains("e") | text.contains("E")
    return begins_well & ends_well & ~has_exponent & (F.octet_length(text) <= _PLAIN_BYTES)


def finite(value: Column) -> Column:
    """Null for what is no number and for infinities. Zero has no sign."""
    return F.when(F.abs(value) < float("inf"), value + F.lit(0.0))


def write_number(value: Column) -> Column:
    """The shortest decimal that reads back to the same double, spelt as Python does."""
    raw = F.java_method(F.lit(_SHORTEST[0]), F.lit(_SHORTEST[1]), value, F.lit(True))
    return once(raw, lambda text: F.when(text.contains("E"), _respelt(text)).otherwise(text))


def once(value: Column, use: Callable[[Column], Column]) -> Column:
    """`use(value)`, with `value` computed once however often it is used there."""
    return F.get(F.transform(F.array(value), use), 0)


def _respelt(java: Column) -> Column:
    text = java
    for wordy, short in _TINY.items():
        text = F.replace(text, F.lit(wordy), F.lit(short))
    sign = F.when(text.startswith("-"), "-").otherwise("")
    power = F.regexp_extract(text, r"E(.*)$", 1).cast("int")
    whole = F.regexp_extract(text, r"(\d)\.", 1)
    fraction = F.regexp_replace(F.regexp_extract(text, r"\.(\d+)E", 1), r"^0$", "")
    digits = F.concat(whole, fraction)
    # 1.5E7 to 1.5E15: the digits that stand before the point, then the others.
    before = F.rpad(digits, power + 1, "0")
    after = F.substr(digits, power + 2)
    large = F.concat(sign, before, F.lit("."), F.when(after == "", "0").otherwise(after))
    small = F.concat(sign, F.lit("0.000"), digits)
    point = F.when(fraction == "", "").otherwise(".")
    exponent = F.concat(
        F.when(power < 0, "-").otherwise("+"),
        F.when(F.abs(power) < 10, "0").otherwise(""),
        F.abs(power).cast("string"),
    )
    wide = F.concat(sign, whole, point, fraction, F.lit("e"), exponent)
    return (
        F.when(power == _PLAIN_FROM, small)
        .when((power > 0) & (power <= _PLAIN_TO), large)
        .otherwise(wide)
    )


def seconds(time: Column) -> Column:
    """Of a timestamp, as the broker's clock counts them."""
    return F.unix_micros(time) / F.lit(1e6)


def valid_until(implicit: float) -> Column:
    """From the columns `time`, `expiry` and `user_properties`."""
    otherwise = seconds(F.col("time")) + F.lit(implicit)
    expires = seconds(F.col("time")) + F.col("expiry").cast("double")
    text = F.try_element_at(F.col("user_properties"), F.lit(TTL_PROPERTY))
    stated = F.when(text.isNotNull(), read_time(text))
    ends = F.least(expires, stated)  # nulls do not count
    good = text.isNull() | stated.isNotNull()
    # The broker takes a time of 0 for none.
    return F.when(good & ends.isNotNull() & (ends != 0.0), ends).otherwise(otherwise)


def read_time(text: Column) -> Column:
    """Null unless it is a time that the broker reads."""
    common = F.regexp_replace(text, _PRINTED_TIME, "$3-$2-$1T$4")
    return once(
        F.when(common.rlike(_TIME), common), lambda good: F.when(good.isNotNull(), _read(good))
    )


def _read(text: Column) -> Column:
    def group(at: int) -> Column:
        return F.regexp_extract(text, _TIME, at)

    day = group(1).try_cast("date")
    hour, minute, second = (group(at).try_cast("int") for at in (2, 3, 4))
    exists = (
        day.isNotNull() & ~text.startswith("0000") & (hour <= 23) & (minute <= 59) & (second <= 60)
    )
    whole = F.unix_date(day).cast("bigint") * F.lit(86_400) + hour * 3600 + minute * 60 + second
    fraction = F.coalesce(group(5).try_cast("double"), F.lit(0.0))
    away = group(7).try_cast("int") * 3600 + group(8).try_cast("int") * 60
    offset = F.when(group(6) == "+", -away).when(group(6) == "-", away).otherwise(0)
    return F.when(exists, whole.cast("double") + fraction + offset.cast("double"))
