"""Records whose fields can be set at once.

The constructor of a frozen dataclass sets its fields one by one through a call, which takes five times as long. A draft
has the same slots, and becomes the record when its class is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable


class PodDraft:
    """The fields of a pod, in their order."""

    __slots__ = (
        "affinity",
        "anti_affinity",
        "claims",
        "containers",
        "created",
        "gpu",
        "gpu_groups",
        "group",
        "host_ports",
        "labels",
        "legacy_mig",
        "missing_claims",
        "missing_config_maps",
        "name",
        "namespace",
        "node",
        "node_affinity",
        "node_selector",
        "nominated_node",
        "numa_placement",
        "pod_preferences",
        "priority",
        "priority_class",
        "qos_class",
        "request",
        "scheduler",
        "status",
        "sub_group",
        "tolerations",
        "uid",
    )  # fmt: skip

    def __init__(self, values: Iterable[object]) -> None:
        (
            self.uid, self.name, self.namespace, self.group, self.status, self.node, self.sub_group, self.request,
            self.gpu, self.gpu_groups, self.legacy_mig, self.labels, self.created, self.node_selector,
            self.node_affinity, self.affinity, self.anti_affinity, self.pod_preferences, self.tolerations,
            self.host_ports, self.nominated_node, self.priority_class, self.priority, self.scheduler, self.qos_class,
            self.claims, self.missing_claims, self.missing_config_maps, self.numa_placement, self.containers,
        ) = values  # fmt: skip


class PodGroupDraft:
    """The fields of a pod group, in their order."""

    __slots__ = (
        "created",
        "last_eviction",
        "last_start",
        "name",
        "namespace",
        "preemptible",
        "preemption_delay",
        "priority",
        "queue",
        "root",
        "stale_since",
        "staleness_grace",
        "uid",
    )  # fmt: skip

    def __init__(self, values: Iterable[object]) -> None:
        (
            self.uid, self.name, self.namespace, self.queue, self.priority, self.preemptible, self.created,
            self.root, self.last_start, self.last_eviction, self.preemption_delay, self.staleness_grace,
            self.stale_since,
        ) = values  # fmt: skip
