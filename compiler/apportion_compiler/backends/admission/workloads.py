"""Kinds of workloads, and the paths of their pod templates.

Templates are a CEL expression with `{object}` as a placeholder for the variable. Expressions for built-in kinds pass
the API server's type check; those for custom resources are untyped, because the CRD may not be installed.
"""

from __future__ import annotations

from dataclasses import dataclass

Rule = tuple[str, tuple[str, ...]]
"""An API group and resources of it."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Kinds with the same paths of pod templates.

    The API server sets the defaults of pod templates in `built_in` kinds, so that they always have a scheduler name.
    """

    name: str
    rules: tuple[Rule, ...]
    templates: str
    built_in: bool = False


PODS = Workload("pods", (("", ("pods",)),), "[{object}]", built_in=True)

_RAY_CLUSTER = (
    "dyn({object}).spec.?rayClusterSpec.orValue(dyn({object}).spec.?rayClusterConfig.orValue(dyn({object}).spec))"
)
_KUBEFLOW = (
    "pytorchReplicaSpecs", "tfReplicaSpecs", "mpiReplicaSpecs", "xgbReplicaSpecs", "paddleReplicaSpecs",
    "jaxReplicaSpecs",
)  # fmt: skip

WORKLOADS: tuple[Workload, ...] = (
    PODS,
    Workload(
        "templates",
        (
            ("", ("replicationcontrollers",)),
            ("apps", ("daemonsets", "replicasets", "statefulsets")),
            ("batch", ("jobs",)),
        ),
        "[{object}.spec.template]",
        built_in=True,
    ),
    Workload("deployments", (("apps", ("deployments",)),), "[{object}.spec.template]", built_in=True),
    Workload("cronjobs", (("batch", ("cronjobs",)),), "[{object}.spec.jobTemplate.spec.template]", built_in=True),
    Workload(
        "ray",
        (("ray.io", ("rayclusters", "rayjobs", "rayservices")),),
        f"[{_RAY_CLUSTER}.?headGroupSpec.?template, dyn({{object}}).spec.?submitterPodTemplate]"
        ".filter(t, t.hasValue()).map(t, t.value())"
        f" + {_RAY_CLUSTER}.?workerGroupSpecs.orValue([]).map(g, g.template)",
    ),
    Workload(
        "kubeflow",
        (("kubeflow.org", ("jaxjobs", "mpijobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs")),),
        " + ".join(
            f"dyn({{object}}).spec.?{field}.orValue({{}}).map(r, dyn({{object}}).spec.{field}[r].template)"
            for field in _KUBEFLOW
        ),
    ),
    Workload(
        "jobsets",
        (("jobset.x-k8s.io", ("jobsets",)),),
        "dyn({object}).spec.?replicatedJobs.orValue([]).map(j, j.template.spec.template)",
    ),
    Workload(
        "leaderworkersets",
        (("leaderworkerset.x-k8s.io", ("leaderworkersets",)),),
        "[dyn({object}).spec.leaderWorkerTemplate.?leaderTemplate, "
        "dyn({object}).spec.leaderWorkerTemplate.?workerTemplate].filter(t, t.hasValue()).map(t, t.value())",
    ),
)
