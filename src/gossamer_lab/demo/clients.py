"""The city's devices as clients: each has a connection of its own to the broker of its district."""

import asyncio
import time
from random import Random
from typing import Final

from gossamer.geo.glp import POSITION
from gossamer.net.client import Client
from gossamer.wire.properties import Properties
from gossamer_lab.demo.city_map import FENCES, DemoFence
from gossamer_lab.demo.devices import Device, SensorReading

AGAIN_SECONDS: Final = 1.0  # after a broker that does not answer

# What the city's own people read, so that brokers have something to compute and to save.
OPERATORS: Final = (
    "$AVG/city/+/temp",
    "$GT;28/city/+/temp",
    "$MAX/city/+/noise",
    "$GT;45;speed/city/+/drive",
)


class DemoTally:
    """What was published and what came back, for the line at the bottom of the screen."""

    def __init__(self) -> None:
        self.published = 0
        self.received = 0
        self.connected = 0


async def publish_readings(device: Device, url: str, tally: DemoTally, chance: Random) -> None:
    """Publishes for ever, over broken connections too."""
    pause = chance.uniform(0.0, device.seconds)
    while True:
        try:
            async with Client(url, device.name) as client:
                tally.connected += 1
                try:
                    await asyncio.sleep(pause)
                    while client.connected:
                        for reading in device.readings(time.time()):
                            await _publish(client, reading)
                            tally.published += 1
                        await asyncio.sleep(device.seconds)
                finally:
                    tally.connected -= 1
        except (OSError, TimeoutError):
            await asyncio.sleep(AGAIN_SECONDS)


async def _publish(client: Client, reading: SensorReading) -> None:
    properties = None
    if reading.at is not None:
        properties = Properties()
        properties.user.append((POSITION, f"{reading.at.lat!r};{reading.at.lon!r}"))
    await client.publish(reading.topic, reading.payload, reading.qos, properties=properties)


async def read_results(url: str, tally: DemoTally) -> None:
    """A control room: operators over the whole city."""
    await _read(url, "control-room", OPERATORS, None, tally)


async def watch_fence(url: str, fence: DemoFence, tally: DemoTally) -> None:
    """Somebody who wants to know which buses come and go there."""
    import json

    properties = Properties()
    area = json.dumps(fence.geometry(), separators=(",", ":"))
    properties.user.append(("gpl_geojson", f"1;m;1;{area}"))
    properties.user.append(("gpl_events", "enter,exit"))
    await _read(url, f"gate-{fence.name}", ("city/+/drive",), properties, tally)


async def _read(
    url: str, name: str, filters: tuple[str, ...], properties: Properties | None, tally: DemoTally
) -> None:
    while True:
        try:
            async with Client(url, name) as client:
                for filter in filters:
                    await client.subscribe(filter, properties=properties)
                async for _ in client.messages():
                    tally.received += 1
        except (OSError, TimeoutError):
            pass
        await asyncio.sleep(AGAIN_SECONDS)


async def run_clients(
    devices: list[Device], urls: list[str], tally: DemoTally, seed: int = 1
) -> None:
    """Everybody, until cancelled; district number n is served by the n-th broker."""
    chance = Random(seed)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read_results(urls[1], tally))
        for fence in FENCES:
            tasks.create_task(watch_fence(urls[fence.district], fence, tally))
        for device in devices:
            own = Random(chance.random())
            tasks.create_task(publish_readings(device, urls[device.district], tally, own))
