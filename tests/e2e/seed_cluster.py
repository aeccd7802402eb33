"""A cluster of an example: its compiled objects, its nodes, and the controllers that its workloads need."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from apportion_policy.priority import DEFAULT_PRIORITY_CLASSES

from .bind_output import bind
from .compiled_trees import compile_policy, delete_unused, installed
from .kubectl import Kubectl, Object
from .kwok_nodes import register
from .scenarios import LiveScenario

_WORKLOADS = "deployments,jobs,rayservices.ray.io,rayclusters.ray.io"


@contextlib.contextmanager
def installed_classes(kubectl: Kubectl) -> Iterator[None]:
    """Create the priority classes that KAI's chart installs."""
    made: list[Object] = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": one.name},
            "value": one.value,
        }
        for one in DEFAULT_PRIORITY_CLASSES
    ]
    try:
        answer = kubectl.create(*made)
        assert answer.accepted, answer.said
        yield
    finally:
        kubectl.delete_objects(made)


@contextlib.contextmanager
def seed_cluster(
    kubectl: Kubectl,
    policy: Path,
    cluster: tuple[str, str],
    live: LiveScenario,
    folder: Path,
    refused: Sequence[Object],
) -> Iterator[None]:
    """Apply an example's compiled objects, and register the initial nodes of its scenario, for the block.

    Args:
        kubectl: The administrator's.
        policy: The folder of the example.
        cluster: Its environment and cluster.
        live: Its scenario.
        folder: Where it is compiled.
        refused: Workloads that the objects reject once they are in force.
    """
    trees = compile_policy(policy, folder, cluster[0])[cluster]
    nodes: list[Object] = []
    with installed(kubectl, trees, refused=refused, removed_by=delete_unused):
        try:
            nodes += register(kubectl, live.nodes())
            yield
        finally:
            for tree in trees:
                for one in tree.objects():
                    if one["kind"] == "Namespace":
                        empty(kubectl, one["metadata"]["name"])
            kubectl.delete_objects(nodes)


def empty(kubectl: Kubectl, namespace: str) -> None:
    """Delete the workloads of a namespace, and then their pods."""
    for kinds in (_WORKLOADS, "pods"):
        kubectl.must("delete", kinds, "--all", f"--namespace={namespace}", "--cascade=background", "--timeout=100s")


def submit_bound(
    kubectl: Kubectl, policy: Path, cluster: tuple[str, str], queue: str, workload: Object, folder: Path
) -> None:
    """Bind a workload to a queue as `apportion bind --from` does, and create it as a member of the queue's team."""
    file = folder / f"{workload['metadata']['name']}.yaml"
    file.write_text(json.dumps(workload))
    (bound,) = yaml.safe_load_all(bind(policy, cluster[0], queue, "--from", str(file)))
    answer = kubectl.create(bound)
    assert answer.accepted, answer.said
    assert answer.said == "", answer.said
