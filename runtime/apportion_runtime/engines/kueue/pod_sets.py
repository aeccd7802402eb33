"""The pod sets of a workload: their templates and requests, and the templates of an admitted workload.

Source: kubernetes-sigs/kueue v0.18.3, pkg/controller/jobs/*/…_controller.go (PodSets), pkg/podset/podset.go.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from apportion_api.kueue.names import COMPLETIONS_ANNOTATION, MIN_PARALLELISM_ANNOTATION
from apportion_runtime.admission.expansion.expansion import defaulted
from apportion_runtime.admission.expansion.ray import BY_JOB, submission_mode, submitter_of
from apportion_runtime.admission.grouping.kubeflow import ROLES
from apportion_runtime.admission.objects import annotations_of, kind_of, nested, text, whole
from apportion_runtime.engines.kueue.records import PodSet
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.pod_requests import amount, pod_requests

Path = tuple[str | int, ...]
FRAMEWORKS: Mapping[str, tuple[str, str]] = {
    "batch/job": ("batch", "Job"),
    "jobset.x-k8s.io/jobset": ("jobset.x-k8s.io", "JobSet"),
    "ray.io/rayjob": ("ray.io", "RayJob"),
    "ray.io/raycluster": ("ray.io", "RayCluster"),
    **{
        f"kubeflow.org/{kind.lower()}": ("kubeflow.org", kind)
        for kind in ("PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "MPIJob")
    },
}
"""The API group and kind of each simulated integration that suspends jobs, by name."""
POD_FRAMEWORKS: Mapping[str, tuple[str, str]] = {"pod": ("", "Pod"), "deployment": ("apps", "Deployment")}
"""The same for integrations that gate pods."""
_ROLE = (
    "initContainers", "nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority", "priorityClassName",
    "topologySpreadConstraints", "overhead", "resourceClaims",
)  # fmt: skip
_FIRST_ROLES = ("master", "launcher", "chief")


@dataclass(frozen=True, slots=True)
class PodSetTemplate:
    """A pod set of a manifest, and the path of its template; no path if the operator provides the template."""

    name: str
    count: int
    path: Path
    template: Mapping[str, Any]
    least: int | None = None
    is_last: bool = False
    """Whether its pod is created once the others are ready."""


@dataclass(frozen=True, slots=True)
class ResourceTransformations:
    """`resources` of the manager's configuration: excluded and transformed resources.

    `transformations` are by resource: whether it is retained, and its outputs per unit.
    """

    excluded: tuple[str, ...] = ()
    transformations: Mapping[str, tuple[bool, Mapping[str, str]]] = field(default_factory=dict)


def pod_set_templates(manifest: Manifest) -> list[PodSetTemplate]:
    """Return the pod sets of a workload in Kueue's order. Raises `KeyError` for a kind that is not simulated."""
    kind = kind_of(manifest)
    if kind == ("batch", "Job"):
        count = _job_pods(nested(manifest, "spec") or {})
        main = _at(manifest, "main", count, ("spec", "template"))
        return [replace(main, least=_least(manifest, count))]
    if kind == ("jobset.x-k8s.io", "JobSet"):
        return list(_of_jobset(manifest))
    if kind == ("ray.io", "RayCluster"):
        return list(_of_ray(manifest, ("spec",)))
    if kind == ("ray.io", "RayJob"):
        return list(_of_ray_job(manifest))
    return list(_of_roles(manifest, ROLES[kind[1]]))


def _job_pods(spec: Mapping[str, Any]) -> int:
    parallelism = 1 if (declared := whole(spec, "parallelism")) is None else declared
    completions = whole(spec, "completions")
    return parallelism if completions is None else min(parallelism, completions)


def _least(job: Manifest, count: int) -> int | None:
    """Return the minimum parallelism of a Job; None without partial admission."""
    declared = annotations_of(job).get(MIN_PARALLELISM_ANNOTATION, "")
    return int(declared) if declared.isdecimal() and 0 < int(declared) < count else None


def check_least(job: Manifest, count: int) -> None:
    """Raise `ValueError`, with the message of Kueue's webhook, for an invalid minimum parallelism of a Job."""
    declared = annotations_of(job).get(MIN_PARALLELISM_ANNOTATION)
    if declared is not None and _least(job, count) is None:
        path = f"metadata.annotations[{MIN_PARALLELISM_ANNOTATION}]"
        raise ValueError(f'{path}: Invalid value: "{declared}": should be between 0 and {count - 1}')


def role_hash(pod: Manifest) -> str:
    """Return the shape shared by the pods of a group that form one pod set."""
    spec = pod["spec"]
    declared = {key: spec[key] for key in _ROLE if spec.get(key)}
    asked = [(each.get("resources") or {}).get("requests") for each in spec.get("containers") or ()]
    text = json.dumps([declared, asked], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def originals_of(manifest: Manifest, found: Iterable[PodSetTemplate]) -> dict[Path, Any]:
    """Return the original values of the fields that are changed when a job is started."""
    made: dict[Path, Any] = {place.path: place.template for place in found if place.path}
    for path in _sizes(manifest):
        made[path] = _get(manifest, path)
    return made


def resized(manifest: Manifest, count: int) -> dict[Path, Any]:
    """Return the fields that change in a partially admitted Job."""
    return dict.fromkeys(_sizes(manifest), count)


def _sizes(manifest: Manifest) -> tuple[Path, ...]:
    declared = annotations_of(manifest)
    if kind_of(manifest) != ("batch", "Job") or MIN_PARALLELISM_ANNOTATION not in declared:
        return ()
    own = ("spec", "parallelism")
    return (own, ("spec", "completions")) if declared.get(COMPLETIONS_ANNOTATION) == "true" else (own,)


def _of_jobset(manifest: Manifest) -> Iterator[PodSetTemplate]:
    for number, replicated in enumerate(nested(manifest, "spec", "replicatedJobs") or ()):
        replicas = 1 if (declared := whole(replicated, "replicas")) is None else declared
        pods = _job_pods(nested(replicated, "template", "spec") or {})
        path = ("spec", "replicatedJobs", number, "template", "spec", "template")
        yield _at(manifest, text(replicated, "name"), replicas * pods, path)


def _of_ray(manifest: Manifest, above: Path) -> Iterator[PodSetTemplate]:
    yield _at(manifest, "head", 1, (*above, "headGroupSpec", "template"))
    for number, group in enumerate(_get(manifest, (*above, "workerGroupSpecs")) or ()):
        replicas = whole(group, "replicas") or 0
        hosts = 1 if (declared := whole(group, "numOfHosts")) is None else declared
        name = (text(group, "groupName") or f"worker-group-{number}").lower()
        yield _at(manifest, name, replicas * hosts, (*above, "workerGroupSpecs", number, "template"))


def _of_ray_job(manifest: Manifest) -> Iterator[PodSetTemplate]:
    yield from _of_ray(manifest, ("spec", "rayClusterSpec"))
    if submission_mode(manifest) == BY_JOB:
        # Additions to a template that the operator provides are lost.
        path = ("spec", "submitterPodTemplate") if nested(manifest, "spec", "submitterPodTemplate") else ()
        yield PodSetTemplate("submitter", 1, path, submitter_of(manifest), is_last=True)


def _of_roles(manifest: Manifest, key: str) -> Iterator[PodSetTemplate]:
    roles = nested(manifest, "spec", key) or {}
    for role in sorted(roles, key=lambda role: (role.lower() not in _FIRST_ROLES, role)):
        replicas = 1 if (declared := whole(roles, role, "replicas")) is None else declared
        yield _at(manifest, role.lower(), replicas, ("spec", key, role, "template"))


def _at(manifest: Manifest, name: str, count: int, path: Path) -> PodSetTemplate:
    return PodSetTemplate(name, count, path, _get(manifest, path) or {})


def _get(made: Any, path: Path) -> Any:
    for step in path:
        if made is None:
            return None
        made = made[step] if isinstance(step, int) else made.get(step)
    return made


def pod_set(place: PodSetTemplate, counting: ResourceTransformations) -> PodSet:
    """Return the total request of a pod set. Raises `ValueError` for an invalid amount."""
    each = pod_requests(defaulted(place.template.get("spec") or {}))
    counted: dict[str, int] = {}
    for resource, wanted in each.items():
        if any(resource.startswith(prefix) for prefix in counting.excluded):
            continue
        kept, outputs = counting.transformations.get(resource, (True, {}))
        if kept:
            counted[resource] = counted.get(resource, 0) + wanted
        for output, per_unit in outputs.items():
            counted[output] = counted.get(output, 0) + wanted * amount(output, per_unit)
    total = {resource: wanted * place.count for resource, wanted in counted.items()}
    return PodSet(place.name, place.count, place.template, total, place.least)


def shape(pod_sets: Iterable[PodSet], priority: int) -> str:
    """Return the shape shared by workloads that fit or do not fit together."""
    looked_at = ("nodeSelector", "affinity", "tolerations", "runtimeClassName", "schedulerName")
    declared = [
        [
            each.name,
            each.count,
            each.least,
            dict(each.requests),
            {k: v for k, v in each.template.get("spec", {}).items() if k in looked_at},
        ]
        for each in pod_sets
    ]
    return json.dumps([priority, declared], sort_keys=True, default=str)


@dataclass(frozen=True, slots=True)
class Update:
    """The additions to a template when its workload is admitted."""

    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()


def updated(template: Mapping[str, Any], update: Update) -> dict[str, Any]:
    """Return a template with its additions."""
    metadata, spec = template.get("metadata") or {}, dict(template.get("spec") or {})
    if update.annotations:
        metadata = {**metadata, "annotations": {**(metadata.get("annotations") or {}), **update.annotations}}
    if update.node_selector:
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **update.node_selector}
    has = list(spec.get("tolerations") or ())
    added = [dict(each) for each in update.tolerations if each not in has]
    if added:
        spec["tolerations"] = [*has, *added]
    return {**template, "metadata": metadata, "spec": spec}


def with_templates(manifest: Manifest, templates: Mapping[Path, Any]) -> dict[str, Any]:
    """Return a workload with templates or sizes replaced at some paths."""
    made = dict(manifest)
    for path, template in templates.items():
        made = _put(made, path, template)
    return made


def _put(made: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    first, *rest = path
    if isinstance(first, int):
        return [_put(each, tuple(rest), value) if number == first else each for number, each in enumerate(made)]
    return {**made, first: _put(made.get(first) or {}, tuple(rest), value)}
