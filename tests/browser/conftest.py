"""One browser for all tests, and a new page for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from .chromium import Page, browser, find_chromium


@pytest.fixture(scope="session")
def new_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Page]]:
    program = find_chromium()
    if program is None:
        pytest.exit(
            "no Chromium is installed: `make test-browser` installs Debian's, or APPORTION_CHROMIUM names one",
            returncode=1,
        )
    with browser(program, tmp_path_factory.mktemp("chromium") / "profile") as pipe:
        yield pipe.page


@pytest.fixture
def page(new_page: Callable[[], Page]) -> Page:
    return new_page()
