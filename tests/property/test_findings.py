"""The findings of a policy are the same in every command."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from apportion_compiler.compile import check_policy, compile_policy, in_environments
from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_compiler.targets import targets_of
from apportion_policy import Policy

from .strategies import AS_OF, policies

pytestmark = pytest.mark.property


def _same_findings(policy: Policy) -> None:
    checked = check_policy(policy, AS_OF)
    assert _told(checked.diagnostics) == _told(compile_policy(policy, targets_of(policy), AS_OF).diagnostics)
    for environment in policy.environments:
        here = (environment.name,)
        targets = targets_of(policy, here)
        assert _told(in_environments(checked, here)) == _told(compile_policy(policy, targets, AS_OF).diagnostics)


def _told(found: tuple[Diagnostic, ...]) -> list[tuple[object, ...]]:
    return [(d.code, d.address, d.at, d.scope, d.effective_severity, d.suppression is None) for d in found]


@settings(max_examples=15)
@given(policies())
def test_validate_and_compile_report_the_same_findings(policy: Policy) -> None:
    _same_findings(policy)


@pytest.mark.slow
@given(policies())
@settings(max_examples=150)
def test_validate_and_compile_report_the_same_findings_in_many_policies(policy: Policy) -> None:
    _same_findings(policy)
