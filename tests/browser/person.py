"""A person at a browser: looks, clicks, reads. Every act waits until the page has what it needs."""

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which
from typing import TypeVar

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    StaleElementReferenceException,
    TimeoutException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE_SECONDS = 180
"""For one act. A page takes one to five seconds on an idle machine."""
_STILL_MOVING = (StaleElementReferenceException, ElementClickInterceptedException, ElementNotInteractableException)
_Found = TypeVar("_Found")


def missing() -> str | None:
    """What a browser needs that is not on this machine, None where all is."""
    wanted = [name for name in ("chromium", "chromedriver") if which(name) is None]
    if wanted:
        return f"{' and '.join(wanted)} not installed (Debian: chromium, chromium-driver)"
    return None


def words(text: str, *tags: str) -> str:
    """The XPath of elements with exactly these words; of any kind if no tags are given."""
    return " | ".join(f'//{tag}[normalize-space()="{text}"]' for tag in tags or ("*",))


class Person:
    """Someone at a page of the UI at `address`."""

    def __init__(self, driver: webdriver.Chrome, address: str) -> None:
        self.driver, self.address = driver, address

    def go(self, path: str) -> None:
        """Type an address of the UI."""
        self.driver.get(self.address + path)

    def text(self) -> str:
        """All words that are to be seen."""
        return self.driver.find_element(By.TAG_NAME, "body").text

    def seen(self, xpath: str) -> list[WebElement]:
        """The elements that are to be seen at this moment."""
        return [one for one in self.driver.find_elements(By.XPATH, xpath) if one.is_displayed()]

    def wait(self, what: str, condition: Callable[[], _Found], seconds: float = PATIENCE_SECONDS) -> _Found:
        """The first answer of `condition` that is not empty. Raises TimeoutError that shows the page."""
        try:
            found = WebDriverWait(self.driver, seconds, 0.3, _STILL_MOVING).until(lambda _: condition())
        except TimeoutException:
            raise TimeoutError(f"no {what} within {seconds} s at {self.driver.current_url}:\n{self.text()}") from None
        assert found
        return found

    def read(self, pattern: str, seconds: float = PATIENCE_SECONDS) -> str:
        """The first words of the page that match, once they are there; `^` and `$` are ends of lines."""
        found = self.wait(f"words {pattern!r}", lambda: re.search(pattern, self.text(), re.MULTILINE), seconds)
        return found.group()

    def click(self, xpath: str, *, which: int = 0) -> None:
        """Click the first of the elements that are to be seen, or the one at `which` (-1: the last)."""

        def clicked() -> bool:
            if not (elements := self.seen(xpath)):
                return False
            elements[which].click()
            return True

        self.wait(f"{xpath} to click", clicked)

    def press(self, *keys: str) -> None:
        """Press keys together, wherever the page has its focus."""
        chain = webdriver.ActionChains(self.driver)
        for key in keys[:-1]:
            chain.key_down(key)
        chain.send_keys(keys[-1])
        for key in keys[:-1]:
            chain.key_up(key)
        chain.perform()

    def keep_what_is_seen(self, path: Path) -> None:
        """A picture of the page, its words beside it; a browser that is gone leaves none."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(Exception):  # it is called for a test that failed already, whose error must stay the one told
            self.driver.save_screenshot(str(path.with_suffix(".png")))
            path.with_suffix(".txt").write_text(f"{self.driver.current_url}\n{self.text()}", "utf-8")


@contextmanager
def at(address: str) -> Iterator[Person]:
    """A person at a headless Chromium of their own."""
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = which("chromium") or ""
        for argument in (
            "--headless=new",
            "--no-sandbox",  # the tests may run as root, and open no page but their own
            "--disable-dev-shm-usage",  # containers have little of it
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--window-size=1600,1400",
            f"--user-data-dir={profile}",
        ):
            options.add_argument(argument)
        driver = webdriver.Chrome(options=options, service=Service(which("chromedriver")))
        try:
            yield Person(driver, address)
        finally:
            driver.quit()
