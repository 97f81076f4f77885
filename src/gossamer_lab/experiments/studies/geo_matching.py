"""Geofences, which their paper leaves without numbers: matching with the index or without."""

from __future__ import annotations

import gc
import time
from typing import Any, Final

from gossamer.geo.earth import Point
from gossamer_lab.bench.geo import build
from gossamer_lab.bench.geo_world import GeoWorld
from gossamer_lab.experiments.experiment import Claim, Experiment, Figure, Grid, ResultRows, Scaled
from gossamer_lab.experiments.plots import STYLES, curve, panels

INDEX, SCAN = "index", "every fence"
WAYS: Final = (INDEX, SCAN)
FENCES: Final = Scaled(
    (10_000, 1_000, 100),
    (100_000, 10_000, 1_000, 100),
    (1_000_000, 100_000, 10_000, 1_000, 100),
)
PROBES: Final = 2_000
# Looking at every fence of a large set takes long, and is the same for each publication.
SCANNED: Final = 2_000_000  # fences looked at in one measurement


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    fences = parameters["fences"]
    world = GeoWorld(seed)
    index, held = build(world, fences)
    is_index = parameters["way"] == INDEX
    probes = PROBES if is_index else max(5, min(PROBES, SCANNED // 10 // fences))
    places = [world.place() for _ in range(probes)]
    matches = 0
    gc.disable()
    started = time.process_time()
    for place in places:
        point = Point(place.lat, place.lon)
        if is_index:
            matches += len(index.at(point, 0.0))
        else:
            matches += sum(interest.region.contains(point) for interest in held)
    spent = time.process_time() - started
    gc.enable()
    return {
        "microseconds": spent / probes * 1e6,
        "matches": matches / probes,
        "probes": probes,
    }


def figures(rows: ResultRows) -> list[Figure]:
    drawing, (axis,) = panels(1, width=6.5)
    for way, style in zip(WAYS, STYLES, strict=False):
        curve(axis, rows.where(way=way), "fences", "microseconds", style, way)
    axis.set(xlabel="fences", ylabel="a publication, µs of one core", xscale="log", yscale="log")
    axis.legend()
    return [
        Figure(
            "Fences",
            "Who is interested in a place?",
            drawing,
            "The paper has no measurements.",
            [_claim(rows)],
            "Circles, rectangles, lines and polygons of 20 m to 2 km all over a country the size "
            "of Germany.",
        )
    ]


def _claim(rows: ResultRows) -> Claim:
    most = max(rows.distinct("fences"))
    indexed, scanned = (rows.mean("microseconds", way=way, fences=most) for way in WAYS)
    faster = scanned / indexed
    return Claim(
        f"the index makes {most:,} fences cheap to match",
        "not in the paper",
        f"{indexed:,.0f} µs for a publication, {faster:,.0f} times less than looking at each",
        faster > 1,
        headline=True,
    )


EXPERIMENT = Experiment(
    name="geo-matching",
    title="How many geofences can a broker hold?",
    source="Ihirwe et al. (no figures)",
    about=(
        "A publication with a position is matched against fences, by the spatial index of the "
        "broker and by looking at every fence with the same exact geometry."
    ),
    grid=Grid({"fences": FENCES, "way": WAYS}, seeds=Scaled(3, 5)),
    measure=measure,
    figures=figures,
    alone=True,
)
