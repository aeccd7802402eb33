"""Random workloads of every kind: pods are grouped as KAI's own pod grouper groups them, object by object."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from apportion_runtime.admission.grouping import GROUPERS
from apportion_runtime.admission.objects import GroupingError, Unreadable
from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.pod_grouper import PodGrouper

NAMESPACE = "ns"
DATA = Path(__file__).parent / "kai-grouping" / "cases.jsonl.gz"


class Recorded:
    """A cluster of recorded objects, in memory."""

    def __init__(self, objects: Sequence[dict[str, Any]], unreadable: Sequence[str]) -> None:
        self.unreadable = unreadable
        self.held = {(o["apiVersion"], o["kind"], o["metadata"]["name"]): o for o in objects}

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        api = {"PriorityClass": "scheduling.k8s.io/v1", "PodGroup": "scheduling.run.ai/v2alpha2"}[kind]
        return self.held.get((api, kind, name))

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        if f"{kind}.{api_version.rpartition('/')[0]}" in self.unreadable:
            raise Unreadable(kind)
        return self.held.get((api_version, kind, name))

    def is_stored(self, kind: str, namespace: str, name: str) -> bool:
        return self.get(kind, namespace, name) is not None

    def pods(self, namespace: str, labels: Mapping[str, str]) -> Sequence[Manifest]:
        pods = [made for (_, kind, _), made in self.held.items() if kind == "Pod"]
        return [pod for pod in pods if labels.items() <= pod["metadata"].get("labels", {}).items()]

    def create(self, manifest: Manifest) -> Manifest:
        made = json.loads(json.dumps(manifest))
        self.held[made["apiVersion"], made["kind"], made["metadata"]["name"]] = made
        return dict(made)

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        key = next(key for key in self.held if key[1:] == (kind, name))
        self.held[key] = _merged(self.held[key], patch)
        return self.held[key]


def _merged(before: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in before.items() if key not in patch or patch[key] is not None}
    for key, value in patch.items():
        if isinstance(value, Mapping):
            made[key] = _merged(made.get(key) or {}, value)
        elif value is not None:
            made[key] = value
    return made


def cases() -> list[dict[str, Any]]:
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def grouped(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the recording has of a case: each pod's group and part or fault, and all pod groups."""
    cluster = Recorded(case["objects"], case["forbidden"])
    pods = []
    for name in case["pods"]:
        pod = cluster.held["v1", "Pod", name]
        fails = False
        try:
            grouper = PodGrouper(cluster, "kai-scheduler")
            grouping = grouper.grouping_of(pod)
            if grouping is not None:
                grouper.put(grouping)
                grouper.mark(pod, grouping)
        except GroupingError:
            fails = True
        metadata = cluster.held["v1", "Pod", name]["metadata"]
        group = metadata.get("annotations", {}).get("pod-group-name", "")
        part = metadata.get("labels", {}).get("kai.scheduler/subgroup-name", "")
        pods.append({"pod": name, "group": group, "sub": part, "fails": fails})
    groups = [_group(made) for (_, kind, _), made in cluster.held.items() if kind == "PodGroup"]
    return {"pods": pods, "groups": sorted(groups, key=lambda made: str(made["metadata"]["name"]))}


def _group(made: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in made["metadata"].items() if value and key != "uid"}
    spec = dict(made["spec"])
    spec.setdefault("topologyConstraint", {})
    return {"metadata": metadata, "spec": spec}


def test_every_grouper_has_recorded_cases() -> None:
    kinds = {(o["apiVersion"], o["kind"]) for case in cases() for o in case["objects"]}
    assert set(GROUPERS) <= kinds
    fates = Counter(pod["fails"] for case in cases() for pod in case["expected"]["pods"])
    assert fates[False] > 2 * fates[True] > 200


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_grouping_matches_the_engine(case: dict[str, Any]) -> None:
    assert grouped(case) == case["expected"]
