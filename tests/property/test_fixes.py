"""Changes that `validate --fix` may make to a policy, for any faults."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from hypothesis import given, settings

from apportion_cli.console import Console
from apportion_cli.findings import report_on
from apportion_cli.fixes import fix_policy
from apportion_cli.inputs import Inputs
from apportion_cli.sources import Sources
from apportion_compiler.compile import check_policy
from apportion_compiler.diagnostics.report import Report
from apportion_policy import Policy, Queue
from apportion_policy.documents import load_document

from .strategies import AS_OF, policies

pytestmark = pytest.mark.property


def _fixed(policy: Policy, *, unsafe: bool) -> tuple[Policy, Policy, Report, Report]:
    """Return the policy, the fixed policy, and the findings about each."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        file = root / "policy.yaml"
        file.write_text(yaml.safe_dump(policy.model_dump(mode="json"), sort_keys=False), encoding="utf-8")

        def evaluate() -> tuple[Inputs, Report]:
            declared = load_document(file)
            checked = check_policy(declared, AS_OF)
            every_file = cast(Any, SimpleNamespace(contains=lambda _: True))
            sources = Sources(root, every_file)
            inputs = Inputs(declared, (), False, "policy.yaml", sources, (), "")
            reached = "structure" if checked.graph is None else "checks"
            return inputs, report_on(inputs, checked.diagnostics, AS_OF, reached=cast(Any, reached))

        inputs, before = evaluate()
        fix_policy(Console(color=False), evaluate, unsafe=unsafe)
        after_inputs, after = evaluate()
        assert inputs.policy is not None
        assert after_inputs.policy is not None
        return inputs.policy, after_inputs.policy, before, after


def _grants(policy: Policy) -> list[tuple[object, ...]]:
    return [(q.id, q.guaranteed, q.limit, q.lending_limit, q.over_quota_weight, q.priority) for q in _queues(policy)]


def _queues(policy: Policy) -> Iterator[Queue]:
    stack = list(policy.queues)
    while stack:
        queue = stack.pop()
        yield queue
        stack.extend(queue.children)


def _errors(report: Report) -> set[str]:
    return {finding.diagnostic.code for finding in report.findings if finding.level == "error"}


def _grants_stay(policy: Policy) -> None:
    before, after, found, left = _fixed(policy, unsafe=False)
    assert left.reached == found.reached
    assert _grants(before) == _grants(after)
    assert before.environments == after.environments
    assert before.node_pools == after.node_pools
    assert _errors(left) <= _errors(found)


def _no_new_errors(policy: Policy) -> None:
    _, _, found, left = _fixed(policy, unsafe=True)
    # Quotas are checked only if the structure is valid.
    assert _errors(left) <= _errors(found) or (found.reached, left.reached) == ("structure", "checks")


@given(policies())
@settings(max_examples=5, deadline=None)
def test_safe_fixes_preserve_quotas(policy: Policy) -> None:
    _grants_stay(policy)


@given(policies())
@settings(max_examples=5, deadline=None)
def test_unsafe_fixes_introduce_no_error(policy: Policy) -> None:
    _no_new_errors(policy)


@pytest.mark.slow
@given(policies())
@settings(max_examples=60, deadline=None)
def test_safe_fixes_preserve_quotas_in_many_policies(policy: Policy) -> None:
    _grants_stay(policy)


@pytest.mark.slow
@given(policies())
@settings(max_examples=60, deadline=None)
def test_unsafe_fixes_introduce_no_error_in_many_policies(policy: Policy) -> None:
    _no_new_errors(policy)
