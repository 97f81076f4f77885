"""A city full of vehicles that move, tell where they are and want to hear of what is near.

One broker core under a virtual clock; bytes are those of MQTT 5 packets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Final

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
