"""Elastic workloads, default sizes, and workloads that their queue can never start: output and messages of bind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.engine_lists import engines_except

from apportion_compiler.backends import EMITTERS
from apportion_compiler.bindings.bind import adopt, bind, bound
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.options import Options
from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engine_rules.workloads import workload_verdicts
from apportion_compiler.plain_objects import mapping
from apportion_policy import Queue, Resources

from .programs import H100, ORDINARY, QUEUED, VISION, program

ELASTIC = Options(least=2, most=4, gpus=1000)


def _made(engine: str, kind: str) -> dict[str, Any]:
    *_, made = bind(program(engine, VISION), "vision", kind, ELASTIC)
    assert list(workload_verdicts(engine, [made])) == []
    return dict(made)


@pytest.mark.parametrize("engine", engines_except(kueue="it rejects autoscaling of Ray clusters"))
@pytest.mark.parametrize(
    ("kind", "path"), [("RayCluster", ()), ("RayJob", ("rayClusterSpec",)), ("RayService", ("rayClusterConfig",))]
)
def test_ray_autoscaling_bounds(engine: str, kind: str, path: tuple[str, ...]) -> None:
    cluster: Any = _made(engine, kind)["spec"]
    for step in path:
        cluster = cluster[step]
    (group,) = cluster["workerGroupSpecs"]
    assert (group["replicas"], group["minReplicas"], group["maxReplicas"]) == (2, 2, 4)
    assert cluster["enableInTreeAutoscaling"] is True


def test_other_kinds_start_at_the_minimum() -> None:
    job = _made("kai", "Job")
    assert (job["spec"]["parallelism"], job["metadata"]["annotations"]["kai.scheduler/batch-min-member"]) == (4, "2")
    job = _made("kueue", "Job")
    assert job["metadata"]["annotations"]["kueue.x-k8s.io/job-min-parallelism"] == "2"
    job = _made("volcano", "Job")
    assert job["metadata"]["annotations"]["scheduling.volcano.sh/group-min-member"] == "2"
    job = _made("volcano", "VolcanoJob")
    assert (job["spec"]["minAvailable"], job["spec"]["tasks"][0]["replicas"]) == (2, 4)
    job = _made("kai", "PyTorchJob")
    assert (job["spec"]["elasticPolicy"]["minReplicas"], job["spec"]["elasticPolicy"]["maxReplicas"]) == (2, 4)
    assert {role: each["replicas"] for role, each in job["spec"]["pytorchReplicaSpecs"].items()} == {"Worker": 4}


@pytest.mark.parametrize(
    ("engine", "kind", "words"),
    [
        ("kueue", "RayJob", "Kueue admits a RayJob as a whole and rejects autoscaling"),
        ("kueue", "PyTorchJob", "Kueue starts all workers of a PyTorchJob or none; --min is supported only for"),
        ("yunikorn", "Job", "--min is supported only for RayCluster, RayJob, RayService"),
        ("kai", "Deployment", "KAI Scheduler starts all workers of a Deployment or none"),
    ],
)
def test_inelastic_kinds_are_refused(engine: str, kind: str, words: str) -> None:
    with pytest.raises(BindingError, match=words):
        bind(program(engine, VISION), "vision", kind, ELASTIC)


def test_inverted_bounds_are_refused() -> None:
    with pytest.raises(BindingError, match="--min 5 is greater than --max 4"):
        bind(program("kai", VISION), "vision", "RayJob", Options(least=5, most=4))


def test_first_namespace_of_the_policy_is_the_default() -> None:
    queue = Queue(id="vision", namespaces=("zeta", "alpha"))
    (made,) = bind(program("kai", queue), "vision", "Job", Options())
    assert mapping(made, "metadata")["namespace"] == "zeta"


def test_small_share_of_a_node_is_noted() -> None:
    notes = bound(program("kai", VISION), "vision", "Job", Options(gpus=8000)).notes
    (note,) = notes
    assert note == (
        "vision-job: each pod with 8 GPUs requests 1 cpu and 4Gi memory, but its share of a machine in pool h100 is 64 "
        "cpu and 512Gi memory: pass --cpu and --memory to request more"
    )
    assert bound(program("kai", VISION), "vision", "Job", Options(gpus=8000, cpu=32000)).notes == ()


def test_queued_pool_excluded_by_a_limit_is_reported() -> None:
    vision = Queue(id="vision", namespaces=("vision",), guaranteed=Resources(gpu=8), limit=Resources(gpu=16))
    made = program("kueue", vision, pools=(H100, QUEUED, ORDINARY))
    objects = EMITTERS["kueue"].emit(made).manifests
    (job,) = bind(made, "vision", "Job", Options(provisioning="dws", gpus=8000))
    assert list(workload_verdicts("kueue", [job], objects)) == []
    cut = [_without_borrowing(each, "queued-h100") for each in objects]
    (found,) = workload_verdicts("kueue", [job], cut)
    assert found.message == (
        "insufficient quota: the workload requests 8 nvidia.com/gpu, but ClusterQueue vision has at most 0 in flavor "
        "queued-h100, including borrowing"
    )


def _without_borrowing(made: Mapping[str, Any], flavor: str) -> Mapping[str, Any]:
    if made["kind"] != "Cohort" or made["metadata"]["name"] != "research":
        return made
    quota = {"name": "nvidia.com/gpu", "nominalQuota": "0", "borrowingLimit": "0"}
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": flavor, "resources": [quota]}]}
    return {**made, "spec": {**made["spec"], "resourceGroups": [group]}}


def test_one_pod_set_gets_queued_nodes() -> None:
    queued = program("kueue", Queue(id="vision", namespaces=("vision",)), pools=(H100, QUEUED, ORDINARY))
    options = Options(provisioning="dws", gpus=8000, workers=3)
    alike = bound(queued, "vision", "PyTorchJob", options)
    (remark,) = alike.remarks
    assert "Kueue assigns nodes only to the first: pods in Worker get no nodes" in remark
    existing = [made for name in ("kueue", "native") for made in EMITTERS[name].emit(queued).manifests]
    assert [v.effect for v in workload_verdicts("kueue", alike.objects, existing)] == [Effect.PENDING]
    job: Any = alike.objects[0]
    worker = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["resources"]
    worker["requests"]["cpu"] = worker["limits"]["cpu"] = "7"
    (remark,) = adopt(queued, "vision", [job], Options(provisioning="dws")).remarks
    assert (
        "pod sets Master and Worker differ, but queued-provisioning.gke.io provisions nodes for only one pod template"
        in remark
    )


def test_placement_conflict_is_noted() -> None:
    packed = program("native", Queue(id="vision", namespaces=("vision",), limit=Resources(gpu=0)))
    options = Options(workers=4)
    assert bound(replace(packed, cpu_placement="binpack"), "vision", "Job", options).notes == ()
    (note,) = bound(replace(packed, cpu_placement="spread"), "vision", "Job", options).notes
    assert note.endswith("set schedulerName: apportion-cpu if the control plane uses kube-scheduler.yaml")


def test_gang_that_does_not_fit_whole_nodes_is_warned_about() -> None:
    free = program("kai", Queue(id="vision", namespaces=("vision",)))
    (remark,) = bound(free, "vision", "Job", Options(gpus=5000, workers=5)).remarks
    assert remark == (
        "vision-job starts 5 pods together, but only 4 fit on the nodes that queue vision may use, "
        "at most 1 per node; the workload would never start"
    )
