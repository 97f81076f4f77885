"""``gossamer bench geo``: geofences by the thousand and the million, and beside shapely.

Building, finding and moving, each as a rate and, where it matters, a tail; whole packets through a
whole broker, in memory; and the straightforward way, shapely geometries in an STRtree that is
rebuilt when one changes. Rates are per second of processor time, that is per core; tails are by the
clock.
"""

import gc
import os
import time
from dataclasses import dataclass
from typing import Annotated

import typer

from gossamer.broker.broker import Broker
from gossamer.cli.errors import WrongUse
from gossamer.geo.earth import Point
from gossamer.geo.interest import Interest
from gossamer.geo.spatial_index import SpatialIndex
from gossamer.wire.packets import V5
from gossamer_lab import tables
from gossamer_lab.bench.geo_world import GeoWorld
from gossamer_lab.bench.loopback import (
    LoopbackClient,
    PlainRun,
    located_publication,
    quiet_broker,
    run_plain,
)
from gossamer_lab.bench.processes import resident_bytes
from gossamer_lab.bench.report import machine
from gossamer_lab.quantiles import quantile

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CLIENTS = 100_000
QUICK_SIZES = (1_000, 10_000)
QUICK_CLIENTS = 10_000
HELD = 20_000
QUICK_HELD = 500
THROUGH_MESSAGES = 10_000
BESIDE_CLIENTS = 10_000
BESIDE_OPERATIONS = 20_000
SHAPELY_OPERATIONS = 50  # each rebuilds the tree
PROBES = 20_000  # publications of one measurement
PLAIN_MESSAGES = 500_000
CHUNK_PACKETS = 50
METRES_A_DEGREE = 111_320.0

COLUMNS = {
    "fences": "{.fences:,}",
    "built in s": "{.build_seconds:.2f}",
    "bytes each": "{.bytes_each:,.0f}",
    "publications/s": "{.publications_a_second:,.0f}",
    "p99 µs": "{.p99_microseconds:.1f}",
    "matches each": "{.matches_each:.3f}",
}


def geo(
    quick: Annotated[
        bool, typer.Option("--quick", help="A hundredth of the fences and clients.")
    ] = False,
    fences: Annotated[
        list[int] | None,
        typer.Option("--fences", "-n", min=1, help="How many; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed makes the same fences.")] = 1,
) -> None:
    """Measure matching, moving and building, per core, in an index of mixed shapes."""
    console = tables.console()
    sizes = fences or list(QUICK_SIZES if quick else SIZES)
    clients = QUICK_CLIENTS if quick else CLIENTS
    found = []
    with console.status("") as status:
        for size in sizes:
            status.update(f"{size:,} fences")
            found.append(measure_finding(seed, size))
        status.update(f"{clients:,} moving clients")
        moving = measure_moving(seed, clients)
        held = QUICK_HELD if quick else HELD
        status.update(f"a broker with {held:,} located subscriptions")
        through = measure_through(seed, held, THROUGH_MESSAGES)
        plain = measure_plain(seed, held)
        status.update("beside shapely")
        beside = _beside(seed)
    title = "Publications matched against static fences"
    console.print(tables.records(title, COLUMNS, found, left=0))
    console.print(f"{clients:,} clients with an area around them: {moving:,.0f} position updates/s")
    console.print(
        f"Through a whole broker, {held:,} located subscriptions: "
        f"{through:,.0f} located publications/s, bytes to bytes"
    )
    console.print(
        f"Plain publications beside them: {plain.beside:,.0f}/s, without them "
        f"{plain.without:,.0f}/s ({-plain.loss:+.1%})"
    )
    console.print(beside)
    console.print(f"{machine()}; rates are per second of one core's time")


def _beside(seed: int) -> str:
    try:
        own = measure_own(GeoWorld(seed), BESIDE_CLIENTS, BESIDE_OPERATIONS)
        shapely = measure_shapely(GeoWorld(seed), BESIDE_CLIENTS, SHAPELY_OPERATIONS)
    except ImportError:
        raise WrongUse("shapely is not installed: pip install 'gossamer[geo]'") from None
    return (
        f"{BESIDE_CLIENTS:,} clients, each step a move and a match: {own:,.0f}/s; "
        f"shapely with an STRtree rebuilt on change: {shapely:,.0f}/s "
        f"({own / shapely:,.0f} times slower)"
    )


@dataclass(frozen=True)
class Finding:
    """An index of so many fences, and what a publication costs in it."""

    fences: int
    build_seconds: float
    bytes_each: float
    publications_a_second: float
    p99_microseconds: float
    matches_each: float


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
    return quantile(sorted(times), 0.99)


def _index_followers(world: GeoWorld, clients: int) -> tuple[SpatialIndex, list[Interest]]:
    index = SpatialIndex()
    followers = [world.follower() for _ in range(clients)]
    for follower in followers:
        index.add(follower)
    return index, followers


def measure_moving(seed: int, clients: int, rounds: int = 2) -> float:
    """Updates a second: every client, with a circle around it, reports a new position a round."""
    world = GeoWorld(seed)
    index, followers = _index_followers(world, clients)
    spent = 0.0
    for number in range(rounds):
        steps = [world.step(follower.position or world.place()) for follower in followers]
        started = time.process_time()
        for follower, step in zip(followers, steps, strict=True):
            index.move(follower, Point(step.lat, step.lon), float(number))
        spent += time.process_time() - started
    return clients * rounds / spent


def _add_fences(broker: Broker, world: GeoWorld, count: int) -> None:
    for number in range(count):
        at = world.place()
        text = f"1;m;1;{at.lat};{at.lon};{world.size():.2f}"
        client = LoopbackClient(broker, f"f{number}", version=V5)
        client.subscribe("fleet/+", user=[("gpl_circleStatic", text)])


def measure_plain(seed: int, fences: int, messages: int = PLAIN_MESSAGES) -> PlainRun:
    """Plain messages a second, without and with geofences on other topics."""
    return run_plain(
        fences, lambda broker: _add_fences(broker, GeoWorld(seed), fences), messages, 1
    )


def measure_through(seed: int, fences: int, messages: int) -> float:
    """Publications a second with a position, from bytes to bytes."""
    world = GeoWorld(seed)
    broker = quiet_broker()
    _add_fences(broker, world, fences)
    packets = []
    for _ in range(CHUNK_PACKETS):
        at = world.place()
        packets.append(located_publication("fleet/van", bytes(64), f"{at.lat};{at.lon}"))
    writer = LoopbackClient(broker, "writer", version=V5)
    return writer.rate(b"".join(packets), CHUNK_PACKETS, messages)


def measure_own(world: GeoWorld, clients: int, operations: int) -> float:
    """Operations a second; an operation is a move and a match."""
    index, followers = _index_followers(world, clients)
    places = [world.place() for _ in range(operations)]
    started = time.process_time()
    for number, place in enumerate(places):
        follower = followers[number % clients]
        index.move(follower, Point(place.lat, place.lon), 0.0)
        index.at(place, 0.0)
    return operations / (time.process_time() - started)


def measure_shapely(world: GeoWorld, clients: int, operations: int) -> float:
    """The same work."""
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
