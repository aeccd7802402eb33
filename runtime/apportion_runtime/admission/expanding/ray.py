"""Ray clusters, and the jobs and services that have one, as KubeRay makes their pods.

A RayJob's pods are those of its cluster: the one that submits its work is left out. Source: KubeRay 1.6,
ray-operator/controllers/ray (common/pod.go).
"""

from __future__ import annotations

from dataclasses import replace

from apportion_runtime.admission import words
from apportion_runtime.admission.expanding.expansion import Ending, Expansion, Replacing, Slot, child, slot
from apportion_runtime.admission.objects import Manifest, labels_of, name_of, nested, text, whole

_CLUSTER_NAME = "ray.io/cluster"


def expand_cluster(workload: Manifest) -> Expansion:
    """Return the head and every worker; a worker of several hosts has a pod on each."""
    return _expand(workload, workload)


def expand_service(workload: Manifest) -> Expansion:
    """Return the pods of the service's cluster."""
    made = _with_cluster(workload)
    cluster = name_of(made.children[0])
    return replace(made, status={"activeServiceStatus": {"rayClusterName": cluster}})


def expand_ray_job(workload: Manifest) -> Expansion:
    """Return the pods of the job's cluster."""
    made = _with_cluster(workload)
    return replace(made, status={"rayClusterName": name_of(made.children[0])}, ending=Ending.TOGETHER)


def _with_cluster(workload: Manifest) -> Expansion:
    config = nested(workload, "spec", "rayClusterConfig" if workload.get("kind") == "RayService" else "rayClusterSpec")
    labels = {key: value for key, value in labels_of(workload).items() if key == words.QUEUE}
    cluster = child(("ray.io/v1", "RayCluster"), f"{name_of(workload)}-cluster", workload, config or {}, labels=labels)
    return replace(_expand(cluster, workload), children=(cluster,))


def _expand(cluster: Manifest, workload: Manifest) -> Expansion:
    name = name_of(cluster)
    owner = ("RayCluster", name)
    queue = labels_of(workload).get(words.QUEUE)
    own = {_CLUSTER_NAME: name} if not queue else {_CLUSTER_NAME: name, words.QUEUE: queue}
    head = nested(cluster, "spec", "headGroupSpec", "template") or {}
    labels = {**own, words.RAY_GROUP: words.RAY_HEAD_GROUP, words.RAY_TYPE: "head"}
    slots: list[Slot] = [slot("head", head, owner, labels, is_worker=False)]
    for number, group in enumerate(nested(cluster, "spec", "workerGroupSpecs") or ()):
        called = text(group, "groupName") or f"worker-group-{number}"
        labels = {**own, words.RAY_GROUP: called, words.RAY_TYPE: "worker"}
        replicas = 0 if group.get("suspended") else whole(group, "replicas") or 0
        hosts = 1 if (said := whole(group, "numOfHosts")) is None else said
        slots += (
            slot(f"{called}-worker-{i}", group.get("template") or {}, owner, labels) for i in range(replicas * hosts)
        )
    return Expansion(tuple(slots), Ending.NEVER, Replacing.WHEN_GONE)
