"""The rules, the reader, updates and the review interpret ElasticQuotas alike."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_api.koordinator.names import (
    IS_PARENT_LABEL,
    NAMESPACES_ANNOTATION,
    PARENT_LABEL,
    ROOT_QUOTA,
    SHARED_WEIGHT_ANNOTATION,
)
from apportion_api.koordinator.objects import ElasticQuota
from apportion_api.objects import read
from apportion_compiler.engines.koordinator.reader import READER
from apportion_compiler.engines.koordinator.rules import RULES
from apportion_review.fates.koordinator import koordinator_fates


def _quota(labels: dict[str, Any] | None = None, **annotations: str) -> dict[str, Any]:
    written = {"shared_weight": SHARED_WEIGHT_ANNOTATION, "namespaces": NAMESPACES_ANNOTATION}
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {
            "name": "a",
            "namespace": "koordinator-system",
            "labels": labels or {},
            "annotations": {written[key]: value for key, value in annotations.items()},
        },
        "spec": {"min": {"cpu": "4"}, "max": {"cpu": "8", "memory": "16Gi"}},
    }


@pytest.mark.parametrize(
    ("written", "weights"),
    [
        ('{"cpu": "2", "memory": "1"}', {"cpu": "2", "memory": "1"}),
        ('{"cpu": "2"}', {"cpu": "2", "memory": "16Gi"}),
        ('{"cpu": "2", "nvidia.com/gpu": "3"}', {"cpu": "2", "memory": "16Gi"}),
        ('{"cpu": "0", "memory": 0}', {"cpu": "8", "memory": "16Gi"}),
        ('{"cpu": "0"}', {"cpu": "0", "memory": "16Gi"}),
        ('{"nvidia.com/gpu": "3"}', {"cpu": "8", "memory": "16Gi"}),
        ("{", {"cpu": "8", "memory": "16Gi"}),
        ("[]", {"cpu": "8", "memory": "16Gi"}),
    ],
)
def test_missing_weight_defaults_to_max(written: str, weights: dict[str, str]) -> None:
    assert read(ElasticQuota, _quota(shared_weight=written)).weights == weights


@pytest.mark.parametrize(("written", "is_reported"), [('{"cpu": "0", "memory": "0"}', True), ('{"cpu": "0"}', False)])
def test_weights_are_unset_only_if_all_are_zero(written: str, is_reported: bool) -> None:
    messages = [verdict.message for verdict in RULES.check([_quota(shared_weight=written)], [])]
    assert any(message.startswith("all weights are 0") for message in messages) == is_reported


def test_zero_weights_are_imported() -> None:
    record = READER.read([_quota(shared_weight='{"cpu": "0", "memory": "0"}')])

    assert record.queues[0].weight == {"cpu": 8000, "memory": 16 * 2**30 * 1000}


@pytest.mark.parametrize("written", ["{", '["a", 5]', '"a"'])
def test_invalid_namespace_list_binds_no_namespace(written: str) -> None:
    quota = _quota(namespaces=written)

    assert read(ElasticQuota, quota).namespaces == ()
    assert f"metadata.annotations[{NAMESPACES_ANNOTATION}]" in [verdict.field for verdict in RULES.check([quota], [])]
    assert koordinator_fates([quota], [quota], now=None).rows == ()


def test_empty_parent_is_the_root() -> None:
    assert read(ElasticQuota, _quota({PARENT_LABEL: ""})).parent == ROOT_QUOTA


def test_non_string_label_is_rejected() -> None:
    (rejected,) = [v for v in RULES.check([_quota({IS_PARENT_LABEL: True})], []) if v.effect.value == "rejected"]

    assert (rejected.field, rejected.message) == (
        f"metadata.labels[{IS_PARENT_LABEL}]",
        "must be of type string, not a Boolean",
    )
