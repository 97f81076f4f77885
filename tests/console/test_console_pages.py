"""The pages in a real browser, against real brokers."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gossamer.net.client import Client
from gossamer.net.local.mesh import LocalMesh
from gossamer.wire.properties import Properties
from tests.support.browser import Browser


@contextmanager
def publishing(
    port: int, topic: str, payload: str, user: tuple[str, str] | None = None
) -> Iterator[None]:
    """Publishes again and again for as long as the `with` lasts."""
    stop = threading.Event()

    async def publish() -> None:
        properties = Properties()
        properties.user = [user] if user else []
        async with Client(f"mqtt://127.0.0.1:{port}", "publisher") as client:
            while not stop.is_set():
                await client.publish(topic, payload, properties=properties)
                await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(publish()), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_signing_in(stranger: Browser, address: str, token: str) -> None:
    stranger.open(f"{address}/topics")
    stranger.type("#token", "not the token")
    stranger.click("button")
    stranger.until("[role=alert]", "not the admin token")
    stranger.type("#token", token)
    stranger.click("button")
    stranger.until("[role=status]", "2 of 2 up")


def test_the_overview_is_live(browser: Browser, mesh: LocalMesh) -> None:
    figure = '[data-figure="Messages in, a second"]'
    with publishing(mesh.brokers[0].port, "live/value", "1"):
        browser.wait(lambda: float(browser.text(figure)) > 5)
    browser.wait(lambda: float(browser.text(figure)) < 5)


def test_topics_are_live(browser: Browser, address: str, mesh: LocalMesh) -> None:
    browser.open(f"{address}/topics")
    with publishing(mesh.brokers[1].port, "city/centre/air", '{"pm10":15}'):
        for path in ("city", "city/centre", "city/centre/air"):
            browser.click(f'[data-path="{path}"]')
        browser.until("[data-payload]", '"pm10": 15')
