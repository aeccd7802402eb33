"""Shares of compiled policies on each engine, for both demands, against numbers that were divided by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.engine_lists import engines_except
from tests.unit.review.crafted_reviews import side

from apportion_review.cluster_reviews import manifests_of
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.shares.cluster_shares import ShareSide, cluster_shares
from apportion_review.shares.engine_shares import ENGINE_SHARES, NO_SHARES, proof_of
from apportion_review.shares.records import Demand

VERSIONS = {
    "ack": "1.30",
    "kai": "0.17.0",
    "koordinator": "1.7.0",
    "kueue": "0.18.3",
    "native": "1.34",
    "volcano": "1.15.0",
    "yunikorn": "1.6.0",
}
POLICY = """\
apiVersion: apportion.dev/v1
kind: Policy
organisation: {{name: acme, owner: "@acme/platform"}}
node_pools:
- id: gpus
  provider: {{kind: fixed}}
  cpu: 96
  memory: 900Gi
  accelerator: {{model: h100, count: 8}}
  min_nodes: 4
  max_nodes: 4
queues:
- {{id: research, guaranteed: {{gpu: 20}}}}
- {{id: vision, parent: research, namespaces: [vision], guaranteed: {{gpu: 4}}, over_quota_weight: 3}}
- {{id: speech, parent: research, namespaces: [speech], guaranteed: {{gpu: 12}}, limit: {{gpu: 14}}}}
- {{id: serving, namespaces: [serving], guaranteed: {{gpu: 4}}, over_quota_weight: 2}}
environments:
- name: prod
  clusters: [{{name: one, engine: {engine}, engine_version: "{version}", pools: [gpus]}}]
"""
GPUS = {"gpu": 32_000}
QUEUES = ("research", "vision", "speech", "serving")
REQUESTS = {"vision": (6, 4), "speech": (2, 0), "serving": (10, 20), "elsewhere": (2, 0)}
"""GPUs of running and pending pods by namespace, of one GPU each."""


def _manifests(engine: str, folder: Path, **texts: str) -> list[Any]:
    policy = POLICY.format(engine=engine, version=VERSIONS[engine])
    for before, after in texts.items():
        assert before in policy
        policy = policy.replace(before, after)
    return manifests_of(side(folder, policy, engine), "prod/one")


def _shares(engine: str, demand: Demand, manifests: list[Any]) -> dict[str, float]:
    made = ENGINE_SHARES[engine]
    everyone = made.everyone(manifests, GPUS)
    state = ClusterState([*manifests, *_running(engine)], None)
    (inputs,) = everyone if demand is Demand.EVERYONE else made.snapshot(state, ("gpu",))
    shares = proof_of("head", demand, inputs).shares()
    return {queue: shares[queue] / 1000 for queue in QUEUES}


@pytest.mark.parametrize(
    ("engine", "shares"),
    [
        # Borrowed by weight: 8 among 1 and 2, then 7 among 3 and 1, of which `speech` may have 2.
        ("kueue", (23, 9, 14, 9)),
        # 8 are not reserved; of the 28 of `research`, 16 are reserved for its two queues.
        ("volcano", (28, 16, 14, 12)),
        ("yunikorn", (28, 16, 14, 12)),
        # Only the leaves' `min` lets them reclaim: 12 are not reserved.
        ("ack", (28, 16, 14, 16)),
    ],
)
def test_shares_under_unlimited_demand(engine: str, shares: tuple[int, ...], tmp_path: Path) -> None:
    found = _shares(engine, Demand.EVERYONE, _manifests(engine, tmp_path))
    assert tuple(found[queue] for queue in QUEUES) == shares


@pytest.mark.parametrize(
    ("engine", "shares"),
    [
        # 32 of quota, of which `research` requests 12; the pods of other namespaces have none.
        ("kueue", (12, 10, 2, 20)),
        # 30 GPUs, since pods outside the queues use 2 of 32: `serving` has 4 and what `research` leaves of the others.
        ("volcano", (12, 10, 2, 18)),
        ("yunikorn", (12, 10, 2, 18)),
        # `research` reclaims no more than its leaves: 4 and 2.
        ("ack", (12, 10, 2, 24)),
    ],
)
def test_shares_under_snapshot_demand(engine: str, shares: tuple[int, ...], tmp_path: Path) -> None:
    found = _shares(engine, Demand.SNAPSHOT, _manifests(engine, tmp_path))
    assert tuple(found[queue] for queue in QUEUES) == shares


@pytest.mark.parametrize(
    "engine", engines_except(kai="its shares are those of a cycle", native="its quotas guarantee nothing")
)
def test_shares_are_independent_of_object_order(engine: str, tmp_path: Path) -> None:
    """A queue that moves below a new one comes before it in the objects of a cluster."""
    manifests = _manifests(engine, tmp_path)
    shares = [_shares(engine, Demand.SNAPSHOT, made) for made in (manifests, manifests[::-1])]
    assert shares[0] == shares[1]


def _running(engine: str) -> Iterator[dict[str, Any]]:
    yield {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"apportion.dev/gpu-model": "h100"}},
        "status": {"allocatable": {"nvidia.com/gpu": "32"}},
    }
    for namespace, counts in REQUESTS.items():
        for count, phase in zip(counts, ("Running", "Pending"), strict=True):
            if engine == "kueue":
                if namespace != "elsewhere":
                    yield _workload(namespace, count, phase)
                continue
            for number in range(count):
                yield _pod(engine, namespace, f"{namespace}-{phase.lower()}-{number}", phase)


def _pod(engine: str, namespace: str, name: str, phase: str) -> dict[str, Any]:
    scheduler = "default-scheduler"
    if engine in ("volcano", "yunikorn"):
        # What is elsewhere is a queue's by its namespace, but not scheduled by the engine.
        scheduler = "default-scheduler" if namespace == "elsewhere" else engine
        namespace = "vision" if namespace == "elsewhere" else namespace
    # Volcano reads the queue from the pod, ACK and YuniKorn from the namespace.
    annotations = {} if namespace == "elsewhere" else {"scheduling.volcano.sh/queue-name": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {
            "schedulerName": scheduler,
            **({"nodeName": "n"} if phase == "Running" else {}),
            **_requests("1"),
        },
        "status": {"phase": phase},
    }


def _workload(namespace: str, count: int, phase: str) -> dict[str, Any]:
    assigned = {"name": "main", "count": count, "resourceUsage": {"nvidia.com/gpu": str(count)}}
    admission = {
        "clusterQueue": namespace,
        "podSetAssignments": [{**assigned, "flavors": {"nvidia.com/gpu": "h100"}}],
    }
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": phase.lower(), "namespace": namespace},
        "spec": {"queueName": namespace, "podSets": [{"name": "main", "count": count, "template": _template()}]},
        "status": {"admission": admission} if phase == "Running" else {},
    }


def _template() -> Mapping[str, Any]:
    return {"spec": _requests("1")}


def _requests(gpus: str) -> dict[str, Any]:
    return {"containers": [{"name": "main", "resources": {"requests": {"nvidia.com/gpu": gpus}}}]}


def test_kueue_without_fair_sharing_has_no_division(tmp_path: Path) -> None:
    configuration = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    manifests = [*_manifests("kueue", tmp_path), configuration]
    assert _shares("kueue", Demand.EVERYONE, manifests) == {"research": 28, "vision": 16, "speech": 14, "serving": 12}


def test_kueue_lending_limit_reduces_what_others_borrow(tmp_path: Path) -> None:
    manifests = _manifests(
        "kueue", tmp_path, **{"guaranteed: {gpu: 12}": "guaranteed: {gpu: 12}, lending_limit: {gpu: 2}"}
    )
    # `speech` requests 2 of the 10 that it keeps; 22 are lent.
    found = _shares("kueue", Demand.SNAPSHOT, manifests)
    assert found == {"research": 10, "vision": 10, "speech": 2, "serving": 12}


@pytest.mark.parametrize("engine", sorted(VERSIONS))
def test_report_describes_its_shares(engine: str, tmp_path: Path) -> None:
    manifests = _manifests(engine, tmp_path)
    shares = cluster_shares(*[ShareSide(engine, manifests, GPUS)] * 2)
    assert bool(shares.head) is (engine not in NO_SHARES)
    said = {
        "ack": "ACK reserves `min` and does not divide the remaining capacity",
        "kai": "Fair shares assume that every queue requests all resources",
        "koordinator": "Fair shares assume that every queue requests all resources",
        "kueue": "Shares on Kueue are shares of quota",
        "native": "Kubernetes has no fair sharing: a ResourceQuota only limits a namespace",
        "volcano": "Volcano's capacity plugin reserves `deserved` and does not divide the remaining capacity",
        "yunikorn": "YuniKorn reserves guaranteed resources and does not divide the remaining capacity",
    }
    assert any(note.startswith(said[engine]) for note in shares.notes)
