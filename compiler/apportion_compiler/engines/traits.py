"""Traits of an engine, available without loading its modules: versions, names, keys, treatment of limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from apportion_compiler.engine_versions import VersionRange
from apportion_compiler.plain_objects import labels_of, text

Kind = tuple[str, str]
"""An API group and a kind."""


def _no_annotations(_: Sequence[str]) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to an object's owner: the field or label, and the kind of the owner.

    `is_parent` distinguishes a parent in the tree of queues from other owners of quota. With `is_implied`, a referenced
    owner exists even without an object.
    """

    kind: Kind
    path: str
    of: Kind
    label: str | None = None
    is_parent: bool = True
    is_implied: bool = False

    def name_in(self, manifest: Mapping[str, object]) -> str | None:
        """Return the name in an object's field or label; None if it is empty."""
        if self.label is not None:
            return labels_of(manifest).get(self.label)
        return text(manifest, *self.path.split("."))


@dataclass(frozen=True, slots=True)
class NodeLabel:
    """A label that an engine selects nodes by, set on the nodes of each pool.

    Attributes:
        key: The label key.
        value: The type of its value: the node pool, or the GPU model of pools whose models have separate quotas.
        purpose: Why it must not be set to other values, as a clause.
    """

    key: str
    value: Literal["pool", "gpu model"]
    purpose: str


Resources = tuple[str, tuple[str, ...]]
"""An API group, and plural names of its resources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTraits:
    """The traits of one engine.

    Attributes:
        title: The engine in prose, for the middle of a sentence.
        versions: The versions for which its parts were written.
        limit_over_parent: Effect of a limit above the parent's, as a clause; `{}` is replaced by the parent's limit.
        refuses_limit_over_parent: Whether the engine rejects it.
        refuses_lending_over_guarantee: Whether its webhook rejects a leaf that lends more than its guarantee.
        evicts_non_preemptible: How it evicts workloads of a class that is declared non-preemptible, as a clause; `{}`
            is replaced by the highest class if only higher classes preempt. Empty if it does not evict them.
        limits_users_of_subtrees: Whether user limits count over the whole subtree of a queue.
        holds_to_guarantee: Whether non-preemptible workloads are confined to the guarantee of their queue.
        groups: Its own API groups.
        shared_kinds: Its kinds in API groups that other software also uses.
        key_prefixes: Prefixes of the labels and annotations that it reads.
        config_maps: Names of its ConfigMaps.
        scheduler: The `schedulerName` of its pods; empty if it uses the default scheduler.
        live_scheduler: Whether the packaged live scheduler can replace its scheduler, or its queue of jobs.
        image: A regular expression for one of its images, with its release as the group `version`.
        configuration_kinds: Kinds of its configuration, which `import` keeps or reports.
        workload_keys: Labels and annotations that identify its workloads.
        queue_labels: Labels by which a workload names its queue.
        queue_annotations: Annotations by which a workload names its queue.
        requires_queue: Whether a workload must name its queue; otherwise the namespace determines it.
        unit_annotations: Annotations by which its scheduling units name a queue.
        class_labels: Labels by which a workload names its priority class.
        installed_classes: PriorityClasses that it installs.
        resume_labels: Labels of suspended workloads that the engine resumes; empty if it resumes none.
        open_queues: Its queues for workloads outside the namespaces of a policy.
        own_objects: Queues that it creates itself.
        reserved_queue_names: Names that a queue of a policy must not have.
        path_root: The first part of the path by which workloads name a queue; None if the name is enough.
        dotless_names: Whether dots separate the components of a queue's path.
        divided_by_model: Whether its queues do not distinguish GPU models, so that each model gets a separate tree of
            queues.
        references: How its objects name their parents.
        default_queue_name: The queue name of workloads without one.
        namespace_annotations: Returns the annotations of a namespace that it reads, given the allowed queue names.
        local_queues: Whether workloads name a local queue, which a queue may declare.
        node_label: The label by which it selects nodes, if any.
        sharing_annotations: Annotations of pods that request a fraction of a GPU.
        pod_labelled_groups: API groups of workloads whose pods name the queue instead of the workload.
        queue_fields: Fields by which its own workload kinds name a queue, by API group.
        request_configurations: Kinds with parameters of provisioning requests, each with the annotation by which a job
            sets its maximum run duration.
        team_writes: Its resources that a team may change in its namespaces.
        team_reads: Its resources that a team may read there.
        cluster_reads: Its cluster-wide resources that every team may read.
        guarded_prefixes: Prefixes of further namespace labels and annotations that only the platform team may change.
    """

    title: str
    versions: VersionRange
    limit_over_parent: str
    refuses_limit_over_parent: bool = False
    refuses_lending_over_guarantee: bool = False
    evicts_non_preemptible: str = ""
    limits_users_of_subtrees: bool = False
    holds_to_guarantee: bool = False
    groups: tuple[str, ...] = ()
    shared_kinds: tuple[Kind, ...] = ()
    key_prefixes: tuple[str, ...] = ()
    config_maps: tuple[str, ...] = ()
    scheduler: str = ""
    live_scheduler: bool = False
    image: str | None = None
    configuration_kinds: frozenset[Kind] = frozenset()
    workload_keys: tuple[str, ...] = ()
    queue_labels: tuple[str, ...] = ()
    queue_annotations: tuple[str, ...] = ()
    requires_queue: bool = False
    unit_annotations: tuple[str, ...] = ()
    class_labels: tuple[str, ...] = ()
    installed_classes: frozenset[str] = frozenset()
    resume_labels: tuple[str, ...] = ()
    open_queues: frozenset[str] = frozenset()
    own_objects: frozenset[str] = frozenset()
    reserved_queue_names: frozenset[str] = frozenset()
    path_root: str | None = None
    dotless_names: bool = False
    divided_by_model: bool = False
    references: tuple[Reference, ...] = ()
    default_queue_name: str | None = None
    namespace_annotations: Callable[[Sequence[str]], Mapping[str, str]] = _no_annotations
    local_queues: bool = False
    node_label: NodeLabel | None = None
    sharing_annotations: tuple[str, ...] = ()
    pod_labelled_groups: tuple[str, ...] = ()
    queue_fields: Mapping[str, str] = field(default_factory=dict[str, str])
    request_configurations: Mapping[Kind, str] = field(default_factory=dict[Kind, str])
    team_writes: tuple[Resources, ...] = ()
    team_reads: tuple[Resources, ...] = ()
    cluster_reads: tuple[Resources, ...] = ()
    guarded_prefixes: tuple[str, ...] = ()
