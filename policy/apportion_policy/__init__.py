"""The Python API for writing an Apportion policy.

Names are imported on first use, so that `apportion --help` does not import pydantic.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apportion_policy.cluster import Admission, Cluster, Environment, QueueOverride
    from apportion_policy.collection import collect
    from apportion_policy.engine import Engine
    from apportion_policy.engine_settings import (
        AckQueue,
        AckSettings,
        KaiSettings,
        KueueSettings,
        LiveScheduler,
        VolcanoSettings,
    )
    from apportion_policy.kueue_objects import KueueLocalQueue, KueueObject, KueuePreemption, KueueQueue
    from apportion_policy.limit_range import LimitRange
    from apportion_policy.placement import BINPACK, SPREAD, Placement, PlacementStrategy, Topology
    from apportion_policy.policy import Organisation, Policy, Rules, RuleSeverity, Waiver
    from apportion_policy.pool import (
        GPU_TAINT,
        Accelerator,
        Maintenance,
        MaintenanceExclusion,
        MaintenanceWindow,
        Mig,
        Mps,
        NodePool,
        Taint,
        TaintEffect,
        TimeSlicing,
    )
    from apportion_policy.priority import (
        BUILD,
        BUILD_PREEMPTIBLE,
        DEFAULT_PRIORITY_CLASSES,
        INFERENCE,
        TRAIN,
        PriorityClass,
    )
    from apportion_policy.providers import Ack, Eks, Fixed, Gke, Karpenter
    from apportion_policy.provisioning import ProvisioningPlan
    from apportion_policy.quantity import UNLIMITED, Unlimited
    from apportion_policy.queue import Override, Queue, UserLimit
    from apportion_policy.resources import Resources, Weight

_MODULES = {
    "cluster": ("Admission", "Cluster", "Environment", "QueueOverride"),
    "collection": ("collect",),
    "engine": ("Engine",),
    "engine_settings": ("AckQueue", "AckSettings", "KaiSettings", "KueueSettings", "LiveScheduler", "VolcanoSettings"),
    "kueue_objects": ("KueueLocalQueue", "KueueObject", "KueuePreemption", "KueueQueue"),
    "limit_range": ("LimitRange",),
    "placement": ("BINPACK", "SPREAD", "Placement", "PlacementStrategy", "Topology"),
    "policy": ("Organisation", "Policy", "RuleSeverity", "Rules", "Waiver"),
    "pool": (
        "GPU_TAINT",
        "Accelerator",
        "Maintenance",
        "MaintenanceExclusion",
        "MaintenanceWindow",
        "Mig",
        "Mps",
        "NodePool",
        "Taint",
        "TaintEffect",
        "TimeSlicing",
    ),
    "priority": ("BUILD", "BUILD_PREEMPTIBLE", "DEFAULT_PRIORITY_CLASSES", "INFERENCE", "TRAIN", "PriorityClass"),
    "providers": ("Ack", "Eks", "Fixed", "Gke", "Karpenter"),
    "provisioning": ("ProvisioningPlan",),
    "quantity": ("UNLIMITED", "Unlimited"),
    "queue": ("Override", "Queue", "UserLimit"),
    "resources": ("Resources", "Weight"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "BINPACK",
    "BUILD",
    "BUILD_PREEMPTIBLE",
    "DEFAULT_PRIORITY_CLASSES",
    "GPU_TAINT",
    "INFERENCE",
    "SPREAD",
    "TRAIN",
    "UNLIMITED",
    "Accelerator",
    "Ack",
    "AckQueue",
    "AckSettings",
    "Admission",
    "Cluster",
    "Eks",
    "Engine",
    "Environment",
    "Fixed",
    "Gke",
    "KaiSettings",
    "Karpenter",
    "KueueLocalQueue",
    "KueueObject",
    "KueuePreemption",
    "KueueQueue",
    "KueueSettings",
    "LimitRange",
    "LiveScheduler",
    "Maintenance",
    "MaintenanceExclusion",
    "MaintenanceWindow",
    "Mig",
    "Mps",
    "NodePool",
    "Organisation",
    "Override",
    "Placement",
    "PlacementStrategy",
    "Policy",
    "PriorityClass",
    "ProvisioningPlan",
    "Queue",
    "QueueOverride",
    "Resources",
    "RuleSeverity",
    "Rules",
    "Taint",
    "TaintEffect",
    "TimeSlicing",
    "Topology",
    "Unlimited",
    "UserLimit",
    "VolcanoSettings",
    "Waiver",
    "Weight",
    "collect",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
