"""The configuration that enforces the quotas: koord-scheduler's, and values of Koordinator's chart.

By default, a parent's limit does not apply to its descendants, and lent resources are not reclaimed from running pods
(pkg/scheduler/apis/config/v1/defaults.go at a7a1b76b). The chart has no values for this and writes the ConfigMap itself
(koordinator-sh/charts, versions/v1.8.0/templates/koord-scheduler-config.yaml), so it is not an object of the tree, but
a complete ConfigMap that replaces the chart's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.koordinator.names import QUOTA_NAMESPACE, SCHEDULER, SCHEDULER_CONFIG
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.backends.pool_labels import gpu_model_labels
from apportion_compiler.backends.yaml_documents import Block, yaml_document, yaml_text
from apportion_compiler.engine_versions import parse_version
from apportion_compiler.engines.koordinator.emit.trees import Tree
from apportion_compiler.ir.program import Program

CONFIG_FILE = "koord-scheduler-config.yaml"
VALUES_FILE = "values.yaml"
NODE_LABELS_FILE = "node-labels.yaml"

_API = "kubescheduler.config.k8s.io/v1"
_SMALLEST = {"cpu": "1m", "memory": "1"}
_SCORE = {"binpack": "MostAllocated", "spread": "LeastAllocated"}
_ARGUMENTS = {
    "quotaGroupNamespace": QUOTA_NAMESPACE,
    # A pod is counted in every ancestor quota, so that the limits of parents apply.
    "enableCheckParentQuota": True,
    # Pods above the current share of their quota are evicted, so that guarantees are reclaimed.
    "monitorAllQuotas": True,
    "enableRuntimeQuota": True,
    "enableMinQuotaScale": True,
    "disableDefaultQuotaPreemption": True,
    # These quotas are unlimited whatever their max is, which is their weight beside the top-level quotas. By default, it
    # overflows to -600 for cpu, and lets them take the memory that their pods request twice.
    "defaultQuotaGroupMax": dict(_SMALLEST),
    "systemQuotaGroupMax": dict(_SMALLEST),
}


_CHART_ARGUMENTS: tuple[dict[str, object], ...] = (
    {
        "name": "Coscheduling",
        "args": {
            "apiVersion": _API,
            "kind": "CoschedulingArgs",
            # It preempts pods of any quota by priority, before ElasticQuota preempts within the quota.
            "enablePreemption": False,
            "awareNetworkTopology": True,
        },
    },
    {
        "name": "LoadAwareScheduling",
        "args": {
            "apiVersion": _API,
            "kind": "LoadAwareSchedulingArgs",
            "filterExpiredNodeMetrics": False,
            "nodeMetricExpirationSeconds": 300,
            "resourceWeights": {"cpu": 1, "memory": 1},
            "usageThresholds": {"cpu": 65, "memory": 95},
            "estimatedScalingFactors": {"cpu": 85, "memory": 70},
        },
    },
)
"""Settings of other plugins, those of the chart of v1.8 except `enablePreemption`."""
_WHOLE_SINCE = (1, 8)
"""The first version with this configuration; older ones lack some plugins and arguments."""


def artifacts(program: Program, trees: Sequence[Tree]) -> Iterator[Artifact]:
    """Yield the scheduler's ConfigMap, the chart's values and, if there are trees of models, the labels of nodes."""
    yield Artifact(CONFIG_FILE, _scheduler_config(program))
    yield Artifact(VALUES_FILE, _values(program, trees))
    if len(trees) > 1:
        yield Artifact(NODE_LABELS_FILE, _node_labels(program, trees))


def _scheduler_config(program: Program) -> str:
    version = parse_version(program.engine_version)
    if version is None or version < _WHOLE_SINCE:
        notes = [
            (
                "Arguments for koord-scheduler's plugins; merge them into the profile in the ConfigMap "
                "koord-scheduler-config."
            ),
            (
                "Disable DefaultPreemption under postFilter if it is enabled, because it preempts across quotas by "
                "priority. Under score,"
            ),
            "disable NodeResourcesFit and enable NodeResourcesFitPlus.",
        ]
        return yaml_document(notes, {"pluginConfig": _plugin_config(program)})
    configuration = {
        "apiVersion": _API,
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {
            "leaderElect": True,
            "resourceLock": "leases",
            "resourceName": SCHEDULER,
            "resourceNamespace": QUOTA_NAMESPACE,
        },
        "profiles": [
            {
                "schedulerName": SCHEDULER,
                "pluginConfig": [*_plugin_config(program), *_CHART_ARGUMENTS],
                "plugins": _plugins(),
            }
        ],
    }
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": dict(metadata(program, SCHEDULER_CONFIG, program.source, namespace=QUOTA_NAMESPACE)),
        "data": {SCHEDULER_CONFIG: Block(yaml_text(configuration))},
    }
    notes = [
        "Configuration for koord-scheduler. The chart overwrites this ConfigMap: after each `helm upgrade`, run",
        f"kubectl apply --server-side --force-conflicts -f {CONFIG_FILE}, and restart koord-scheduler.",
        "If your ConfigMap has other settings, merge the ElasticQuota and NodeResourcesFitPlus arguments into it.",
        "koord-scheduler applies defaultQuotaGroupMax and systemQuotaGroupMax only to quotas that it creates. If",
        "koordinator-default-quota exists, run kubectl patch elasticquotas.scheduling.sigs.k8s.io koordinator-default-quota",
        f'-n {QUOTA_NAMESPACE} --type merge -p \'{{"spec":{{"max":{{"cpu":"1m","memory":"1"}}}}}}\'',
    ]
    return yaml_document(notes, config_map)


def _plugin_config(program: Program) -> list[dict[str, object]]:
    placement = {"cpu": program.cpu_placement, "memory": program.cpu_placement, GPU_RESOURCE: program.gpu_placement}
    return [
        _arguments("ElasticQuota", _ARGUMENTS),
        _arguments(
            "NodeResourcesFitPlus",
            {"resources": {name: {"type": _SCORE[how], "weight": 1} for name, how in placement.items()}},
        ),
    ]


def _plugins() -> dict[str, object]:
    """Return the chart's plugins, without those that preempt across quotas or score against the placement.

    DefaultPreemption preempts pods of any quota regardless of guarantees; NodeResourcesFit scores by LeastAllocated.
    """
    common = ["Reservation", "LoadAwareScheduling", "NodeNUMAResource", "DeviceShare"]
    return {
        "preEnqueue": _enabled("Coscheduling"),
        "queueSort": {**_disabled("*"), **_enabled("PrioritySort")},
        "preFilter": _enabled(
            "SchedulingHint", "Coscheduling", "Reservation", "NodeNUMAResource", "DeviceShare", "ElasticQuota"
        ),
        "filter": _enabled(*common),
        "postFilter": {**_disabled("*"), **_enabled("Reservation", "Coscheduling", "ElasticQuota")},
        # NodeResourcesFitPlus.Score fails without what its PreScore stores: no pod that fits on two nodes is scheduled.
        "preScore": _enabled("Reservation", "Coscheduling", "NodeResourcesFitPlus"),
        "score": {
            **_disabled("NodeResourcesFit"),
            "enabled": [
                {"name": "NodeResourcesFitPlus", "weight": 10},
                {"name": "LoadAwareScheduling", "weight": 1},
                {"name": "NodeNUMAResource", "weight": 1},
                {"name": "DeviceShare", "weight": 1},
                {"name": "Reservation", "weight": 5000},
                {"name": "Coscheduling", "weight": 1},
            ],
        },
        "reserve": _enabled(*common, "Coscheduling", "ElasticQuota"),
        "permit": _enabled("Coscheduling"),
        "preBind": _enabled("NodeNUMAResource", "DeviceShare", "Reservation", "Coscheduling", "DefaultPreBind"),
        "bind": {**_disabled("*"), **_enabled("Reservation", "DefaultBinder")},
        "postBind": _enabled("Coscheduling"),
    }


def _values(program: Program, trees: Sequence[Tree]) -> str:
    gates = ["ElasticQuotaEnableUpdateResourceKey=true"]
    scheduler: dict[str, object] = {}
    if len(trees) > 1:
        gates.append("MultiQuotaTree=true")
        scheduler = {"scheduler": {"featureGates": "MultiQuotaTree=true"}}
    values = {
        "installation": {"namespace": QUOTA_NAMESPACE},
        "featureGates": ",".join(gates),
        **scheduler,
        "webhookConfiguration": {"failurePolicy": {"elasticquotas": "Fail"}},
    }
    notes = [
        "Values for Koordinator's Helm chart, required by this cluster's policy; merge them into your own values.",
        "Without ElasticQuotaEnableUpdateResourceKey, child quotas cannot set resources that their parent does not set.",
    ]
    return yaml_document(notes, values)


def _node_labels(program: Program, trees: Sequence[Tree]) -> str:
    models = {tree.model for tree in trees if tree.model is not None}
    labels = {pool.id: dict(gpu_model_labels(pool)) for pool in program.pools if pool.gpu_model in models}
    notes = [
        "Node label for each pool; it assigns the pool's nodes to a quota tree.",
        "Set the label in the pool's configuration so that new nodes have it.",
    ]
    return yaml_document(notes, labels)


def _arguments(name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    return {"name": name, "args": {"apiVersion": _API, "kind": f"{name}Args", **arguments}}


def _enabled(*names: str) -> dict[str, object]:
    return {"enabled": [{"name": name} for name in names]}


def _disabled(name: str) -> dict[str, object]:
    return {"disabled": [{"name": name}]}
