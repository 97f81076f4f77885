"""Tracks and visits of all visitors at once: one after another on the executors."""

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from gossamer.spark.fences.areas import Entries, kept_interest
from gossamer.spark.fences.within import FENCE, within
from gossamer.spark.tracks.visits import TrackPosition, Visits, trips

VISITOR: Final = ("client", "topic")
_NEEDED: Final = (*VISITOR, "time", "lat", "lon", "broker", "offset")

_TIME: Final = pa.timestamp("us", "UTC")
_WHO: Final = [("client", pa.string()), ("topic", pa.string())]
_SPAN: Final = [("start", _TIME), ("end", _TIME)]
_POINT: Final = pa.struct([("time", _TIME), ("lat", pa.float64()), ("lon", pa.float64())])
TRACKS: Final = pa.schema(
    [
        *_WHO,
        *_SPAN,
        ("positions", pa.int64()),
        ("metres", pa.float64()),
        ("path", pa.list_(_POINT)),
    ]
)
VISITS: Final = pa.schema(
    [
        *_WHO,
        ("fence", pa.string()),
        *_SPAN,
        ("seconds", pa.float64()),
        ("positions", pa.int64()),
        ("ended", pa.string()),
    ]
)


def tracks(positions: DataFrame) -> DataFrame:
    """A row for each trip."""
    bare = positions.select(*_NEEDED, _nowhere().alias("inside"))
    return bare.groupBy(*VISITOR).applyInArrow(_trips, from_arrow_schema(TRACKS))


def visits(positions: DataFrame, fences: Mapping[str, Entries]) -> DataFrame:
    """A row for each stay of a visitor in a fence."""
    near = within(positions.select("broker", "offset", "lat", "lon"), dict(fences))
    inside = near.groupBy("broker", "offset").agg(
        F.sort_array(F.collect_set(FENCE)).alias("inside")
    )
    placed = positions.join(inside, ["broker", "offset"], "left")
    positioned = placed.select(*_NEEDED, F.coalesce("inside", _nowhere()).alias("inside"))
    areas = {name: tuple(entries) for name, entries in fences.items()}

    def visitor(rows: pa.Table) -> pa.Table:
        names = {name for inside in rows.column("inside").to_pylist() for name in inside}
        known = Visits({name: kept_interest(areas[name]) for name in sorted(names)})
        found = [
            {
                **_who(rows),
                **stay._asdict(),
                "start": _micros(stay.start),
                "end": _micros(stay.end),
                "seconds": stay.end - stay.start,
            }
            for stay in known.of(_positions(rows))
        ]
        return pa.Table.from_pylist(found, schema=VISITS)

    return positioned.groupBy(*VISITOR).applyInArrow(visitor, from_arrow_schema(VISITS))


def dwells(visits: DataFrame) -> DataFrame:
    """Of each fence."""
    return visits.groupBy("fence").agg(
        F.count("*").alias("visits"),
        F.countDistinct(*VISITOR).alias("visitors"),
        F.sum("seconds").alias("seconds"),
        F.avg("seconds").alias("mean_seconds"),
        F.max("seconds").alias("longest_seconds"),
    )


def _nowhere() -> Column:
    return F.array().cast("array<string>")


def _trips(rows: pa.Table) -> pa.Table:
    found = [
        {
            **_who(rows),
            "start": _micros(trip.start),
            "end": _micros(trip.end),
            "positions": len(trip.path),
            "metres": trip.metres,
            "path": [{"time": _micros(p.time), "lat": p.lat, "lon": p.lon} for p in trip.path],
        }
        for trip in trips(_positions(rows))
    ]
    return pa.Table.from_pylist(found, schema=TRACKS)


def _positions(rows: pa.Table) -> Iterator[TrackPosition]:
    """Of one visitor, in the order of time."""
    ordered = rows.sort_by([(name, "ascending") for name in ("time", "broker", "offset")])
    times = ordered.column("time").cast(pa.int64()).to_pylist()
    lats, lons = ordered.column("lat").to_pylist(), ordered.column("lon").to_pylist()
    inside = ordered.column("inside").to_pylist()
    for time, lat, lon, fences in zip(times, lats, lons, inside, strict=True):
        yield TrackPosition(time / 1e6, lat, lon, tuple(fences))


def _who(rows: pa.Table) -> dict[str, object]:
    return {name: rows.column(name)[0].as_py() for name in VISITOR}


def _micros(seconds: float) -> int:
    return round(seconds * 1e6)
