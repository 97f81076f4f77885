"""What is in the city, and what each device publishes at a moment. Nothing here waits or sends.

All devices follow from a seed, so that two runs show the same city. Nothing is retained: what is
goes to every broker, and nobody would see that readings cross links only where they are wanted.
"""

import math
from dataclasses import dataclass
from random import Random
from typing import Final

from gossamer_lab.demo.city_map import BLOCK_METRES, BLOCKS, DISTRICTS, Spot, corner, spot
from gossamer_lab.demo.street_images import street_picture

DAY_SECONDS: Final = 86_400.0
SENSORS: Final = 80  # in each district
VEHICLES: Final = 12
CAMERAS: Final = 2


@dataclass(frozen=True)
class SensorReading:
    """One publication; `at` is where it was made, if that is to be said."""

    topic: str
    payload: bytes
    qos: int = 0
    at: Spot | None = None


class Device:
    """One client; what it does follows from its number and from chance."""

    seconds = 1.0  # between two publications
    kind = ""

    def __init__(self, district: int, number: int, chance: Random) -> None:
        self.district = district
        self.name = f"{self.kind}{DISTRICTS[district]}-{number}"
        self._chance = Random(chance.random())

    def readings(self, now: float) -> list[SensorReading]:
        raise NotImplementedError


class Sensor(Device):
    """Temperature and noise at a crossing: warm afternoons, loud mornings, chance on top."""

    seconds = 5.0

    def __init__(self, district: int, number: int, chance: Random) -> None:
        super().__init__(district, number, chance)
        self._bias = self._chance.gauss(0.0, 1.5)
        self._at = spot(*corner(district, number % BLOCKS, number // BLOCKS % BLOCKS))

    def readings(self, now: float) -> list[SensorReading]:
        of_day = now % DAY_SECONDS / DAY_SECONDS * 2 * math.pi
        # A minute's swing on top of the day's, so that something happens while one looks.
        swing = 3.0 * math.sin(now / 30 + self._bias)
        warmth = 22.0 - 6.0 * math.cos(of_day - 0.6) + self._bias + swing
        noise = 55.0 - 10.0 * math.cos(of_day) + self._chance.gauss(0.0, 4.0)
        return [
            SensorReading(f"city/{self.name}/temp", f"{warmth:.1f}".encode(), qos=1, at=self._at),
            SensorReading(f"city/{self.name}/noise", f"{noise:.0f}".encode()),
        ]


class Vehicle(Device):
    """Drives along the streets of its district, turning by chance; says where it is."""

    kind = "bus-"
    _metres_a_second = 12.0

    def __init__(self, district: int, number: int, chance: Random) -> None:
        super().__init__(district, number, chance)
        self._column = self._chance.randrange(BLOCKS + 1)
        self._row = self._chance.randrange(BLOCKS + 1)
        self._heading = (1, 0)
        self._driven = 0.0  # metres since the last crossing
        self._seen: float | None = None
        self._turn()

    def readings(self, now: float) -> list[SensorReading]:
        if self._seen is not None:
            self._drive(max(0.0, now - self._seen) * self._metres_a_second)
        self._seen = now
        east, north = corner(self.district, self._column, self._row)
        place = spot(
            east + self._heading[0] * self._driven, north + self._heading[1] * self._driven
        )
        speed = 3.6 * self._metres_a_second + self._chance.gauss(0.0, 3.0)
        payload = f'{{"speed": {speed:.0f}, "lat": {place.lat:.6f}, "lon": {place.lon:.6f}}}'
        return [SensorReading(f"city/{self.name}/drive", payload.encode(), at=place)]

    def _drive(self, metres: float) -> None:
        self._driven += metres
        while self._driven >= BLOCK_METRES:
            self._driven -= BLOCK_METRES
            self._column += self._heading[0]
            self._row += self._heading[1]
            self._turn()

    def _turn(self) -> None:
        ways = [
            way
            for way in ((1, 0), (-1, 0), (0, 1), (0, -1))
            if 0 <= self._column + way[0] <= BLOCKS and 0 <= self._row + way[1] <= BLOCKS
        ]
        back = (-self._heading[0], -self._heading[1])
        ahead = [way for way in ways if way == self._heading]
        self._heading = self._chance.choice([way for way in ways if way != back] + 3 * ahead)


class Camera(Device):
    """Shows a street, as a picture of a few kilobytes."""

    seconds = 4.0
    kind = "camera-"

    def readings(self, now: float) -> list[SensorReading]:
        daylight = 0.5 - 0.5 * math.cos(now % DAY_SECONDS / DAY_SECONDS * 2 * math.pi)
        cars = self._chance.randrange(1, 6)
        picture = street_picture(daylight, cars, self._chance)
        return [SensorReading(f"city/{self.name}/image", picture)]


def all_devices(seed: int = 1, share: float = 1.0) -> list[Device]:
    """All devices of the city, or a share of each kind."""
    chance = Random(seed)
    found: list[Device] = []
    for district in range(len(DISTRICTS)):
        for kind, count in ((Sensor, SENSORS), (Vehicle, VEHICLES), (Camera, CAMERAS)):
            for number in range(max(1, round(count * share))):
                found.append(kind(district, number, chance))
    return found
