"""Evaluation and checks of a case's policies: in this process, with file names relative to their folder."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from apportion_compiler.backends import BACKENDS
from apportion_compiler.compile import Target, check_policy, compile_policy
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_policy.declaration import collecting_faults, recording_declarations
from apportion_policy.documents import load_document
from apportion_policy.policy import Policy, set_omissions
from apportion_policy.unused_declarations import unused_declarations

AS_OF = date(2026, 11, 21)
_AS_OF_COMMENT = re.compile(r"\A# as-of: (\d{4}-\d{2}-\d{2})$", re.MULTILINE)
_BACKEND_COMMENT = re.compile(r"^# backend: (\S+)$", re.MULTILINE)
_EMISSION = "AP5"
"""Rules of this family speak of a target: a case may name the one that it is about."""

Findings = Callable[[str, str], tuple[Diagnostic, ...]]


@pytest.fixture
def findings() -> Findings:
    """Return every finding about a policy file of the current folder, for a test of one rule's code."""
    return _findings


def _findings(file: str, code: str) -> tuple[Diagnostic, ...]:
    text = Path(file).read_text(encoding="utf-8")
    stated = _AS_OF_COMMENT.search(text)
    as_of = date.fromisoformat(stated[1]) if stated else AS_OF
    policy = _load_python(file) if file.endswith(".py") else load_document(Path(file))
    if not code.startswith(_EMISSION):
        return check_policy(policy, as_of).diagnostics
    named = _BACKEND_COMMENT.search(text)
    return compile_policy(policy, _targets(policy, named[1] if named else None), as_of).diagnostics


def _load_python(file: str) -> Policy:
    with collecting_faults() as faults, recording_declarations() as record:
        namespace = runpy.run_path(file)
    assert faults == [], f"{file} is no valid declaration: {faults}"
    policy = namespace["policy"]
    assert isinstance(policy, Policy)
    set_omissions(policy, unused_declarations(record))
    return policy


def _targets(policy: Policy, backend: str | None) -> tuple[Target, ...]:
    """Every cluster with the backend of its engine, or with the one in the case's name."""
    targets = (
        Target(environment.name, cluster.name, backend or cluster.engine.value)
        for environment in policy.environments
        for cluster in environment.clusters
    )
    return tuple(target for target in targets if target.backend in BACKENDS)
