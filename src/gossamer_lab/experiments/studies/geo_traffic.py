"""Geofences on a city's worth of moving clients: the traffic against a broker without them.

A city full of vehicles that move, tell where they are and want to hear of what is near; one broker
core under a virtual clock. Bytes are those of MQTT 5 packets.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Final

from gossamer.broker.broker import Broker
from gossamer.broker.connection import Connection
from gossamer.broker.policy import Origin
from gossamer.broker.settings import Settings
from gossamer.geo.earth import Point, destination
from gossamer.session.journal import Journal
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Connect, Packet, Publish, Request, Subscribe
from gossamer.wire.properties import Properties
from gossamer_lab.bench.loopback import CountingSink
from gossamer_lab.experiments.experiment import (
    Claim,
    Experiment,
    Figure,
    Grid,
    ResultRow,
    ResultRows,
    Scaled,
)
from gossamer_lab.experiments.plots import STYLES, curve, from_zero, panels

VEHICLES: Final = Scaled((300, 150, 50), (1_000, 300, 100), (3_000, 1_000, 300))
# Metres; 0 is a broker without geofences.
RADII: Final = Scaled((0.0, 500.0, 2_000.0), (0.0, 250.0, 500.0, 1_000.0, 2_000.0))
ROUNDS: Final = Scaled(3, 10)
CENTRE: Final = Point(43.77, 11.25)
HALF: Final = 10_000.0  # metres from the centre to an edge: a city of 20 by 20 km
SPEED: Final = 10.0  # metres a second
PERIOD: Final = 1.0  # seconds between two messages of a vehicle
PAYLOAD: Final = 100
TOPIC: Final = "city/traffic"
_ORIGIN: Final = Origin("127.0.0.1", "city")


@dataclass
class Carried:
    """Bytes in each direction, and the messages that went down."""

    up: int = 0
    down: int = 0
    deliveries: int = 0


class CityVehicle:
    def __init__(self, broker: Broker, number: int, random: Random, radius: float) -> None:
        """A radius of 0 is a broker without geofences: it hears of everything."""
        self.random = random
        self.east = random.uniform(-HALF, HALF)
        self.north = random.uniform(-HALF, HALF)
        self.heading = random.uniform(0.0, 2 * math.pi)
        self.sink = CountingSink()
        self.connection: Connection = broker.open(self.sink, _ORIGIN, 0.0)
        self.up = 0
        self._send(Connect(f"v{number}", V5), 0.0)
        properties = Properties()
        if radius:
            properties.user = [self.position(), ("gpl_circleDynamic", f"1;m;1;{radius:g}")]
        self._send(Subscribe(1, [Request(TOPIC)], properties), 0.0)

    def position(self) -> tuple[str, str]:
        away = math.hypot(self.east, self.north)
        at = destination(CENTRE, math.atan2(self.east, self.north), away)
        return "gpl_current_pos", f"{at.lat:.6f};{at.lon:.6f}"

    def drive(self) -> None:
        """Straight on, with a turn now and then, and back at the edge of the city."""
        if self.random.random() < 0.1:
            self.heading = self.random.uniform(0.0, 2 * math.pi)
        self.east = _within(self.east + SPEED * PERIOD * math.sin(self.heading))
        self.north = _within(self.north + SPEED * PERIOD * math.cos(self.heading))

    def speak(self, now: float, is_located: bool) -> None:
        properties = Properties()
        if is_located:
            properties.user = [self.position()]
        self._send(Publish(TOPIC, bytes(PAYLOAD), properties=properties), now)

    def _send(self, packet: Packet, now: float) -> None:
        data = encode(packet, V5)
        self.up += len(data)
        self.connection.receive(data, now)


def _within(metres: float) -> float:
    return max(-HALF, min(HALF, metres))


def drive(vehicles: int, radius: float, rounds: int, seed: int) -> Carried:
    """What that many vehicles cause in so many seconds, without what it takes to begin."""
    settings = Settings()
    settings.sys_interval = 0.0
    broker = Broker(settings, Journal(), 0.0)
    random = Random(seed)
    fleet = [CityVehicle(broker, number, random, radius) for number in range(vehicles)]
    broker.flush(0.0)
    for vehicle in fleet:
        vehicle.up = vehicle.sink.bytes = 0
    before = _sent(fleet)
    for number in range(1, rounds + 1):
        now = number * PERIOD
        for vehicle in fleet:
            vehicle.drive()
            vehicle.speak(now, radius > 0)
            broker.flush(now)
        broker.tick(now)
    return Carried(
        sum(vehicle.up for vehicle in fleet),
        sum(vehicle.sink.bytes for vehicle in fleet),
        _sent(fleet) - before,
    )


def _sent(fleet: list[CityVehicle]) -> int:
    return sum(vehicle.connection.outbox.messages_sent for vehicle in fleet)


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    return asdict(drive(**parameters, seed=seed))


def figures(rows: ResultRows) -> list[Figure]:
    drawing, axes = panels(2)
    for style, radius in zip(STYLES, sorted(rows.distinct("radius")), strict=False):
        label = f"within {radius:g} m" if radius else "no geofences"
        group = rows.where(radius=radius)
        curve(axes[0], group, "vehicles", lambda row: _rate(row, "down"), style, label)
        curve(axes[1], group, "vehicles", lambda row: _rate(row, "up"), style, label)
    axes[0].set(
        xlabel="vehicles", ylabel="from the broker, KiB a second", xscale="log", yscale="log"
    )
    axes[1].set(xlabel="vehicles", ylabel="to the broker, KiB a second")
    from_zero(axes[1])
    axes[0].legend()
    return [
        Figure(
            "City",
            "Traffic of vehicles that want to hear of what is near",
            drawing,
            "Geolocation saves messages that do not concern a client. The paper has no "
            "measurements.",
            [_saved(rows), _cost(rows)],
            "20 by 20 km, 10 m/s, one message of 100 bytes a second from each vehicle.",
        )
    ]


def _rate(row: ResultRow, direction: str) -> float:
    """KiB a second."""
    return float(row[direction] / row["rounds"] / 1024)


def _both(rows: ResultRows, direction: str) -> tuple[float, float, float, int]:
    """Without fences and with a middle one, for the largest fleet; the radius and the fleet."""
    most = max(rows.distinct("vehicles"))
    radius = sorted(radius for radius in rows.distinct("radius") if radius)[0]
    without, within = (
        rows.mean(direction, vehicles=most, radius=wanted) for wanted in (0.0, radius)
    )
    return without, within, radius, most


def _saved(rows: ResultRows) -> Claim:
    without, within, radius, most = _both(rows, "down")
    return Claim(
        f"geofences save downlink traffic ({most:,} vehicles, {radius:g} m)",
        "claimed, not measured",
        f"{1 - within / without:.2%} less: {within / without * 100:.2f} % of the bytes",
        within < without,
        headline=True,
    )


def _cost(rows: ResultRows) -> Claim:
    without, within, _, _ = _both(rows, "up")
    return Claim(
        "telling the position with every message costs uplink",
        "“small”",
        f"{within / without - 1:+.0%} for messages of 100 bytes",
        True,
    )


EXPERIMENT = Experiment(
    name="geo-traffic",
    title="What do geofences save in a city?",
    source="Ihirwe et al. (no figures)",
    about=(
        "Vehicles drive through a city. Each tells something every second, and wants what others "
        "tell within some distance of where it is by then; without geofences it gets everything."
    ),
    grid=Grid({"vehicles": VEHICLES, "radius": RADII}, 3, {"rounds": ROUNDS}),
    measure=measure,
    figures=figures,
)
