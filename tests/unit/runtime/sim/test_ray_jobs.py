"""RayJobs: submission of the job to a ready cluster, under each engine."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.engines.ack.model import MODEL as ACK
from apportion_runtime.engines.base.model import Model
from apportion_runtime.engines.kueue.model import MODEL as KUEUE
from apportion_runtime.engines.native.model import MODEL as NATIVE
from apportion_runtime.engines.volcano.model import MODEL as VOLCANO
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.history import History
from apportion_runtime.sim.scenario.reader import read_scenario

Made = dict[str, Any]
_TREE = {
    "apiVersion": "scheduling.sigs.k8s.io/v1beta1",
    "kind": "ElasticQuotaTree",
    "metadata": {"name": "tree", "namespace": "kube-system"},
    "spec": {"root": {
        "name": "root", "min": {"cpu": 100}, "max": {"cpu": 100},
        "children": [{"name": "ns", "min": {"cpu": 8}, "max": {"cpu": 8}, "namespaces": ["ns"]}],
    }},
}  # fmt: skip
_KUEUE = (
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "any"}},
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": {
        "namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [
            {"name": "any", "resources": [
                {"name": "cpu", "nominalQuota": 8}, {"name": "memory", "nominalQuota": "1Gi"}]}]}]}},
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "lq", "namespace": "ns"},
     "spec": {"clusterQueue": "cq"}},
)  # fmt: skip
_VOLCANO = (
    {"apiVersion": "v1", "kind": "ConfigMap",
     "metadata": {"name": "volcano-scheduler-configmap", "namespace": "volcano-system"},
     "data": {"volcano-scheduler.conf": "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n"
              "  - name: priority\n  - name: gang\n- plugins:\n  - name: predicates\n  - name: capacity\n"
              "    enableHierarchy: true\n  - name: nodeorder\n"}},
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"},
     "spec": {"parent": "root", "deserved": {"cpu": "8"}}},
)  # fmt: skip


def _template(cpu: str, scheduler: str = "") -> Made:
    named = {"schedulerName": scheduler} if scheduler else {}
    return {"spec": {**named, "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}}


def _ray_job(cpu: str = "1", workers: int = 2, *, scheduler: str = "", labels: Made | None = None, **spec: Any) -> Made:
    cluster = {
        "headGroupSpec": {"template": _template(cpu, scheduler)},
        "workerGroupSpecs": [{"groupName": "w", "replicas": workers, "template": _template(cpu, scheduler)}],
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "ray", "namespace": "ns", "labels": labels or {}},
        "spec": {"rayClusterSpec": cluster, "shutdownAfterJobFinishes": True, **spec},
    }


def _cluster(job: Made, model: Model = NATIVE, *objects: Made, text: str = "", cpu: int = 16) -> Cluster:
    scenario = read_scenario(
        f"nodes: [{{pool: n, count: 1, cpu: {cpu}}}]\nuntil: 1h\n"
        f"workloads: [{{file: w.yaml, duration: 100s, startup: 10s}}]\n{text}",
        lambda name: [job],
        model.workload_labels,
    )
    return Cluster(objects, scenario, model)


def _run(job: Made, model: Model = NATIVE, *objects: Made, text: str = "", cpu: int = 16) -> History:
    return _cluster(job, model, *objects, text=text, cpu=cpu).run()


def _at(history: History, what: str, pod: str | None = None) -> list[float]:
    return [fact.at_s for fact in history.facts if fact.what == what and pod in (None, fact.pod)]


_SUBMITTER = "ray-submitter"


def test_submitter_pod_lifecycle() -> None:
    """Bound at 0, running at 2 and ready at 12 are the others; the submitter runs two seconds after its bind."""
    history = _run(_ray_job())
    assert _at(history, "bound", _SUBMITTER) == [12.0]
    assert _at(history, "running", _SUBMITTER) == [14.0]
    assert [(fact.at_s, fact.pod) for fact in history.facts if fact.what == "succeeded"] == [
        (114.0, "ray-cluster-head"),
        (114.0, "ray-cluster-w-worker-0"),
        (114.0, "ray-cluster-w-worker-1"),
        (114.0, _SUBMITTER),
    ]


def test_submitter_job_is_owned_by_the_ray_job() -> None:
    cluster = _cluster(_ray_job())
    made = None
    while made is None and cluster.step():
        made = cluster.cluster_state.store.get("Job", "ns", "ray")
    assert made is not None
    assert [reference["kind"] for reference in made["metadata"]["ownerReferences"]] == ["RayJob"]


def test_cluster_idles_if_its_submitter_does_not_fit() -> None:
    """The known trap of a quota or a cluster that has room for the Ray cluster alone."""
    history = _run(_ray_job(), cpu=3)
    assert history.workloads[0].outcome == ""
    assert _at(history, "bound", _SUBMITTER) == []
    assert "Insufficient cpu" in history.workloads[0].why_waiting


def test_http_mode_submits_when_pods_are_ready() -> None:
    history = _run(_ray_job(submissionMode="HTTPMode"))
    assert {fact.pod for fact in history.facts if fact.what == "bound"} == {
        "ray-cluster-head", "ray-cluster-w-worker-0", "ray-cluster-w-worker-1",
    }  # fmt: skip
    assert _at(history, "finished") == [112.0]


def test_sidecar_mode_submits_from_the_head_pod() -> None:
    """The head asks for half a core more, for which a node of three cores has no room."""
    assert _at(_run(_ray_job(submissionMode="SidecarMode")), "finished") == [112.0]
    history = _run(_ray_job(submissionMode="SidecarMode"), cpu=3)
    assert len(_at(history, "bound")) == 2


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"submissionMode": "InteractiveMode"}, "InteractiveMode waits for a user to submit the job; use K8sJobMode,"),
        ({"submissionMode": "Carrier"}, "Carrier is not a KubeRay submission mode; use K8sJobMode, HTTPMode or SidecarMode"),
        ({"clusterSelector": {"ray.io/cluster": "c"}}, "define the cluster in spec.rayClusterSpec"),
    ],
)  # fmt: skip
def test_unsubmittable_ray_job_is_refused(spec: Made, why: str) -> None:
    history = _run(_ray_job(**spec))
    assert history.workloads[0].outcome == "refused"
    assert why in history.workloads[0].why_waiting


def test_evicted_submitter_is_recreated() -> None:
    history = _run(_ray_job(), text=f"events: [{{at: 50s, deleted: {{kind: Pod, namespace: ns, name: {_SUBMITTER}}}}}]")
    assert _at(history, "bound", f"{_SUBMITTER}-r1") == [50.0]
    assert _at(history, "finished") == [114.0]


def test_kueue_counts_the_submitter() -> None:
    """Eight cores are not enough for eight cores and the submitter's half."""
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    history = _run(_ray_job("4", 1, labels=labels), KUEUE, *_KUEUE)
    assert "(500m) > maximum capacity (8)" in history.workloads[0].why_waiting
    assert _at(history, "bound") == []
    assert _at(_run(_ray_job("2", 1, labels=labels), KUEUE, *_KUEUE), "finished") == [114.0]


def test_kube_queue_does_not_count_the_submitter() -> None:
    """The job of eight cores is let go, and its submitter stays without a place beyond the quota's maximum."""
    full = _run(_ray_job("4", 1, suspend=True), ACK, _TREE)
    assert _at(full, "dequeued") == [0.0]
    assert full.workloads[0].outcome == ""
    assert _at(full, "bound", _SUBMITTER) == []
    assert _run(_ray_job("2", 1, suspend=True), ACK, _TREE).workloads[0].outcome == "succeeded"


def test_ack_gang_does_not_wait_for_the_submitter() -> None:
    labels = {"ray.io/scheduler-name": "kube-scheduler"}
    history = _run(_ray_job("2", 1, suspend=True, labels=labels), ACK, _TREE)
    assert history.workloads[0].outcome == "succeeded"


def test_volcano_reserves_room_for_the_submitter() -> None:
    labels = {"volcano.sh/queue-name": "q"}
    job = _ray_job(scheduler="volcano", labels=labels)
    history = _run(job, VOLCANO, *_VOLCANO)
    assert _at(history, "bound", _SUBMITTER) == [12.0]
    assert history.workloads[0].outcome == "succeeded"
    bounded = {**_VOLCANO[1], "spec": {"parent": "root", "capability": {"cpu": "3"}}}
    waiting = _run(job, VOLCANO, _VOLCANO[0], bounded)
    assert _at(waiting, "bound") == []
    assert waiting.workloads[0].why_waiting == "queue resource quota insufficient: insufficient cpu"


@pytest.mark.parametrize(("scales", "n_bound"), [(False, 0), (True, 2)])
def test_volcano_gang_excludes_autoscaled_workers(scales: bool, n_bound: int) -> None:
    job = _ray_job("2", 3, scheduler="volcano", labels={"volcano.sh/queue-name": "q"}, submissionMode="HTTPMode")
    job["spec"]["rayClusterSpec"]["enableInTreeAutoscaling"] = scales
    job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["minReplicas"] = 1
    assert len(_at(_run(job, VOLCANO, *_VOLCANO, cpu=5), "bound")) == n_bound


@pytest.mark.parametrize(
    ("model", "objects"),
    [(NATIVE, ()), (ACK, (_TREE,)), (VOLCANO, _VOLCANO)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_partial_gang_is_allowed_without_gang_scheduling(
    model: Model, objects: tuple[Made, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run looks now and then whether everything holds; here after each event. Under Volcano another scheduler places it."""
    monkeypatch.setattr("apportion_runtime.sim.cluster._CHECKED_EVERY", 1)
    history = _run(_ray_job(), model, *objects, cpu=2)
    assert len(_at(history, "bound")) == 2
    assert history.workloads[0].outcome == ""
