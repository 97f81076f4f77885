"""The straightforward way: shapely geometries in an STRtree that is rebuilt when one changes."""

import time
from dataclasses import dataclass

from gossamer.geo.earth import Point
from gossamer.geo.index import SpatialIndex
from gossamer_lab.bench.geo.world import GeoWorld

METRES_A_DEGREE = 111_320.0


@dataclass
class Beside:
    """The same work both ways, in operations a second; an operation is a move and a match."""

    clients: int
    own: float
    shapely: float

    def times(self) -> float:
        return self.own / self.shapely


def compare(seed: int, clients: int, own_operations: int, shapely_operations: int) -> Beside:
    return Beside(
        clients,
        _own(GeoWorld(seed), clients, own_operations),
        _shapely(GeoWorld(seed), clients, shapely_operations),
    )


def _own(world: GeoWorld, clients: int, operations: int) -> float:
    index = SpatialIndex()
    followers = [world.follower() for _ in range(clients)]
    for follower in followers:
        index.add(follower)
    places = [world.place() for _ in range(operations)]
    started = time.process_time()
    for number, place in enumerate(places):
        follower = followers[number % clients]
        index.move(follower, Point(place.lat, place.lon), 0.0)
        index.at(place, 0.0)
    return operations / (time.process_time() - started)


def _shapely(world: GeoWorld, clients: int, operations: int) -> float:
    import shapely

    circles: list[shapely.Geometry] = []
    sizes: list[float] = []
    for _ in range(clients):
        follower = world.follower()
        assert follower.position is not None
        sizes.append(follower.areas.listed[0].sizes[0] / METRES_A_DEGREE)
        at = shapely.Point(follower.position.lon, follower.position.lat)
        circles.append(at.buffer(sizes[-1]))
    places = [world.place() for _ in range(operations)]
    started = time.process_time()
    for number, place in enumerate(places):
        point = shapely.Point(place.lon, place.lat)
        circles[number % clients] = point.buffer(sizes[number % clients])
        tree = shapely.STRtree(circles)
        found = [i for i in tree.query(point) if circles[i].contains(point)]
        assert number % clients in found
    return operations / (time.process_time() - started)
