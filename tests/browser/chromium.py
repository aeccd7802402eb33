"""A headless Chromium installation, driven by Playwright: its own browsers are not downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    # The other tiers collect these tests too, without the browser driver.
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Driven

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_VARIABLE = "APPORTION_CHROMIUM"


def find_chromium() -> str | None:
    """Return an installed Chromium: the one in a variable, or one of the usual names."""
    named = os.environ.get(_VARIABLE)
    if named:
        return named
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@dataclass(slots=True)
class Page:
    """A page, with its console errors and network requests."""

    driven: Driven
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def value(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        return self.driven.evaluate(expression)

    def open(self, file: Path) -> None:
        """Load a file, and wait until its scripts have run."""
        self.driven.goto(file.as_uri())
        self.value("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def emulate(
        self, *, media: Literal["print", "screen"] | None = None, scheme: Literal["light", "dark"] | None = None
    ) -> None:
        """Emulate another medium, or a reader's preferred colour scheme."""
        self.driven.emulate_media(media=media, color_scheme=scheme)


def new_page(browser: Browser, *, width: int = 1280, height: int = 720) -> Page:
    """Return an empty page in a new window; a width below 600 is a phone."""
    driven = browser.new_context(viewport={"width": width, "height": height}, is_mobile=width < 600).new_page()
    page = Page(driven)
    driven.on("console", lambda message: page.complaints.append(f"{message.type}: {message.text}"))
    driven.on("pageerror", lambda error: page.complaints.append(str(error)))
    driven.on("request", lambda request: page.requests.append(request.url))
    return page


@contextmanager
def started(program: str) -> Iterator[Browser]:
    """Start Chromium, and stop it at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # The browser's sandbox does not start as root; the pages are the project's own.
        browser = playwright.chromium.launch(executable_path=program, chromium_sandbox=os.geteuid() != 0)
        try:
            yield browser
        finally:
            browser.close()
