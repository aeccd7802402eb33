"""Every backend has a page with its own capability table. Rewrite it with `pytest --update-golden`."""

from __future__ import annotations

from pathlib import Path

import pytest

from apportion_cli.fidelity_evidence import read_evidence, with_fidelity_tables
from apportion_compiler.backends import BACKENDS, COMPANIONS
from apportion_compiler.backends.capability import Backend
from apportion_compiler.backends.capability_table import (
    condition_table,
    with_capability_table,
    with_table,
)

ROOT = Path(__file__).parent.parent.parent
PAGES = ROOT / "docs" / "backends"
MATRIX = PAGES.parent / "fidelity.md"
DELIVERY = PAGES.parent / "delivery.md"


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=lambda backend: backend.name)
def test_page_table_is_up_to_date(backend: Backend, update_golden: bool) -> None:
    page = PAGES / f"{backend.name}.md"
    text = page.read_text(encoding="utf-8")
    if update_golden:
        page.write_text(with_capability_table(text, backend), encoding="utf-8")
    else:
        assert text == with_capability_table(text, backend)


def test_fidelity_tables_are_up_to_date(update_golden: bool) -> None:
    text = MATRIX.read_text(encoding="utf-8")
    expected = with_fidelity_tables(text, BACKENDS.values(), read_evidence(ROOT))
    if update_golden:
        MATRIX.write_text(expected, encoding="utf-8")
    else:
        assert text == expected


def test_delivery_table_is_up_to_date(update_golden: bool) -> None:
    text = DELIVERY.read_text(encoding="utf-8")
    expected = with_table(text, condition_table(BACKENDS.values()))
    if update_golden:
        DELIVERY.write_text(expected, encoding="utf-8")
    else:
        assert text == expected


def test_every_page_has_a_backend() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} <= {*BACKENDS, *COMPANIONS}


@pytest.mark.parametrize("name", COMPANIONS)
def test_every_companion_has_a_page(name: str) -> None:
    assert (PAGES / f"{name}.md").is_file()
