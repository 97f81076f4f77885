"""How long a value stays valid, as a column: the rules of `plus.ttl`, in seconds of the epoch."""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from gossamer.plus.ttl import TTL_PROPERTY
from gossamer.spark.numbers import once

_RFC3339: Final = (
    r"\A(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:[Zz]|([+-])(\d\d):(\d\d))\z"
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
    """Null unless it is an RFC 3339 time."""
    return once(
        F.when(text.rlike(_RFC3339), text), lambda good: F.when(good.isNotNull(), _read(good))
    )


def _read(text: Column) -> Column:
    def group(at: int) -> Column:
        return F.regexp_extract(text, _RFC3339, at)

    day = group(1).try_cast("date")
    hour, minute, second = (group(at).try_cast("int") for at in (2, 3, 4))
    exists = (
        day.isNotNull() & ~text.startswith("0000") & (hour <= 23) & (minute <= 59) & (second <= 60)
    )
    whole = F.unix_date(day) * F.lit(86_400) + hour * 3600 + minute * 60 + second
    fraction = F.coalesce(group(5).try_cast("double"), F.lit(0.0))
    away = group(7).try_cast("int") * 3600 + group(8).try_cast("int") * 60
    offset = F.when(group(6) == "+", -away).when(group(6) == "-", away).otherwise(0)
    return F.when(exists, whole.cast("double") + fraction + offset.cast("double"))
