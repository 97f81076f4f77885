"""Debian's Chromium without a screen, driven by Selenium; skips where there is none."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from selenium import webdriver
from selenium.common.exceptions import (
    ElementNotInteractableException,
    NoSuchElementException,
    StaleElementReferenceException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

T = TypeVar("T")
PATIENCE = 60.0  # seconds; a loaded machine may take them
CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",  # Chromium's own refuses to start for root
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1300,900",
)
# Pages are redrawn while they are looked at.
MOMENTARY = (
    NoSuchElementException,
    StaleElementReferenceException,
    ElementNotInteractableException,
)


class Browser:
    """Finds by CSS and waits: nothing here is there at once."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, url: str) -> None:
        self.driver.get(url)

    def find(self, css: str) -> WebElement:
        return self.wait(lambda: self.driver.find_element(By.CSS_SELECTOR, css))

    def text(self, css: str) -> str:
        return self.wait(lambda: self.driver.find_element(By.CSS_SELECTOR, css).text or " ").strip()

    def click(self, css: str) -> None:
        def clicked() -> bool:
            self.driver.find_element(By.CSS_SELECTOR, css).click()
            return True

        self.wait(clicked)

    def type(self, css: str, text: str) -> None:
        def typed() -> bool:
            field = self.driver.find_element(By.CSS_SELECTOR, css)
            # A page that draws itself puts back what clear() took; selected text is replaced.
            field.send_keys(Keys.CONTROL + "a")
            field.send_keys(text)
            return True

        self.wait(typed)

    def press(self, label: str) -> None:
        """The button that says this."""
        self._click_text("button", label)

    def choose(self, field: str, option: str) -> None:
        """The option that begins so, in the select with this label."""
        self.click(f'[aria-label="{field}"]')
        self._click_text(".q-item", option)

    def rows(self) -> list[str]:
        """The first column with text of a table."""
        cells = self.driver.find_elements(By.CSS_SELECTOR, "tbody tr td:nth-child(2)")
        return [cell.text for cell in cells]

    def _click_text(self, css: str, text: str) -> None:
        def clicked() -> bool:
            for one in self.driver.find_elements(By.CSS_SELECTOR, css):
                if one.text.startswith(text):
                    one.click()
                    return True
            return False

        self.wait(clicked)

    def until(self, css: str, text: str) -> None:
        """Until an element says this."""

        def says() -> bool:
            found = self.driver.find_elements(By.CSS_SELECTOR, css)
            return any(text in one.text for one in found)

        self.wait(says)

    def wait(self, question: Callable[[], T]) -> T:
        waiting = WebDriverWait(self.driver, PATIENCE, 0.1, MOMENTARY)
        return waiting.until(lambda _: question())


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no Chromium: install Debian's packages chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options, Service(DRIVER))
    try:
        driver.set_page_load_timeout(PATIENCE)
        yield Browser(driver)
    finally:
        driver.quit()
