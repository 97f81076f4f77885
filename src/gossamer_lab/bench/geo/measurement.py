"""What is measured: building, finding, moving, each as a rate and, where it matters, a tail.

Rates are per second of processor time, that is per core; tails are by the clock.
"""

import gc
import os
import time
from dataclasses import dataclass

from gossamer.geo.earth import Point
from gossamer.geo.index import SpatialIndex
from gossamer.geo.interest import Interest
from gossamer_lab.bench.brokers.proc import resident_bytes
from gossamer_lab.bench.geo.world import GeoWorld

PROBES = 20_000  # publications of one measurement


@dataclass
class Finding:
    """An index of so many fences, and what a publication costs in it."""

    fences: int
    build_seconds: float
    bytes_each: float
    publications_a_second: float
    p99_microseconds: float
    matches_each: float


@dataclass
class Moving:
    clients: int
    updates_a_second: float


def build(world: GeoWorld, count: int) -> tuple[SpatialIndex, list[Interest]]:
    index = SpatialIndex()
    held: list[Interest] = []
    for _ in range(count):
        interest = world.fence()
        index.add(interest)
        held.append(interest)
    return index, held


def measure_finding(seed: int, count: int, probes: int = PROBES) -> Finding:
    """Every publication is made into a point and matched, as for a message that just came in."""
    world = GeoWorld(seed)
    gc.collect()
    gc.disable()  # a million live objects are not garbage: do not look for it while they are made
    memory = resident_bytes(os.getpid())
    started = time.process_time()
    index, held = build(world, count)
    seconds = time.process_time() - started
    memory = resident_bytes(os.getpid()) - memory
    places = [world.place() for _ in range(probes)]
    matches = 0
    started = time.process_time()
    for place in places:
        matches += len(index.at(Point(place.lat, place.lon), 0.0))
    spent = time.process_time() - started
    tail = _tail(index, places)
    gc.enable()
    assert len(index) == len(held)
    return Finding(count, seconds, memory / count, probes / spent, tail * 1e6, matches / probes)


def _tail(index: SpatialIndex, places: list[Point]) -> float:
    clock = time.perf_counter
    times: list[float] = []
    for place in places:
        started = clock()
        index.at(Point(place.lat, place.lon), 0.0)
        times.append(clock() - started)
    times.sort()
    return times[len(times) * 99 // 100]


def measure_moving(seed: int, clients: int, rounds: int = 2) -> Moving:
    """Every client, with a circle around it, reports a new position once a round."""
    world = GeoWorld(seed)
    index = SpatialIndex()
    followers = [world.follower() for _ in range(clients)]
    for follower in followers:
        index.add(follower)
    spent = 0.0
    for number in range(rounds):
        steps = [world.step(follower.position or world.place()) for follower in followers]
        started = time.process_time()
        for follower, step in zip(followers, steps, strict=True):
            index.move(follower, Point(step.lat, step.lon), float(number))
        spent += time.process_time() - started
    return Moving(clients, clients * rounds / spent)
