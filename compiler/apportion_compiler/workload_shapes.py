"""The scheduling-related fields of each kind of workload: pod templates, their pod counts, and the suspend field.

Bindings write through these shapes, and the rules on pending workloads read through them. Manifests are untrusted, so a
value of the wrong type is treated as missing; the API server reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from apportion_api.volcano.names import BATCH_GROUP

Node = dict[str, object]
"""A mapping within a manifest, not a copy: changes modify the manifest."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of the same template.

    Attributes:
        name: Its name in the workload: `head`, `Worker`, a group's name; empty if there is only one pod set.
        path: Path of the template: `spec.rayClusterSpec.headGroupSpec.template`; empty for a bare pod.
        template: The template: `metadata` and `spec`.
        count: Number of concurrent pods.
    """

    name: str
    path: str
    template: Node
    count: int

    @property
    def spec(self) -> Node:
        """The pod spec."""
        return mapping(self.template.get("spec"))


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of workload.

    Attributes:
        group: Its API group; empty for the core group.
        kind: Its kind.
        pod_sets: Its pod templates.
        suspend: Path of the field that suspends it; None if it has no such field.
        owners: The nodes with a `metadata` of objects that own pods, the workload itself first.
        max_name: Maximum length of its name: its objects have longer names.
    """

    group: str
    kind: str
    pod_sets: Callable[[Node], Iterator[PodSet]]
    suspend: tuple[str, ...] | None
    owners: Callable[[Node], Iterator[Node]]
    max_name: int = 63


def shape_of(manifest: Mapping[str, object]) -> Shape | None:
    """Return the shape of a manifest's kind, in any version; None if it is not a known workload."""
    group = str(manifest.get("apiVersion", "")).rpartition("/")[0]
    return _SHAPES.get((group, str(manifest.get("kind", ""))))


def pod_sets(manifest: Mapping[str, object]) -> tuple[PodSet, ...]:
    """Return the pod sets of a workload; none for other objects."""
    shape = shape_of(manifest)
    return () if shape is None else tuple(shape.pod_sets(cast("Node", manifest)))


def mapping(value: object) -> Node:
    """Return a mapping of a manifest, or an empty one if it is not a mapping."""
    return cast("Node", value) if isinstance(value, dict) else {}


def sequence(value: object) -> list[object]:
    """Return a list of a manifest, or an empty one if it is not a list."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text(value: object) -> str:
    """Return a text of a manifest, or an empty one if it is not text."""
    return value if isinstance(value, str) else ""


def found(node: Mapping[str, object], *keys: str) -> object:
    """Return the value at a path below a mapping; None if missing."""
    at: object = node
    for key in keys:
        at = mapping(at).get(key)
    return at


def section(node: Node, *keys: str) -> Node:
    """Return the mapping at a path, created if missing."""
    for key in keys:
        below = node.get(key)
        if not isinstance(below, dict):
            below = node[key] = {}
        node = cast("Node", below)
    return node


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def _at(node: Node, path: str, name: str = "", count: int = 1) -> Iterator[PodSet]:
    template = found(node, *path.split("."))
    if isinstance(template, dict):
        yield PodSet(name, path, cast("Node", template), count)


def _itself(manifest: Node) -> Iterator[Node]:
    yield manifest


def _pod(manifest: Node) -> Iterator[PodSet]:
    yield PodSet("", "", manifest, 1)


def _replicated(manifest: Node) -> Iterator[PodSet]:
    return _at(manifest, "spec.template", count=_number(found(manifest, "spec", "replicas"), 1))


def _parallelism(spec: object) -> int:
    parallelism = _number(found(mapping(spec), "parallelism"), 1)
    completions = found(mapping(spec), "completions")
    return min(parallelism, _number(completions, parallelism))


def _job(manifest: Node) -> Iterator[PodSet]:
    return _at(manifest, "spec.template", count=_parallelism(manifest.get("spec")))


def _cron_job(manifest: Node) -> Iterator[PodSet]:
    count = _parallelism(found(manifest, "spec", "jobTemplate", "spec"))
    return _at(manifest, "spec.jobTemplate.spec.template", count=count)


def _cron_job_owners(manifest: Node) -> Iterator[Node]:
    yield manifest
    made = found(manifest, "spec", "jobTemplate")
    if isinstance(made, dict):
        yield cast("Node", made)


def _replicated_jobs(manifest: Node) -> Iterator[tuple[str, Node]]:
    for index, entry in enumerate(sequence(found(manifest, "spec", "replicatedJobs"))):
        yield f"spec.replicatedJobs[{index}]", mapping(entry)


def _job_set(manifest: Node) -> Iterator[PodSet]:
    for path, entry in _replicated_jobs(manifest):
        job = found(entry, "template", "spec")
        count = _number(entry.get("replicas"), 1) * _parallelism(job)
        for pods in _at(entry, "template.spec.template", text(entry.get("name")), count):
            yield PodSet(pods.name, f"{path}.{pods.path}", pods.template, count)


def _job_set_owners(manifest: Node) -> Iterator[Node]:
    yield manifest
    for _, entry in _replicated_jobs(manifest):
        if isinstance(entry.get("template"), dict):
            yield mapping(entry["template"])


def _ray(*cluster: str) -> Callable[[Node], Iterator[PodSet]]:
    def pod_sets_of(manifest: Node) -> Iterator[PodSet]:
        at = mapping(found(manifest, *cluster))
        prefix = ".".join(cluster)
        for pods in _at(at, "headGroupSpec.template", "head"):
            yield PodSet("head", f"{prefix}.{pods.path}", pods.template, 1)
        for index, entry in enumerate(sequence(at.get("workerGroupSpecs"))):
            group = mapping(entry)
            replicas = _number(group.get("replicas"), _number(group.get("minReplicas"), 0))
            count = replicas * _number(group.get("numOfHosts"), 1)
            for pods in _at(group, "template", text(group.get("groupName")), count):
                yield PodSet(pods.name, f"{prefix}.workerGroupSpecs[{index}].template", pods.template, count)

    return pod_sets_of


def _ray_job(manifest: Node) -> Iterator[PodSet]:
    yield from _ray("spec", "rayClusterSpec")(manifest)
    if found(manifest, "spec", "submissionMode") in {None, "K8sJobMode"}:
        yield from _at(manifest, "spec.submitterPodTemplate", "submitter")


def _kubeflow(field: str) -> Callable[[Node], Iterator[PodSet]]:
    def pod_sets_of(manifest: Node) -> Iterator[PodSet]:
        for role, entry in mapping(found(manifest, "spec", field)).items():
            replica = mapping(entry)
            count = _number(replica.get("replicas"), 1)
            for pods in _at(replica, "template", role, count):
                yield PodSet(role, f"spec.{field}.{role}.template", pods.template, count)

    return pod_sets_of


def _volcano_job(manifest: Node) -> Iterator[PodSet]:
    for index, entry in enumerate(sequence(found(manifest, "spec", "tasks"))):
        task = mapping(entry)
        count = _number(task.get("replicas"), 1)
        for pods in _at(task, "template", text(task.get("name")), count):
            yield PodSet(pods.name, f"spec.tasks[{index}].template", pods.template, count)


def _leader_worker_set(manifest: Node) -> Iterator[PodSet]:
    size = _number(found(manifest, "spec", "leaderWorkerTemplate", "size"), 1)
    groups = _number(found(manifest, "spec", "replicas"), 1)
    leader = list(_at(manifest, "spec.leaderWorkerTemplate.leaderTemplate", "leader", groups))
    yield from leader
    yield from _at(
        manifest, "spec.leaderWorkerTemplate.workerTemplate", "worker", groups * (size - 1 if leader else size)
    )


_KUBEFLOW_FIELDS = {
    "PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs", "MPIJob": "mpiReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs", "PaddleJob": "paddleReplicaSpecs", "JAXJob": "jaxReplicaSpecs",
}  # fmt: skip

# Names: KubeRay at feeaf72fa ray-operator/controllers/ray/utils/constant.go (53 and 47); Kubernetes
# pkg/apis/batch/validation (52 for a CronJob); JobSet and the training operator name pods after the job, with a suffix.
_ALL = (
    Shape("", "Pod", _pod, None, _itself),
    Shape("", "ReplicationController", _replicated, None, _itself),
    Shape("apps", "Deployment", _replicated, None, _itself),
    Shape("apps", "StatefulSet", _replicated, None, _itself, 52),
    Shape("apps", "ReplicaSet", _replicated, None, _itself),
    Shape("apps", "DaemonSet", _replicated, None, _itself),
    Shape("batch", "Job", _job, ("spec", "suspend"), _itself),
    Shape("batch", "CronJob", _cron_job, ("spec", "jobTemplate", "spec", "suspend"), _cron_job_owners, 52),
    Shape(BATCH_GROUP, "Job", _volcano_job, None, _itself, 52),
    Shape("jobset.x-k8s.io", "JobSet", _job_set, ("spec", "suspend"), _job_set_owners, 46),
    Shape("leaderworkerset.x-k8s.io", "LeaderWorkerSet", _leader_worker_set, None, _itself, 46),
    Shape("ray.io", "RayJob", _ray_job, ("spec", "suspend"), _itself, 47),
    Shape("ray.io", "RayCluster", _ray("spec"), ("spec", "suspend"), _itself, 53),
    Shape(
        "ray.io", "RayService", _ray("spec", "rayClusterConfig"), ("spec", "rayClusterConfig", "suspend"), _itself, 47
    ),
    *(
        Shape("kubeflow.org", kind, _kubeflow(field), ("spec", "runPolicy", "suspend"), _itself, 50)
        for kind, field in _KUBEFLOW_FIELDS.items()
    ),
)
_SHAPES = {(shape.group, shape.kind): shape for shape in _ALL}
