"""KubeSchedulerConfiguration: bin-packing or spreading, if kube-scheduler can be configured.

A file for the scheduler's `--config`, not an object: managed control planes do not accept it. It uses only in-tree
plugins, because kube-scheduler does not start with an unknown one.

A profile scores all its pods alike, so each placement needs a separate profile (`names.py`): one for pods without GPUs,
and one for each GPU model if there are several. A profile's `addedAffinity` replaces an explicit affinity of its pods,
and its default constraints their topology spread.

https://kubernetes.io/docs/reference/scheduling/config/; NodeResourcesFit scores only extended resources that a pod
requests, so GPUs affect only GPU pods.
"""

from __future__ import annotations

from apportion_api.kubernetes.names import GPU_RESOURCE, HOSTNAME_LABEL, ZONE_LABEL
from apportion_compiler.backends.capability import Artifact
from apportion_compiler.backends.yaml_documents import yaml_document
from apportion_compiler.engines.native.names import CPU_SCHEDULER, gpu_models, model_scheduler, schedulers
from apportion_compiler.ir.program import Program
from apportion_compiler.kubernetes_names import label_value
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL

SCHEDULER_FILE = "kube-scheduler.yaml"
_SCORING = {"binpack": "MostAllocated", "spread": "LeastAllocated"}
_SPREAD = "spread"
_GPU_WEIGHT = 100
"""The maximum weight of a resource, so that free CPU does not outweigh free GPUs in the score."""
_SPREAD_OVER = (ZONE_LABEL, HOSTNAME_LABEL)

_Configuration = dict[str, object]


def scheduler_configuration(program: Program) -> Artifact:
    """Return the file."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [_profile(program, name) for name in schedulers(program)],
    }
    note = "Configuration for kube-scheduler's --config flag, on a control plane that you manage."
    return Artifact(SCHEDULER_FILE, yaml_document((note,), configuration))


def _profile(program: Program, name: str) -> _Configuration:
    placement = _placement(program, name)
    added = _added_affinity(program, name)
    return {
        "schedulerName": name,
        "pluginConfig": [
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": _scoring(placement)}},
            {"name": "PodTopologySpread", "args": _spreading(placement)},
            *([{"name": "NodeAffinity", "args": {"addedAffinity": added}}] if added else []),
        ],
    }


def _placement(program: Program, name: str) -> str:
    """Return a profile's placement: for a GPU model, that of its pools if they agree, otherwise the cluster's."""
    if name == CPU_SCHEDULER:
        return program.cpu_placement
    for model in gpu_models(program):
        if name == model_scheduler(model):
            placements = {pool.gpu_placement for pool in program.pools if pool.gpu_model == model}
            return placements.pop() if len(placements) == 1 else program.gpu_placement
    return program.gpu_placement


def _scoring(placement: str) -> _Configuration:
    return {
        "type": _SCORING[placement],
        "resources": [
            {"name": GPU_RESOURCE, "weight": _GPU_WEIGHT},
            {"name": "cpu", "weight": 1},
            {"name": "memory", "weight": 1},
        ],
    }


def _spreading(placement: str) -> _Configuration:
    """Return the default constraints of pods.

    Kubernetes' defaults would spread replicas over nodes with twice the weight of bin-packing. A default must not be
    `DoNotSchedule`, or pods without explicit constraints could stay pending.
    """
    over = _SPREAD_OVER if placement == _SPREAD else ()
    constraints = [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"} for key in over]
    return {"defaultingType": "List", "defaultConstraints": constraints}


def _added_affinity(program: Program, name: str) -> _Configuration:
    if name == CPU_SCHEDULER and gpu_models(program):
        off_gpus = {"matchExpressions": [{"key": GPU_MODEL_LABEL, "operator": "DoesNotExist"}]}
        # Preferred only: if all machines have GPUs, pods without GPUs can still run.
        return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": off_gpus}]}
    for model in gpu_models(program):
        if name == model_scheduler(model):
            on_model = {"key": GPU_MODEL_LABEL, "operator": "In", "values": [label_value(model)]}
            term = {"matchExpressions": [on_model]}
            return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {}
