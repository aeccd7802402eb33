"""docs/language.md covers the whole language, and its examples are a policy that validates."""

from __future__ import annotations

from pathlib import Path

from apportion_cli.language_page import (
    declaration_kinds,
    documented_kinds,
    example_files,
    field_examples,
    with_field_tables,
)

from .conftest import Run

PAGE = Path(__file__).parents[3] / "docs/language.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_declaration_has_a_table() -> None:
    assert declaration_kinds().keys() - documented_kinds(TEXT) == set()


def test_every_field_has_an_example() -> None:
    examples = field_examples(example_files(TEXT))
    fields = {(name, field) for name, kind in declaration_kinds().items() for field in kind.model_fields}
    # The discriminator of a union is the class's name in Python and needs writing in YAML alone.
    assert sorted(field for field in fields - examples.keys() if field[1] != "kind") == []


def test_every_field_has_a_description() -> None:
    kinds = declaration_kinds().items()
    assert [
        f"{name}.{field}" for name, kind in kinds for field, info in kind.model_fields.items() if not info.description
    ] == []


def test_tables_are_up_to_date() -> None:
    assert with_field_tables(TEXT) == TEXT, "run: make docs-tables"


def test_examples_form_policy_that_compiles(tmp_path: Path, run: Run) -> None:
    for name, text in example_files(TEXT).items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    done = run("compile", tmp_path, "--out", tmp_path / "rendered", "--as-of", "2027-01-15")
    assert done.code == 0, done.err
