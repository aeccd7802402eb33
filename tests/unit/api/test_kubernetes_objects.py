"""The rules, the reader and the simulated API server interpret Kubernetes' own objects alike."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_api.kubernetes.objects import PriorityClass, ResourceQuota, default_class
from apportion_api.objects import read
from apportion_compiler.engines.native.reader import READER
from apportion_compiler.engines.native.rules import RULES
from apportion_runtime.sim.api.resource_quotas import quota_of


def _quota(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "team"},
        "spec": {"hard": {"pods": "4"}, **spec},
    }


def test_both_scope_notations_are_read() -> None:
    selected = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["train"]}]}
    quota = read(ResourceQuota, _quota(scopes=["NotBestEffort"], scopeSelector=selected))

    assert [(scope.name, scope.operator, scope.values) for scope in quota.all_scopes] == [
        ("NotBestEffort", "Exists", ()),
        ("PriorityClass", "In", ("train",)),
    ]


def test_missing_scope_operator_is_rejected() -> None:
    written = _quota(scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass"}]})

    assert "spec.scopeSelector.matchExpressions.operator" in [verdict.field for verdict in RULES.check([written], [])]


def test_short_priority_class_scope_is_noted() -> None:
    notes = [note.text for note in READER.read([_quota(scopes=["PriorityClass"])]).notes]

    assert "quotas with a scope are dropped" in notes


@pytest.mark.parametrize("hard", [["pods"], {"pods": ["4"]}, {"pods": True}])
def test_malformed_quota_is_reported(hard: object) -> None:
    with pytest.raises(ValueError, match=r"^spec\.hard.* is not a (mapping|quantity)$"):
        quota_of(_quota(hard=hard))


def test_lowest_global_default_applies() -> None:
    classes = [PriorityClass(name=str(value), value=value, is_default=value > 1) for value in (7, 1, 5)]

    assert default_class(classes) == classes[2]
    assert default_class(classes[1:2]) is None
