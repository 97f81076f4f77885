"""The pages in a real browser, against real brokers."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By

from gossamer.net.client import Client, Disconnected
from gossamer.net.local.mesh import LocalMesh
from gossamer.wire.properties import Properties
from tests.support.browser import PATIENCE, Browser
from tests.support.lakes import fill_lake

HERE = ("gpl_current_pos", "43.7200;10.4000")


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
    stranger.until("[role=alert]", "Wrong admin token")
    stranger.type("#token", token)
    stranger.click("button")
    stranger.until("[role=status]", "2 of 2 up")


def test_the_overview_is_live(browser: Browser, mesh: LocalMesh) -> None:
    figure = '[data-figure="Messages in per second"]'
    with publishing(mesh.brokers[0].port, "live/value", "1"):
        browser.wait(lambda: float(browser.text(figure)) > 5)
    browser.wait(lambda: float(browser.text(figure)) < 5)


def test_topics_are_live(browser: Browser, address: str, mesh: LocalMesh) -> None:
    browser.open(f"{address}/topics")
    with publishing(mesh.brokers[1].port, "city/centre/air", '{"pm10":15}'):
        for path in ("city", "city/centre", "city/centre/air"):
            browser.click(f'[data-path="{path}"]')
        browser.until("[data-payload]", '"pm10": 15')
        browser.type('[aria-label="Watch"]', "nowhere/#\n")
        browser.wait(lambda: not browser.driver.find_elements(By.CSS_SELECTOR, "[data-path=city]"))
        browser.type('[aria-label="Watch"]', "#\n")
        browser.find("[data-path=city]")


def test_subscribing_with_an_operator_and_publishing(
    browser: Browser, address: str, mesh: LocalMesh
) -> None:
    browser.open(f"{address}/exchange")
    browser.type("[data-wanted-topics]", "try/+/temp")
    browser.choose("Operator", "GT: ")
    browser.type('[aria-label="Value"]', "30")
    browser.until("[data-filter]", "$GT;30/try/+/temp")
    browser.click("[data-subscribe]")
    browser.until("[role=status]", "0 results for $GT;30/try/+/temp")
    for payload in ("21", "35"):
        browser.type('[aria-label="Topic"]', "try/room/temp")
        browser.type('[aria-label="Payload"]', payload)
        browser.click("[data-publish]")
        browser.until("[role=status]", "published on try/room/temp")
    browser.until("[data-results]", "35")
    assert "21" not in browser.text("[data-results]").replace("21:", "")


def test_a_fence_is_drawn_and_subscribed_with(
    browser: Browser, address: str, mesh: LocalMesh
) -> None:
    with publishing(mesh.brokers[1].port, "fleet/van7", "here", HERE):
        browser.open(f"{address}/map")
        browser.find('[data-track="fleet/van7"]')
        browser.until("[data-chosen-track]", "Click a mark")
        browser.click('[data-track="fleet/van7"] circle')
        browser.until("[data-chosen-track]", "fleet/van7  here  at 43.7")
        browser.press("Circle")
        browser.find(".map[data-tool=circle]")
        van = browser.find('[data-track="fleet/van7"] circle')
        actions = ActionChains(browser.driver)
        actions.move_to_element(van).click_and_hold().move_by_offset(60, 40).release().perform()
        browser.until("[data-fence-property]", "gpl_circleStatic = 1;m;1;43.7")
        browser.click("[data-fence-subscribe]")
        browser.until("[data-fence-status]", "messages from inside it")
        browser.wait(lambda: not browser.text("[data-fence-status]").startswith("0 "))
        browser.until("[data-fence-results]", "fleet/van7")


def test_a_client_is_disconnected(browser: Browser, address: str, mesh: LocalMesh) -> None:
    ended = threading.Event()

    async def stay() -> None:
        async with Client(f"mqtt://127.0.0.1:{mesh.brokers[0].port}", "doomed") as client:
            await client.subscribe("its/own/filter")
            try:
                async for _ in client.messages():
                    pass
            except Disconnected:
                ended.set()

    thread = threading.Thread(target=lambda: asyncio.run(stay()), daemon=True)
    thread.start()
    browser.open(f"{address}/sessions")
    browser.type('[aria-label="Search"]', "doomed")
    browser.wait(lambda: browser.rows() == ["doomed"])
    browser.click("tbody .q-checkbox")
    browser.until("section", "its/own/filter")
    browser.press("Disconnect")
    assert ended.wait(PATIENCE)
    thread.join()


def test_a_pipeline_and_its_tables(browser: Browser, address: str, lake: Path) -> None:
    fill_lake(lake)
    browser.open(f"{address}/pipelines")
    browser.until('[data-figure="Last batch"]', "2")
    browser.wait(lambda: browser.rows() == ["batches", "gold/minute", "silver/readings"])
    browser.click("tbody tr:nth-child(2) .q-checkbox")
    browser.until("tbody", "city/1/temp")


def test_savings_are_shown(browser: Browser, address: str) -> None:
    browser.open(f"{address}/savings")
    browser.wait(lambda: browser.text('[data-saved="Mesh"]').endswith(("saved", "much")))
    browser.until("[data-link-savings]", "b1 → b2")
    browser.until("[data-link-savings]", "b2 → b1")


def test_a_link_breaks_and_heals(browser: Browser, address: str, mesh: LocalMesh) -> None:
    browser.open(f"{address}/mesh")
    browser.find('[data-link="b1 b2"][data-state=tree]')
    browser.click('[aria-label="Cut b1 – b2"]')
    browser.find('[data-link="b1 b2"][data-state=down]')
    browser.until("[data-changes]", "tree → down")
    browser.click('[aria-label="Restore b1 – b2"]')
    browser.find('[data-link="b1 b2"][data-state=tree]')
    browser.until("[data-changes]", "down → tree")
