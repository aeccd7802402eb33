"""Input is printed only as text to terminals, CI systems, Markdown pages and shells."""

from __future__ import annotations

import gc
import json
import re
import shlex
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from apportion_cli.main import main
from apportion_policy import Policy
from apportion_policy.evaluation.sanitized_text import (
    comment_lines,
    escaped_commands,
    escaped_json,
    escaped_text,
    fenced,
)

PAYLOADS = ("\x1b[2J", "\x9b31m", "\x07", "\r", "\u202e", "\u2066", "\u200b", "\u2028", "\x85", "\U000e0041", "\ufeff")
COMMANDS = (
    "::error::owned",
    "  ::set-output name=x::1",
    "\u3000::warning::x",
    "##[error]x",
    "##vso[task.setvariable]x",
)
HOSTILE = st.lists(
    st.sampled_from((*PAYLOADS, *COMMANDS, "\n", "```", "`````", "'", '"', "$(id)", "\\")) | st.text(max_size=4),
    max_size=8,
).map("".join)
REFUSED = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def _raw(text: str) -> set[str]:
    return {c for c in text if c not in "\n\t" and unicodedata.category(c) in REFUSED}


def _obeyed(text: str) -> list[str]:
    """Return the lines that a GitHub or Azure runner parses as commands; .NET trims all Unicode whitespace first."""
    return [line for line in text.split("\n") if line.lstrip().startswith("::") or re.search(r"##\w*\[", line)]


@given(HOSTILE)
@example("\t\x85::error::x")
def test_text_cannot_inject_commands(text: str) -> None:
    shown = escaped_text(text)
    assert not _raw(shown)
    assert not _obeyed(shown)
    assert shown.count("\n") == text.count("\n")


@given(st.recursive(HOSTILE, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HOSTILE, inner, max_size=3)))
def test_escaping_preserves_json_values(value: object) -> None:
    shown = escaped_json(json.dumps(value, ensure_ascii=False, indent=2))
    assert not _raw(shown)
    assert not _obeyed(shown)
    assert json.loads(shown) == value


@given(HOSTILE)
def test_only_annotations_are_workflow_commands(text: str) -> None:
    shown = escaped_commands(f"::error file=a::{text}\n")
    assert not _raw(shown)
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in _obeyed(shown))


@given(HOSTILE)
def test_text_cannot_close_a_code_fence(text: str) -> None:
    lines = fenced(text).split("\n")
    fence = lines[0]
    assert set(fence) == {"`"}
    ends = [n for n, line in enumerate(lines[1:], 1) if line.strip().startswith(fence)]
    assert ends == [len(lines) - 2]


@given(st.lists(HOSTILE, max_size=4))
def test_text_cannot_end_a_shell_comment(notes: list[str]) -> None:
    text = comment_lines(notes)
    assert not _raw(text)
    assert text.count("\n") == len(notes)
    assert all(line.startswith("# ") for line in text.splitlines())
    assert shlex.split(text, comments=True) == []


RICH = {
    "organisation": {"name": "acme", "owner": "@acme/platform"},
    "queues": [
        {
            "id": "research", "title": "Research", "owner": "@acme/research", "labels": {"cost": "r"},
            "pools": ["gpus"], "priority_classes": ["train"], "gpu_sharing": True,
            "preempt_min_runtime": "1h", "guaranteed": {"gpu": {"h100": 1}, "memory": "1Gi", "cpu": "1"},
            "over_quota_weight": "2",
            "overrides": [
                {"begin": "2026-01-01", "end": "2026-01-02", "reason": "r", "owner": "@a/b", "environments": ["prod"]}
            ],
            "children": [{"id": "vision", "parent": "research", "namespaces": ["vision"],
                          "users": [{"user": "ada", "limit": {"gpu": 1}}]}],
        }
    ],
    "environments": [
        {
            "name": "prod",
            "clusters": [{"name": "main", "engine": "kai", "engine_version": "0.17.0", "pools": ["gpus"], "share": "1/2",
                          "topologies": [{"name": "t", "levels": ["zone"]}]}],
            "overrides": [{"queue": "research", "reclaim_min_runtime": "1h"}],
        }
    ],
    "priority_classes": [{"name": "train", "value": 50, "queues": ["research"], "description": "d"}],
    "node_pools": [{"id": "gpus", "accelerator": {"model": "h100", "count": 8}, "max_nodes": 1, "labels": {"k": "v"}}],
    "provisioning_plans": [{"id": "p", "parameters": {"k": "v"}}],
    "rules": {"severity": {"AP201": "warning"}, "overcommit": "1"},
    "waivers": [{"code": "AP201", "address": "queue x", "reason": "r", "owner": "@a/b", "expires": "2027-01-01"}],
}  # fmt: skip


def _variants(value: Any, payload: str) -> Iterator[Any]:
    """Yield a copy of the document for each string, including keys, with the payload inserted there."""
    if isinstance(value, str):
        yield from (f"{value}{payload}", f"{payload}{value}", f"{value[:1]}{payload}{value[1:]}")
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield {(f"{key}{payload}" if k == key else k): v for k, v in value.items()}
            yield from ({**value, key: variant} for variant in _variants(held, payload))
    elif isinstance(value, list):
        for n, held in enumerate(value):
            yield from ([*value[:n], variant, *value[n + 1 :]] for variant in _variants(held, payload))


@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_policy_text_must_be_printable(payload: str) -> None:
    Policy.model_validate(RICH)
    passed = []
    for document in _variants(RICH, payload):
        try:
            passed.append(repr(Policy.model_validate(document)))
        except ValidationError:
            continue
    # Amounts and times are parsed as numbers, so surrounding whitespace is dropped.
    assert not [text for text in passed if payload in text or ascii(payload)[1:-1] in text]
    assert len(passed) < 20


def _run(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(arguments)
    gc.enable()
    captured = capfd.readouterr()
    return captured.out + captured.err


EVIL = "x\x1b[2J\x9b31m\u202ey\n::error::owned\n##[error]z\r"
SAID = f"""
print({EVIL!r})
raise ValueError({EVIL!r})
"""
ENTRY = "p\x1b[31m\u202e\n::error::q.py"
VERBS = (
    ("validate", "-o", "text"), ("validate", "-o", "json"), ("validate", "-o", "sarif"), ("validate", "-o", "junit"),
    ("validate", "-o", "github"), ("validate", "-v", "--color"), ("compile",), ("compile", "-o", "json"), ("graph",),
    ("explain", "queue", "a", "-p"), ("simulate",), ("drift", "prod", "-p"),
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_policy_output_and_name_cannot_inject_commands(
    verb: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(ENTRY).write_text(SAID, encoding="utf-8")
    text = _run(capfd, *verb, ENTRY)
    assert not (_raw(re.sub(r"\x1b\[\d*m", "", text)))
    commands = _obeyed(text)
    assert all(line.startswith("::error file=") for line in commands)
    assert not commands or "github" in verb


@pytest.mark.parametrize(
    "arguments",
    [
        (EVIL,), ("validate", f"--{EVIL}"), ("validate", "-o", EVIL), ("explain", EVIL), ("graph", EVIL), ("up", EVIL),
        ("compile", "-t", EVIL), ("simulate", EVIL), ("preview", EVIL), ("drift", EVIL), ("init", "--ci", EVIL),
        ("bind", EVIL), ("import", EVIL), ("validate", "--manifests", EVIL), ("validate", "--as-of", EVIL),
    ],
    ids=lambda arguments: arguments[0][:8].strip(),
)  # fmt: skip
def test_arguments_cannot_inject_commands(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = _run(capfd, *arguments)
    assert not _raw(text)
    assert not _obeyed(text)
    assert text


def test_manifests_cannot_inject_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": EVIL, "namespace": EVIL},
    }
    Path("m.json").write_text(json.dumps({**queue, "spec": {"clusterQueue": EVIL}}), encoding="utf-8")
    for form in ("text", "json", "sarif", "junit"):
        text = _run(capfd, "validate", "--manifests", "m.json", "-o", form)
        assert not _raw(text)
        assert not _obeyed(text)


def test_policy_output_cannot_set_colours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.py").write_text("raise ValueError('\\x1b[31mred\\x1b[0m')\n", encoding="utf-8")
    text = _run(capfd, "validate", "--color")
    assert "\\x1b[31mred\\x1b[0m" in text
    assert "\x1b[31m\x1b[1merror[AP002]" in text


def test_report_files_are_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    Path(ENTRY).write_text(SAID, encoding="utf-8")
    _run(capfd, "validate", ENTRY, "-o", "sarif=r.sarif", "-o", "json=r.json", "-o", "junit=r.xml", "-o", "text=r.txt")
    for name in ("r.sarif", "r.json", "r.xml", "r.txt"):
        text = Path(name).read_text(encoding="utf-8")
        assert not _raw(text), name
        assert not _obeyed(text), name
    assert "\\u202e" in Path("r.json").read_text(encoding="utf-8")
