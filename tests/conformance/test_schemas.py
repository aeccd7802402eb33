"""Every object that a backend emits matches the engine's CRDs and Kubernetes' own schemas."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_policy import Policy

from ..property.strategies import AS_OF, policies
from .schemas import definition_of, errors

GOLDEN = sorted((Path(__file__).parent.parent / "golden").glob("*/expected/*/**/*.yaml"))
NOT_OBJECTS = {
    "components.yaml",
    "controller_manager_config.yaml",
    "kube-scheduler.yaml",
    "kuberay-values.yaml",
    "kustomization.yaml",
    "node-labels.yaml",
    "values.yaml",
}
PROVIDERS = {"gke", "ack", "eks", "launch-templates"}
"""Folders with documents for cloud providers, without Kubernetes objects."""


def _is_document(file: Path) -> bool:
    return file.parent.name in PROVIDERS and "node-pools" in file.parts


QUEUE: dict[str, Any] = {
    "apiVersion": "scheduling.run.ai/v2",
    "kind": "Queue",
    "metadata": {"name": "vision"},
    "spec": {"resources": {"cpu": {"quota": 1000, "limit": -1, "overQuotaWeight": 1}}},
}


def test_misspelt_field_is_rejected() -> None:
    assert errors(QUEUE) == []
    wrong = copy.deepcopy(QUEUE)
    wrong["spec"]["resources"]["cpu"]["quata"] = wrong["spec"]["resources"]["cpu"].pop("quota")
    assert errors(wrong) == ["spec.resources.cpu: Additional properties are not allowed ('quata' was unexpected)"]


def test_misspelt_field_of_core_object_is_rejected() -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "apportion"}, "spec": {"heard": {}}}
    assert errors(quota) == ["spec: Additional properties are not allowed ('heard' was unexpected)"]


def test_object_without_schema_is_reported() -> None:
    queue = {"apiVersion": "toy.example.com/v1", "kind": "Queue", "metadata": {"name": "vision"}}
    assert errors(queue) == ["no schema for toy.example.com/v1 Queue: add its definition to tests/crds"]


@pytest.mark.parametrize(
    "text",
    [
        "kind: CustomResourceDefinition\nspec:\n  group: toy.example.com\n  names:\n    kind: Queue\n",
        "kind: CustomResourceDefinition\nspec: {group: toy.example.com, names: {kind: Queue, plural: queues}}\n",
        '{"kind": "CustomResourceDefinition", "spec": {"group": "toy.example.com", "names": {"kind": "Queue"}}}',
    ],
    ids=["block", "flow", "json"],
)
def test_definitions_are_found_in_any_layout(text: str) -> None:
    assert definition_of(text) == ("toy.example.com", "Queue")
    assert definition_of("partitions:\n  - name: default\n") is None


def test_quantity_must_match_its_type() -> None:
    wrong = copy.deepcopy(QUEUE)
    wrong["spec"]["resources"]["cpu"]["limit"] = "64"
    assert errors(wrong) == ["spec.resources.cpu.limit: '64' is not of type 'number'"]


def test_invalid_label_is_refused() -> None:
    assert errors({**QUEUE, "metadata": {"name": "vision", "labels": {"a": "b c"}}}) == ["metadata.labels: a: 'b c'"]


@pytest.mark.parametrize(
    "file",
    [f for f in GOLDEN if f.name not in NOT_OBJECTS and not _is_document(f)],
    ids=lambda file: "/".join(file.parts[file.parts.index("golden") + 1 :]),
)
def test_golden_objects_satisfy_the_schemas(file: Path) -> None:
    documents = list(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    assert documents
    assert [found for document in documents for found in errors(document)] == []


@pytest.mark.property
@given(policies())
def test_random_objects_satisfy_the_schemas(policy: Policy) -> None:
    for manifest in _manifests(policy):
        assert errors(manifest) == [], manifest


def _manifests(policy: Policy) -> Iterator[Manifest]:
    graph = build_graph(declare(policy), AS_OF)
    for scope in graph.scopes:
        program = lower(graph, scope)
        for name in dict.fromkeys((program.engine, "native")):
            yield from BACKENDS[name].emit(program).manifests
