"""Kubernetes accepts the plain objects of a random policy: quotas, ranges, classes and the scheduler's profiles."""

from __future__ import annotations

from typing import Any, cast

import pytest
import yaml
from hypothesis import given, settings

from apportion_compiler.engines.native import emit as native
from apportion_compiler.engines.native.names import schedulers
from apportion_compiler.engines.native.rules import RULES
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_policy import Cluster, Engine, Policy

from ..conformance.schemas import errors
from .strategies import AS_OF, policies

pytestmark = pytest.mark.property


@given(policies(max_queues=5))
@settings(max_examples=25)
def test_emitted_objects_satisfy_the_rules(policy: Policy) -> None:
    graph = build_graph(declare(_on_kubernetes(policy)), AS_OF)
    for scope in graph.scopes:
        if scope.cluster is None:
            continue
        program = lower(graph, scope)
        output = native.emit(program)
        texts = {artifact.name: artifact.content for artifact in output.artifacts}
        profiles = cast("dict[str, Any]", yaml.safe_load(texts["kube-scheduler.yaml"]))
        templates = [
            document
            for name, text in texts.items()
            if name.startswith("templates/")
            for document in yaml.safe_load_all(text)
        ]
        assert list(RULES.check([*output.manifests, profiles, *templates], [])) == []
        assert [errors(template) for template in templates] == [[] for _ in templates]
        assert [profile["schedulerName"] for profile in profiles["profiles"]] == list(schedulers(program))


def _on_kubernetes(policy: Policy) -> Policy:
    return policy.model_copy(
        update={
            "environments": tuple(
                environment.model_copy(
                    update={"clusters": tuple(_without_engine(cluster) for cluster in environment.clusters)}
                )
                for environment in policy.environments
            )
        }
    )


def _without_engine(cluster: Cluster) -> Cluster:
    return cluster.model_copy(update={"engine": Engine.NATIVE, "engine_version": "1.34"})
