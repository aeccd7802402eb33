"""One browser for all tests, and a new page for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from .chromium import Page, find_chromium, new_page, started

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.exit(
            "no Chromium is installed: `make test-browser` installs Debian's, or APPORTION_CHROMIUM names one",
            returncode=1,
        )
    with started(program) as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = new_page(browser)
    yield page
    page.driven.context.close()


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    page = new_page(browser, width=390, height=844)
    yield page
    page.driven.context.close()
