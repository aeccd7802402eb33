"""Numbers of things in messages, and that every package leaves their plurals to one function."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apportion_api.counted_nouns import agreeing, counted

ROOT = Path(__file__).parents[3]
PLURAL = re.compile(
    r"""(?x)
    (['"])(?P<noun>[a-z]+)\1\ if\ \S+\ ==\ 1\ else\ (['"])(?P=noun)e?s\3   # 'pod' if n == 1 else 'pods'
    | \{(['"])\4\ if\ [^}]+\ ==\ 1\ else\ (['"])e?s\5\}                     # {'' if n == 1 else 's'}
    | \{(['"])e?s\6\ if\ [^}]+\ !=\ 1\ else\ (['"])\7\}                     # {'s' if n != 1 else ''}
    | ==\ 1\ else\ f"\{\w+(:,)?\}\ \{\w+\}s"                                # f"{n} {word}s"
    """
)


@pytest.mark.parametrize(
    ("number", "noun", "plural", "text"),
    [
        (0, "queue", None, "0 queues"),
        (1, "running workload", None, "1 running workload"),
        (2, "queue", None, "2 queues"),
        (1200, "policy", "policies", "1,200 policies"),
        (1, "policy", "policies", "1 policy"),
    ],
)
def test_counted(number: int, noun: str, plural: str | None, text: str) -> None:
    assert counted(number, noun, plural) == text


def test_agreeing() -> None:
    assert [agreeing(n, "is", "are") for n in (0, 1, 2)] == ["are", "is", "are"]
    assert agreeing(2, "gate") == "gates"


def test_no_module_forms_plurals_itself() -> None:
    """The scheduler core names things as KAI does, so that its sentences are its own."""
    found = [
        f"{file.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for package in ("api", "policy", "compiler", "review", "runtime", "cli")
        for file in sorted((ROOT / package).rglob("*.py"))
        if "build" not in file.relative_to(ROOT).parts
        and not file.is_relative_to(ROOT / "runtime/apportion_runtime/core")
        for text in [file.read_text()]
        for match in PLURAL.finditer(text)
    ]
    assert found == []
