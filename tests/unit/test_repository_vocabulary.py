"""Texts follow `docs/decisions/0013-english.md`: phrases of `.ci/vocabulary.toml` do not reappear."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_VOCABULARY = tomllib.loads((ROOT / ".ci/vocabulary.toml").read_text(encoding="utf-8"))
TEXT: Mapping[str, str] = _VOCABULARY["text"]
OUTPUT: Mapping[str, str] = _VOCABULARY["output"]
_CODE = ("api", "cli", "compiler", "review", "runtime", "policy")
_PAGES = ("docs", "examples", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_STANDARD = "docs/decisions/0013-english.md"
"""The page that quotes the phrases."""


_CONTINUED = r"[\"']?\s*\n\s*(?:#\s|f?[\"']|)"
"""Continuations of a line, a comment or a string on the next line."""


def _pattern(phrases: Mapping[str, str]) -> re.Pattern[str]:
    joined = "|".join(re.escape(phrase).replace(r"\ ", rf"(?: {_CONTINUED}|{_CONTINUED}| )") for phrase in phrases)
    return re.compile(rf"\b(?<!there )(?:{joined})\b", re.IGNORECASE)


def found(path: str, text: str, phrases: Mapping[str, str]) -> Iterator[str]:
    """Yield `file:line: phrase: write …` for every banned phrase of a text."""
    for hit in _pattern(phrases).finditer(text):
        phrase = re.sub(f" ?{_CONTINUED}", " ", hit.group()).lower()
        line = text.count("\n", 0, hit.start()) + 1
        yield f"{path}:{line}: `{phrase}`: write {phrases[next(p for p in phrases if p.lower() == phrase)]!r}"


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of every string of a module that is no docstring; a placeholder is `{}`."""
    tree = ast.parse(source)
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            skipped.update(map(id, node.values))
            text = "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
            yield node.lineno, text
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def _tracked(*below: str, suffix: str) -> Iterator[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *below], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    yield from (name for name in listed.split("\0") if name.endswith(suffix) and name != _STANDARD)


@pytest.mark.parametrize("package", _CODE)
def test_code_contains_no_banned_phrase(package: str) -> None:
    faults: list[str] = []
    for name in _tracked(package, suffix=".py"):
        source = (ROOT / name).read_text(encoding="utf-8")
        faults += found(name, source, TEXT)
        if not _pattern(OUTPUT).search(source):
            continue
        for line, text in messages(source):
            faults += (fault.replace(":1:", f":{line}:", 1) for fault in found(name, text, OUTPUT))
    assert faults == []


def test_pages_contain_no_banned_phrase() -> None:
    phrases = {**TEXT, **OUTPUT}
    names = (
        *_tracked(*_PAGES, suffix=".md"),
        *_tracked("examples", suffix=".py"),
        *_tracked("examples", suffix=".yaml"),
        *_tracked(*_CODE, suffix=".j2"),
        *_tracked(*_CODE, suffix=".tmpl"),
    )
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    assert [fault for name, text in texts.items() for fault in found(name, text, phrases)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# It speaks of\n# GPUs.", ["a.py:1: `speaks of`: write 'declares'"]),
        ('x = 1\ny = "the queue speaks "\n    f"of it"', ["a.py:2: `speaks of`: write 'declares'"]),
        ('x = 1\ny = "`8 x` is no quantity"', ["a.py:2: `is no quantity`: write 'is not a quantity'"]),
        ("there is no quantity", []),
        ("a quantity of 8", []),
        ("it is not a quantity", []),
    ],
)
def test_banned_phrase_is_reported_with_replacement(text: str, expected: list[str]) -> None:
    phrases = {"speaks of": "declares", "is no quantity": "is not a quantity"}
    assert list(found("a.py", text, phrases)) == expected


def test_messages_exclude_docstrings() -> None:
    assert list(messages('"""A page."""\nraise ValueError(f"{x} is promised")')) == [(2, "{} is promised")]
