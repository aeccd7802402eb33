"""The pod group of each kind of workload's pods, with its minimum and sub-groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from apportion_runtime.admission.expansion import EXPANDERS, Expansion, expand
from apportion_runtime.admission.grouping import GROUPERS, group
from apportion_runtime.admission.grouping.grouping import Grouping
from apportion_runtime.admission.grouping.pod_group import pod_group
from apportion_runtime.admission.grouping.top_owner import top_owner_text
from apportion_runtime.admission.objects import GroupingError, Manifest, Unreadable

_SPEC = {"schedulerName": "kai-scheduler", "containers": [{"name": "main"}]}
_TEMPLATE = {"spec": _SPEC}


class Objects:
    """Objects that are there, and priority classes of any of these names."""

    def __init__(self, *made: Manifest, classes: tuple[str, ...] = ("train", "build", "inference")) -> None:
        self.made = {(str(m["kind"]), str(m["metadata"]["name"])): m for m in made}
        self.classes = classes
        self.launchers: tuple[Manifest, ...] = ()
        self.unreadable: set[str] = set()

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        if kind == "PriorityClass":
            return {"kind": kind} if name in self.classes else None
        return self.made.get((kind, name))

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        if kind in self.unreadable:
            raise Unreadable(kind)
        found = self.made.get((kind, name))
        return found if found is not None and found["apiVersion"] == api_version else None

    def pods(self, namespace: str, labels: Mapping[str, str]) -> tuple[Manifest, ...]:
        return self.launchers


def workload(kind: str, version: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    labels = metadata.pop("labels", {"kai.scheduler/queue": "team-a"})
    meta = {"name": "w", "namespace": "ns", "uid": "uid-w", "labels": labels, **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}


def pods_of(made: Manifest, objects: Objects) -> tuple[Expansion, list[Manifest]]:
    """Return the pods of a workload as its operator makes them for KAI, and add all objects between."""
    expansion = expand(made)
    if expansion.status:
        made = {**made, "status": expansion.status}
    objects.made[str(made["kind"]), "w"] = made
    for number, child in enumerate(expansion.children):
        reference = child["metadata"]["ownerReferences"][0]
        owner = objects.made[reference["kind"], reference["name"]]
        reference["uid"] = owner["metadata"]["uid"]
        child["metadata"]["uid"] = f"uid-{number}"
        objects.made[child["kind"], child["metadata"]["name"]] = child
    pods = []
    for slot in expansion.slots:
        metadata: dict[str, Any] = {"name": f"pod-{slot.key}", "namespace": "ns", "uid": f"uid-pod-{slot.key}"}
        metadata |= {"labels": slot.labels, "annotations": slot.annotations}
        if slot.owner is not None:
            metadata["ownerReferences"] = [reference_to(objects.made[slot.owner])]
        # Trainer's pods have no template of the author's that could say it.
        spec = {"schedulerName": "kai-scheduler", **slot.spec} if made["kind"] == "TrainJob" else slot.spec
        pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    return expansion, pods


def reference_to(owner: Manifest) -> dict[str, Any]:
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def groupings(made: Manifest, objects: Objects | None = None) -> list[Grouping]:
    objects = Objects() if objects is None else objects
    found = [group(pod, objects) for pod in pods_of(made, objects)[1]]
    assert all(each is not None for each in found)
    return [each for each in found if each is not None]


def ray_cluster(**workers: Any) -> dict[str, Any]:
    group_spec = {"groupName": "gpu", "replicas": 4, "template": _TEMPLATE, **workers}
    return {"headGroupSpec": {"template": _TEMPLATE}, "workerGroupSpecs": [group_spec]}


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("RayCluster", ray_cluster(minReplicas=2)),
        ("RayJob", {"submissionMode": "HTTPMode", "rayClusterSpec": ray_cluster(minReplicas=2)}),
        ("RayService", {"rayClusterConfig": ray_cluster(minReplicas=2)}),
    ],
)
def test_ray_has_a_part_for_the_head_and_for_each_group_of_workers(kind: str, spec: dict[str, Any]) -> None:
    found = groupings(workload(kind, "ray.io/v1", spec))
    assert {made.name for made in found} == {"pg-w-uid-w"}
    assert [made.sub_group for made in found] == ["headgroup", *["gpu"] * 4]
    assert [(part.name, part.min_members) for part in found[0].parts] == [("headgroup", 1), ("gpu", 2)]
    assert found[0].min_members == 3
    assert found[0].queue == "team-a"


def test_ray_without_a_minimum_starts_with_all_its_workers_and_hosts() -> None:
    found = groupings(workload("RayCluster", "ray.io/v1", ray_cluster(numOfHosts=2)))
    assert [(part.name, part.min_members) for part in found[0].parts] == [("headgroup", 1), ("gpu", 8)]
    assert len(found) == 9


def test_suspended_ray_worker_group_is_not_a_subgroup() -> None:
    found = groupings(workload("RayCluster", "ray.io/v1", ray_cluster(suspended=True)))
    assert [part.name for part in found[0].parts] == ["headgroup"]


def test_ray_minimum_above_replicas_is_rejected_with_kai_message() -> None:
    objects = Objects()
    made = workload("RayCluster", "ray.io/v1", ray_cluster(minReplicas=5))
    _, pods = pods_of(made, objects)
    with pytest.raises(GroupingError, match="Given 4 replicas and 5 minReplicas"):
        group(pods[0], objects)


def test_rays_own_priority_label_has_precedence_even_without_such_a_class() -> None:
    labels = {"kai.scheduler/queue": "q", "ray.io/priority-class-name": "nowhere", "priorityClassName": "build"}
    found = groupings(workload("RayCluster", "ray.io/v1", ray_cluster(), labels=labels))
    assert found[0].priority_class == "nowhere"


def test_job_is_one_group_with_minimum_of_one() -> None:
    found = groupings(workload("Job", "batch/v1", {"completions": 3, "parallelism": 3, "template": _TEMPLATE}))
    assert {made.name for made in found} == {"pg-w-uid-w"}
    assert found[0].min_members == 1
    annotated = {"kai.scheduler/batch-min-member": "3"}
    spec = {"completions": 3, "parallelism": 3, "template": _TEMPLATE}
    assert groupings(workload("Job", "batch/v1", spec, annotations=annotated))[0].min_members == 3


def test_each_replica_of_a_deployment_is_a_group_of_class_inference() -> None:
    found = groupings(workload("Deployment", "apps/v1", {"replicas": 2, "template": _TEMPLATE}))
    assert [made.name for made in found] == ["pg-pod-0-uid-pod-0", "pg-pod-1-uid-pod-1"]
    assert {made.priority_class for made in found} == {"inference"}
    named = {"kai.scheduler/queue": "q", "priorityClassName": "build"}
    found = groupings(workload("Deployment", "apps/v1", {"replicas": 1, "template": _TEMPLATE}, labels=named))
    assert found[0].priority_class == "build"


def test_bare_pod_has_its_own_group_of_class_train() -> None:
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": _SPEC}
    found = group(made, Objects())
    assert found is not None
    assert (found.name, found.priority_class, found.queue, found.has_queue) == (
        "pg-p-u",
        "train",
        "default-queue",
        False,
    )


def test_missing_priority_class_is_treated_as_unset() -> None:
    labels = {"kai.scheduler/queue": "q", "priorityClassName": "gold"}
    found = groupings(workload("Job", "batch/v1", {"template": _TEMPLATE}, labels=labels))
    assert found[0].priority_class == "train"


def test_pytorch_takes_the_elastic_minimum_unless_the_run_policy_says_one() -> None:
    roles = {
        "Master": {"replicas": 1, "template": _TEMPLATE},
        "Worker": {"replicas": 4, "template": _TEMPLATE},
    }
    spec: dict[str, Any] = {"pytorchReplicaSpecs": roles, "elasticPolicy": {"minReplicas": 3}}
    found = groupings(workload("PyTorchJob", "kubeflow.org/v1", spec))
    assert [(p.name, p.min_members) for p in found[0].parts] == [("master", 1), ("worker", 2)]
    assert [made.sub_group for made in found] == ["master", *["worker"] * 4]
    spec["runPolicy"] = {"schedulingPolicy": {"minAvailable": 5}}
    assert groupings(workload("PyTorchJob", "kubeflow.org/v1", spec))[0].min_members == 5


def test_segments_of_pytorch_workers_beyond_the_minimum_are_elastic() -> None:
    template = {"metadata": {"annotations": {"kai.scheduler/segment-size": "2"}}, "spec": _SPEC}
    roles = {"Worker": {"replicas": 5, "template": template}}
    spec = {"pytorchReplicaSpecs": roles, "elasticPolicy": {"minReplicas": 3}}
    found = groupings(workload("PyTorchJob", "kubeflow.org/v1", spec))
    assert [(p.name, p.min_members, p.min_parts) for p in found[0].parts] == [
        ("worker", 0, 3),
        ("worker-0", 2, None),
        ("worker-1", 2, None),
        ("worker-2", 0, None),
    ]
    assert [made.sub_group for made in found] == ["worker-0", "worker-0", "worker-1", "worker-1", "worker-2"]


def test_delayed_mpi_launcher_is_not_part_of_minimum() -> None:
    roles = {"Launcher": {"replicas": 1, "template": _TEMPLATE}, "Worker": {"replicas": 2, "template": _TEMPLATE}}
    spec = {"mpiReplicaSpecs": roles, "launcherCreationPolicy": "WaitForWorkersReady"}
    made = workload("MPIJob", "kubeflow.org/v2beta1", spec)
    assert groupings(made)[0].min_members == 2
    objects = Objects()
    objects.launchers = ({"metadata": {"name": "launcher"}},)
    assert groupings(made, objects)[0].min_members == 3
    objects.launchers = ({"metadata": {"name": "launcher", "deletionTimestamp": "2026-11-25T00:00:00Z"}},)
    assert groupings(made, objects)[0].min_members == 2


def test_jobset_has_two_levels_and_in_order_starts_first_job() -> None:
    job = {"spec": {"parallelism": 2, "template": _TEMPLATE}}
    spec: dict[str, Any] = {
        "replicatedJobs": [{"name": "a", "replicas": 2, "template": job}, {"name": "b", "template": job}]
    }
    found = groupings(workload("JobSet", "jobset.x-k8s.io/v1alpha2", spec))
    assert [(p.name, p.parent, p.min_parts, p.min_members) for p in found[0].parts] == [
        ("a", "", 2, 0),
        ("a-replica-0", "a", None, 2),
        ("a-replica-1", "a", None, 2),
        ("b", "", 1, 0),
        ("b-replica-0", "b", None, 2),
    ]
    assert found[0].min_parts == 2
    assert found[-1].sub_group == "b-replica-0"
    spec["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    assert groupings(workload("JobSet", "jobset.x-k8s.io/v1alpha2", spec))[0].min_parts == 1


def test_train_job_is_grouped_as_its_jobset() -> None:
    spec = {"trainer": {"numNodes": 3, "resourcesPerNode": {"requests": {"nvidia.com/gpu": "8"}}}}
    found = groupings(workload("TrainJob", "trainer.kubeflow.org/v1alpha1", spec))
    assert len(found) == 3
    assert found[0].owner["kind"] == "JobSet"
    assert [(p.name, p.min_members) for p in found[0].parts] == [("node", 0), ("node-replica-0", 3)]


def test_each_replica_of_a_leader_worker_set_is_a_gang_of_leader_and_workers() -> None:
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": _TEMPLATE}}
    found = groupings(workload("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", spec))
    assert [made.name for made in found] == [*["pg-w-uid-w-group-0"] * 3, *["pg-w-uid-w-group-1"] * 3]
    assert [(p.name, p.min_members) for p in found[0].parts] == [("leader", 1), ("workers", 2)]
    assert [made.sub_group for made in found[:3]] == ["leader", "workers", "workers"]


def test_segments_of_a_leader_worker_set_hold_the_leader_in_the_first() -> None:
    template = {"size": 5, "workerTemplate": _TEMPLATE, "subGroupPolicy": {"subGroupSize": 2}}
    found = groupings(workload("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", {"leaderWorkerTemplate": template}))
    assert [(p.name, p.parent, p.min_members, p.min_parts) for p in found[0].parts] == [
        ("segment-0", "", 0, 2),
        ("segment-1", "", 2, None),
        ("leader", "segment-0", 1, None),
        ("workers", "segment-0", 2, None),
    ]
    assert [made.sub_group for made in found] == ["leader", "workers", "workers", "segment-1", "segment-1"]


def test_pods_of_other_schedulers_and_of_skipped_owners_are_left_alone() -> None:
    objects = Objects()
    made = workload("Job", "batch/v1", {"template": {"spec": {"containers": []}}})
    assert group(pods_of(made, objects)[1][0], objects) is None
    skipped = workload(
        "Job", "batch/v1", {"template": _TEMPLATE}, annotations={"kai.scheduler/skip-podgrouper": "true"}
    )
    assert group(pods_of(skipped, objects)[1][0], objects) is None


def test_missing_owner_is_reported() -> None:
    objects = Objects()
    _, pods = pods_of(workload("Job", "batch/v1", {"template": _TEMPLATE}), objects)
    objects.made.clear()
    with pytest.raises(GroupingError, match="failed to find Job: <ns/w>"):
        group(pods[0], objects)


def test_updated_pod_group_keeps_its_queue() -> None:
    made = groupings(workload("RayCluster", "ray.io/v1", ray_cluster(minReplicas=2)))[0]
    first = pod_group(made, None)
    assert first["spec"]["subGroups"][1] == {"name": "gpu", "minMember": 2}
    first["spec"]["queue"] = "moved"
    assert pod_group(made, first)["spec"]["queue"] == "moved"


def test_pod_with_unreadable_owner_is_grouped_by_owner_reference() -> None:
    objects = Objects()
    objects.unreadable = {"Foo"}
    foo = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "foo", "uid": "uid-foo"}}
    metadata = {"name": "p", "namespace": "ns", "uid": "u", "ownerReferences": [reference_to(foo)]}
    metadata["labels"] = {"kai.scheduler/queue": "team-a"}
    found = group({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _SPEC}, objects)
    assert found is not None
    assert (found.name, found.queue, found.priority_class) == ("pg-foo-uid-foo", "team-a", "train")


def test_deployment_with_unreadable_owner_is_top_owner() -> None:
    objects = Objects()
    objects.unreadable = {"InferenceService"}
    service = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "s", "uid": "s"},
    }
    made = workload("Deployment", "apps/v1", {"replicas": 1, "template": _TEMPLATE})
    made["metadata"]["ownerReferences"] = [reference_to(service)]
    assert [each.priority_class for each in groupings(made, objects)] == ["inference"]


def test_cyclic_owners_are_reported() -> None:
    objects = Objects()
    a, b = (workload("Foo", "example.com/v1", {}, name=name, uid=name) for name in "ab")
    a["metadata"]["ownerReferences"], b["metadata"]["ownerReferences"] = [reference_to(b)], [reference_to(a)]
    objects.made = {("Foo", "a"): a, ("Foo", "b"): b}
    metadata = {"name": "p", "namespace": "ns", "uid": "u", "ownerReferences": [reference_to(a)]}
    with pytest.raises(GroupingError, match=r"the owners of Foo: <ns/a> form a cycle"):
        group({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _SPEC}, objects)


@pytest.mark.parametrize(
    ("name", "text"),
    [("train-7b", "train-7b"), ("1e3", '"1e3"'), ("2026-01-01", '"2026-01-01"'), ("2026-13-01", "2026-13-01")],
)
def test_pod_group_has_top_owner_annotation_in_yaml(name: str, text: str) -> None:
    made = workload("Job", "batch/v1", {"template": _TEMPLATE})
    identity = top_owner_text({**made, "metadata": {"name": name, "uid": "u"}})
    assert identity == f"name: {text}\nuid: u\ngroup: batch\nversion: v1\nkind: Job\n"


def test_every_kind_that_is_grouped_by_itself_can_be_expanded_or_is_another_controllers() -> None:
    """A CronJob has no pods of its own."""
    grouped = {(version.rpartition("/")[0], kind) for version, kind in GROUPERS}
    assert grouped - EXPANDERS.keys() == {
        ("batch", "CronJob"),
        ("amlarc.azureml.com", "AmlJob"),
        ("egx.nvidia.io", "SPOTRequest"),
        ("grove.io", "PodCliqueSet"),
        ("grove.io", "PodGangSet"),
        ("kubeflow.org", "Notebook"),
        ("run.ai", "RunaiJob"),
        ("serving.knative.dev", "Service"),
    }
