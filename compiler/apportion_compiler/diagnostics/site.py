"""Where the documentation is published. To publish it elsewhere, change `SITE`, and `urls` in pyproject.toml."""

from __future__ import annotations

from pathlib import PurePosixPath

SITE = "https://apportion.dev/"


def published(page: str) -> str:
    """Return the address of a page of the repository: `docs/language.md` is `language.html` of the site."""
    return SITE + PurePosixPath(page).relative_to("docs").with_suffix(".html").as_posix()
