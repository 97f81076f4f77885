"""A console that stands still costs a broker nothing but what it drops for it."""

import asyncio
import os
import signal
import subprocess

from gossamer.net.client import Client
from gossamer.net.local.mesh import LocalMesh
from tests.support.browser import PATIENCE, Browser

MESSAGES = 3000
PAYLOAD = b"x" * 2000


def test_others_are_served_while_the_console_stands_still(
    browser: Browser,
    address: str,
    mesh: LocalMesh,
    console_process: tuple[str, "subprocess.Popen[str]"],
) -> None:
    browser.open(f"{address}/topics")
    browser.until("[role=status]", "topics")
    process = console_process[1]
    os.kill(process.pid, signal.SIGSTOP)
    try:
        received = asyncio.run(asyncio.wait_for(flood(mesh.brokers[0].port), PATIENCE))
    finally:
        os.kill(process.pid, signal.SIGCONT)
    assert received == MESSAGES
    browser.until("[role=status]", "2 of 2 up")


async def flood(port: int) -> int:
    """How many of the messages a subscriber beside the console gets."""
    place = f"mqtt://127.0.0.1:{port}"
    async with Client(place, "reader") as reader, Client(place, "writer") as writer:
        await reader.subscribe("flood/#", qos=1)

        async def read() -> int:
            count = 0
            async for _ in reader.messages():
                count += 1
                if count == MESSAGES:
                    break
            return count

        reading = asyncio.create_task(read())
        for number in range(MESSAGES):
            await writer.publish(f"flood/{number % 10}", PAYLOAD, qos=1)
        return await reading
