"""Operators and fences as functions of columns, for DataFrames and for SQL.

    from gossamer.spark import functions as g

    rows.where(g.matches("topic", "plant/+/temp") & g.passes("payload", "$GT;30"))
    rows.where(g.within("lat", "lon", "yard"))

They read topics, payloads and places as the broker does. The tests run the examples, with `rows` a
frame of a few messages and `yard` a polygon.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import pandas as pd
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from gossamer.geo.earth import Point
from gossamer.geo.earth import distance as between_points
from gossamer.plus.grammar import parse_rules
from gossamer.plus.registry import AGGREGATES
from gossamer.plus.rules import PASSES
from gossamer.plus.values import INFINITY, parse_field
from gossamer.spark.compiler import topics
from gossamer.spark.compiler.expressions import verdict
from gossamer.spark.compiler.payloads import reading_of
from gossamer.spark.fences.areas import Area, interest_of, kept_interest, read_area
from gossamer.spark.fences.cells import cell_at, cells_of
from gossamer.topics.names import check_filter
from gossamer.topics.names import matches as is_match

ColumnOrName = Column | str
_Entries = tuple[tuple[str, str], ...]

# Fences by the names that `define` gave them.
_FENCES: Final[dict[str, _Entries]] = {}
# How SQL calls the functions: other libraries have a `matches`, too.
_PREFIX: Final = "gossamer_"


def define(**fences: Area) -> None:
    """Names fences for `within`: GLP, or GeoJSON as a text or a document.

    >>> g.define(yard=yard)
    """
    _FENCES.update({name: tuple(read_area(area)) for name, area in fences.items()})


def area(name: str) -> list[tuple[str, str]]:
    """A fence that was defined, as User Properties; for what takes areas. Raises ValueError."""
    if name not in _FENCES:
        raise ValueError(f"no fence {name!r} was defined; there are {sorted(_FENCES)}")
    return list(_FENCES[name])


def matches(topic: ColumnOrName, filter: str) -> Column:
    """Whether a topic matches a filter. Raises TopicError for what is no filter.

    >>> rows.where(g.matches("topic", "plant/+/temp")).count()
    2
    """
    check_filter(filter)
    return topics.matches((filter,), _column(topic))


def number(payload: ColumnOrName, field: str = "") -> Column:
    """The number that operators see in a payload, or in a field of JSON; null if there is none.

    >>> rows.select(g.number("payload", "/t").alias("t")).collect()[0].t
    21.5
    """
    found = reading_of(_column(payload), parse_field(field) if field else None)
    return found.number


def passes(payload: ColumnOrName, rules: str) -> Column:
    """Whether a payload passes all rules of a chain. Raises PlusError.

    >>> rows.where(g.passes("payload", "$GT;20;%2Ft$LT;30;%2Ft")).count()
    1
    """
    nodes = parse_rules(rules)
    text = _column(payload)
    read = {
        rule.field.text if rule.field is not None else "": reading_of(text, rule.field)
        for rule in nodes
    }
    return verdict(nodes, read) == PASSES


def within(lat: ColumnOrName, lon: ColumnOrName, fence: Area) -> Column:
    """Whether a position is in a fence: one that was defined, or an area. Raises GlpError,
    ValueError.

    Cells drop what is far away; the broker's own geometry decides about the rest.

    >>> g.define(yard=yard)
    >>> rows.where(g.within("lat", "lon", "yard")).count()
    1
    """
    entries = _area(fence)
    level, cells = cells_of(interest_of(entries))
    y, x = _column(lat).cast("double"), _column(lon).cast("double")
    near = y.between(-90.0, 90.0) & x.between(-180.0, 180.0) & cell_at(level, y, x).isin(cells)
    inside = pandas_udf(_inside(entries), "boolean")  # type: ignore[call-overload]
    near = F.coalesce(near, F.lit(False))
    found: Column = near & inside(F.when(near, y), F.when(near, x))
    return found


def distance(
    lat: ColumnOrName, lon: ColumnOrName, other_lat: ColumnOrName, other_lon: ColumnOrName
) -> Column:
    """Metres along the WGS 84 ellipsoid.

    >>> rows.select(g.distance("lat", "lon", F.lit(43.72), F.lit(10.4)).alias("m")).collect()[0].m
    0.0
    """
    metres = pandas_udf(_distances, "double")  # type: ignore[call-overload]
    found: Column = metres(
        *(_column(one).cast("double") for one in (lat, lon, other_lat, other_lon))
    )
    return found


def total(value: ColumnOrName) -> Column:
    """The sum of a group, exact and rounded once, as `$SUM` is.

    >>> spark.sql("select explode(array(1e100, 1d, -1e100)) v").agg(g.total("v")).collect()[0][0]
    1.0
    """
    return _aggregate("SUM", value)


def average(value: ColumnOrName) -> Column:
    """The mean of a group, as `$AVG`: from an exact sum.

    >>> spark.sql("select explode(array(0.1d, 0.2d, 0.3d)) v").agg(g.average("v")).collect()[0][0]
    0.2
    """
    return _aggregate("AVG", value)


def deviation(value: ColumnOrName) -> Column:
    """The population standard deviation of a group, as `$STDDEV`.

    >>> spark.sql("select explode(array(1d, 3d)) v").agg(g.deviation("v")).collect()[0][0]
    1.0
    """
    return _aggregate("STDDEV", value)


def register(spark: SparkSession, **fences: Area) -> None:
    """The same functions in SQL, in this session, with these fences beside those defined.

    >>> rows.createOrReplaceTempView("messages")
    >>> g.register(spark, yard=yard)
    >>> spark.sql("select * from messages where gossamer_within(lat, lon, 'yard')").count()
    1
    >>> spark.sql("select * from messages where gossamer_matches(topic, 'plant/#')").count()
    2
    """
    define(**fences)
    known = dict(_FENCES)
    functions: dict[str, tuple[Callable[..., Any], str]] = {
        "matches": (_sql_matches, "boolean"),
        "within": (_sql_within(known), "boolean"),
        "distance": (_distances, "double"),
    }
    for name, (function, kind) in functions.items():
        made = pandas_udf(function, kind)  # type: ignore[call-overload]
        spark.udf.register(_PREFIX + name, made)
    for name, keyword in (("total", "SUM"), ("average", "AVG"), ("deviation", "STDDEV")):
        spark.udf.register(_PREFIX + name, _folding(keyword))


def _column(one: ColumnOrName) -> Column:
    return F.col(one) if isinstance(one, str) else one


def _area(fence: Area) -> _Entries:
    if isinstance(fence, str) and fence in _FENCES:
        return _FENCES[fence]
    try:
        return tuple(read_area(fence))
    except ValueError as problem:
        known = ", ".join(sorted(_FENCES)) or "none"
        raise ValueError(
            f"{fence!r} is no area ({problem}) and no fence that was defined ({known})"
        ) from None


def _inside(entries: _Entries) -> Callable[..., pd.Series]:
    def inside(lat: pd.Series, lon: pd.Series) -> pd.Series:
        region = kept_interest(entries).region
        places = zip(lat.tolist(), lon.tolist(), strict=True)
        return pd.Series([y == y and region.contains(Point(y, x)) for y, x in places], dtype=bool)

    return inside


def _distances(lat: pd.Series, lon: pd.Series, to_lat: pd.Series, to_lon: pd.Series) -> pd.Series:
    rows = zip(lat.tolist(), lon.tolist(), to_lat.tolist(), to_lon.tolist(), strict=True)
    found = [
        between_points(Point(y, x), Point(b, a))
        if y == y and x == x and b == b and a == a
        else None
        for y, x, b, a in rows
    ]
    return pd.Series(found, dtype="float64")


def _aggregate(keyword: str, value: ColumnOrName) -> Column:
    folded: Column = _folding(keyword)(_column(value).cast("double"))
    return folded


def _folding(keyword: str) -> Any:
    def fold(values: pd.Series) -> float | None:
        return _folded(keyword, values)

    fold.__annotations__ = {"values": pd.Series, "return": float}
    return pandas_udf(fold, "double")  # type: ignore[call-overload]


def _folded(keyword: str, values: pd.Series) -> float | None:
    """By itself, so that executors import the compiled aggregates, which are not pickled."""
    aggregate = AGGREGATES[keyword].running()
    numbers = [one for one in values.tolist() if one is not None and abs(one) < INFINITY]
    for at, one in enumerate(numbers):
        aggregate.add(one + 0.0, at)
    found = aggregate.result() if numbers else INFINITY
    return None if abs(found) == INFINITY else found


def _sql_matches(topic: pd.Series, filter: pd.Series) -> pd.Series:
    pairs = zip(topic.tolist(), filter.tolist(), strict=True)
    return pd.Series([name is not None and is_match(_checked(f), name) for name, f in pairs])


@lru_cache(maxsize=256)
def _checked(filter: str) -> str:
    check_filter(filter)
    return filter


def _sql_within(fences: Mapping[str, _Entries]) -> Callable[..., pd.Series]:
    def within(lat: pd.Series, lon: pd.Series, fence: pd.Series) -> pd.Series:
        found: list[bool] = []
        for y, x, name in zip(lat.tolist(), lon.tolist(), fence.tolist(), strict=True):
            entries = fences[name] if name in fences else tuple(read_area(name))
            is_there = y == y and x == x and -90 <= y <= 90 and -180 <= x <= 180
            found.append(is_there and kept_interest(entries).region.contains(Point(y, x)))
        return pd.Series(found, dtype=bool)

    return within
