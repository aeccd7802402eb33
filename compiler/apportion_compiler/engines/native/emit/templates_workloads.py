"""Templates of recurring training jobs and of autoscaled serving, for Kubernetes' own scheduler.

Files to copy, one for each leaf that may use GPUs; they are not applied with the policy. They avoid three common
mistakes: a Resource metric of an autoscaler supports only cpu and memory, so GPU utilization comes from NVIDIA's
exporter as a pod metric; a recurring job must not start while its last run uses the GPUs; each container requests its
GPUs explicitly, because a default would give one to every sidecar.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.capability import Artifact, Manifest
from apportion_compiler.backends.generated import GENERATED
from apportion_compiler.dumper import dump_all
from apportion_compiler.engines.native.names import gpu_models
from apportion_compiler.ir.effective_limits import effective_limits
from apportion_compiler.ir.program import NodePool, Program, Queue
from apportion_compiler.kubernetes_names import label_value, object_name
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_policy.evaluation.sanitized_text import comment_lines
from apportion_policy.quantity import Amount, Unlimited
from apportion_policy.resources import GPU

GPU_LOAD_METRIC = "DCGM_FI_DEV_GPU_UTIL"
"""In percent, from NVIDIA's dcgm-exporter; prometheus-adapter or KEDA serves it as a pod metric."""
_BUSY_PERCENT = 80
_MAX_REPLICAS = 10
_SERVING = "serving"
_TRAINING = "nightly-training"
_IMAGE = "registry.example/your-image:1"


def workload_templates(program: Program) -> Iterator[Artifact]:
    """Yield a file for each leaf with a namespace that may use at least one whole GPU."""
    limits = effective_limits(program)
    pools = {pool.id: pool for pool in program.pools if pool.n_gpus}
    for queue in program.queues:
        usable = [pools[id_] for id_ in queue.pools if id_ in pools]
        n_gpus = _whole_gpus(limits[queue.id])
        if queue.namespaces and usable and n_gpus:
            yield _file(program, queue, usable, min(n_gpus, _MAX_REPLICAS))


def autoscaler(namespace: str, deployment: str, max_replicas: int) -> Manifest:
    """Return a HorizontalPodAutoscaler that scales by the GPU utilization of the pods."""
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": deployment, "namespace": namespace},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment},
            "minReplicas": 1,
            "maxReplicas": max_replicas,
            "metrics": [
                {
                    "type": "Pods",
                    "pods": {
                        "metric": {"name": GPU_LOAD_METRIC},
                        "target": {"type": "AverageValue", "averageValue": str(_BUSY_PERCENT)},
                    },
                }
            ],
        },
    }


def cron_job(namespace: str, name: str, pod: Mapping[str, object]) -> Manifest:
    """Return a CronJob whose runs do not overlap, and are deleted after a day."""
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "schedule": "0 2 * * *",
            "timeZone": "Etc/UTC",
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 3600,
            "jobTemplate": {
                "spec": {
                    "backoffLimit": 2,
                    "ttlSecondsAfterFinished": 86400,
                    "template": {"spec": {**pod, "restartPolicy": "Never"}},
                }
            },
        },
    }


def _file(program: Program, queue: Queue, pools: list[NodePool], max_replicas: int) -> Artifact:
    namespace = queue.namespaces[0]
    affinity = _affinity(program, pools)
    pod: dict[str, object] = {
        **({"affinity": affinity} if affinity else {}),
        **({"priorityClassName": object_name(queue.priority_classes[0])} if queue.priority_classes else {}),
        **({"tolerations": tolerations} if (tolerations := _tolerations(pools)) else {}),
        "containers": [
            {
                "name": "main",
                "image": _IMAGE,
                "resources": {
                    "requests": {"cpu": "4", "memory": "16Gi", GPU_RESOURCE: "1"},
                    "limits": {"memory": "16Gi", GPU_RESOURCE: "1"},
                },
            }
        ],
    }
    header = comment_lines(
        (
            "Templates: copy what you need and set your image. Nothing in this file is applied with the policy.",
            (
                f"The autoscaler requires {GPU_LOAD_METRIC} from NVIDIA's dcgm-exporter as a pod metric "
                "(prometheus-adapter, KEDA)."
            ),
            GENERATED,
        )
    )
    documents = (cron_job(namespace, _TRAINING, pod), autoscaler(namespace, _SERVING, max_replicas))
    return Artifact(f"templates/{object_name(queue.id)}.yaml", header + dump_all(documents))


def _affinity(program: Program, pools: list[NodePool]) -> dict[str, object]:
    """Return the affinity to the models that the queue may use; none if it may use all models.

    It is set on the pod instead of by a profile, which does not exist on a managed control plane.
    """
    models = sorted({label_value(pool.gpu_model) for pool in pools if pool.gpu_model is not None})
    if len(models) == len(gpu_models(program)):
        return {}
    term = {"matchExpressions": [{"key": GPU_MODEL_LABEL, "operator": "In", "values": models}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _tolerations(pools: list[NodePool]) -> list[dict[str, str]]:
    taints = dict.fromkeys((taint.key, taint.value, taint.effect) for pool in pools for taint in pool.taints)
    return [
        {
            "key": key,
            **({"operator": "Equal", "value": value} if value else {"operator": "Exists"}),
            "effect": effect,
        }
        for key, value, effect in taints
    ]


def _whole_gpus(limit: Mapping[str, Amount]) -> int:
    amount = limit.get(GPU)
    if amount is None or isinstance(amount, Unlimited):
        return _MAX_REPLICAS
    return amount // 1000
