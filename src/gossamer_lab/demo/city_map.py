"""The city's map: three districts of straight streets around Pisa, and places worth a fence."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CENTRE: Final = (43.7160, 10.3966)  # latitude, longitude
BLOCK_METRES: Final = 150.0
BLOCKS: Final = 12  # of each district, east to west and north to south
METRES_A_DEGREE: Final = 111_320.0
DISTRICTS: Final = ("north", "centre", "south")


@dataclass(frozen=True)
class Spot:
    """A place, in degrees."""

    lat: float
    lon: float


def spot(east: float, north: float) -> Spot:
    """So many metres from the centre; flat, which a city nearly is."""
    lat = CENTRE[0] + north / METRES_A_DEGREE
    lon = CENTRE[1] + east / (METRES_A_DEGREE * math.cos(math.radians(CENTRE[0])))
    return Spot(lat, lon)


def corner(district: int, column: int, row: int) -> tuple[float, float]:
    """A crossing of two streets, in metres east and north of the centre."""
    side = BLOCKS * BLOCK_METRES
    return (column - BLOCKS / 2) * BLOCK_METRES, side * (1 - district) + (row - BLOCKS / 2) * (
        BLOCK_METRES
    )


@dataclass(frozen=True)
class DemoFence:
    """A rectangle of blocks in one district."""

    name: str
    district: int
    column: int
    row: int
    blocks: int

    def geometry(self) -> dict[str, object]:
        """GeoJSON."""
        first = spot(*corner(self.district, self.column, self.row))
        last = spot(*corner(self.district, self.column + self.blocks, self.row + self.blocks))
        ring = [
            [first.lon, first.lat],
            [last.lon, first.lat],
            [last.lon, last.lat],
            [first.lon, last.lat],
            [first.lon, first.lat],
        ]
        return {"type": "Polygon", "coordinates": [ring]}


FENCES: Final = (
    DemoFence("school", 0, 3, 3, 4),
    DemoFence("market", 1, 5, 4, 3),
    DemoFence("hospital", 2, 2, 6, 4),
)


def write_fences(folder: Path) -> Path:
    """One file for each fence, and all of them in `fences.geojson`, whose path is the answer."""
    features = []
    for fence in FENCES:
        geometry = fence.geometry()
        (folder / f"{fence.name}.geojson").write_text(json.dumps(geometry))
        features.append(
            {"type": "Feature", "properties": {"name": fence.name}, "geometry": geometry}
        )
    everything = folder / "fences.geojson"
    everything.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return everything
