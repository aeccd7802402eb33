"""Only classes of an engine's chart can be declared as installed by it."""

from __future__ import annotations

from datetime import date

import pytest

from apportion_compiler.compile import check_policy
from apportion_policy import DEFAULT_PRIORITY_CLASSES, Organisation, Policy, PriorityClass


def _found(*classes: PriorityClass) -> list[str]:
    policy = Policy(organisation=Organisation(name="acme", owner="@acme/platform"), priority_classes=classes)
    codes = {"AP401", "AP402"}
    return [d.message for d in check_policy(policy, date(2026, 11, 21)).diagnostics if d.code in codes]


@pytest.mark.parametrize("name", ["system-node-critical", "system-cluster-critical"])
def test_kubernetes_classes_cannot_be_declared(name: str) -> None:
    (message,) = _found(PriorityClass(name=name, value=2_000_000_000, preemptible=False, installed_by_engine=True))
    assert message == f"`{name}` begins with `system-`, which Kubernetes reserves for its own classes"


def test_installed_class_must_exist_in_a_chart() -> None:
    (message,) = _found(PriorityClass(name="teams", value=60, preemptible=True, installed_by_engine=True))
    assert "no engine installs a class with this name" in message


def test_classes_of_charts_can_be_declared() -> None:
    koordinator = PriorityClass(name="koord-prod", value=9_000, preemptible=False, installed_by_engine=True)
    assert _found(*DEFAULT_PRIORITY_CLASSES, koordinator) == []
