"""What every stage may know of an engine without loading its parts: versions, names, keys, and how it treats limits."""

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
    """How an object names the one that it belongs to: by which field or label, and of which kind that one is.

    `is_parent` tells a parent in the tree of queues from any other owner of quota. `is_implied` tells that what is named
    is there once it is named, with or without an object.
    """

    kind: Kind
    path: str
    of: Kind
    label: str | None = None
    is_parent: bool = True
    is_implied: bool = False

    def name_in(self, manifest: Mapping[str, object]) -> str | None:
        """Return the name in an object's field or label; None where it names nothing."""
        if self.label is not None:
            return labels_of(manifest).get(self.label)
        return text(manifest, *self.path.split("."))


@dataclass(frozen=True, slots=True)
class NodeLabel:
    """A label by which an engine selects nodes, which is set on the nodes of each pool.

    Attributes:
        key: The label.
        value: What it names: the node pool, or the GPU model on pools whose models quotas tell apart.
        purpose: Why nobody may set it otherwise, as a clause.
    """

    key: str
    value: Literal["pool", "gpu model"]
    purpose: str


Resources = tuple[str, tuple[str, ...]]
"""An API group, and plural names of its resources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTraits:
    """One engine's.

    Attributes:
        versions: The versions for which its parts were written.
        limit_over_parent: What becomes of a limit above the parent's, as a clause; `{}` stands for the parent's limit.
        refuses_limit_over_parent: Whether the engine refuses it.
        refuses_lending_over_guarantee: Whether its webhook refuses a leaf that lends more than it is guaranteed.
        evicts_non_preemptible: How it evicts work of a class that is declared non-preemptible, as a clause; `{}` stands
            for the highest class, where only work of a higher class evicts it. Empty where it does not.
        limits_users_of_subtrees: Whether limits for users count over all queues below one.
        holds_to_guarantee: Whether non-preemptible work may use the guarantee of its queue and nothing beyond.
        groups: API groups that are its own.
        shared_kinds: Kinds of it in groups that other software uses too.
        key_prefixes: How labels and annotations that it reads begin.
        config_maps: Names of its ConfigMaps.
        scheduler: The `schedulerName` of its pods; empty where it uses the default scheduler.
        image: A regular expression for one of its images, with its release as the group `version`.
        configuration_kinds: Objects that say how it is set up, which `import` keeps or reports.
        workload_keys: Labels and annotations by which a workload is recognised as its.
        queue_labels: Labels by which a workload names its queue.
        queue_annotations: Annotations by which it does.
        requires_queue: Whether a workload has to name its queue; otherwise its namespace does.
        unit_annotations: Annotations by which its own units of work name a queue.
        class_labels: Labels by which a workload names its priority class.
        installed_classes: PriorityClasses that it installs.
        resume_labels: Labels with which suspended work waits for the engine to resume it; empty where it resumes none.
        open_queues: Its queues for work outside the namespaces of a policy.
        own_objects: Queues that it creates itself.
        reserved_queue_names: Names that no queue of a policy may take.
        path_root: The first part of the path by which workloads name a queue; None where the name is enough.
        dotless_names: Whether a dot in a queue's name would part a path.
        divided_by_model: Whether its queues count GPUs without their model, so that each model gets a tree of queues.
        references: How its objects name their parents.
        default_queue_name: The name of the queue that work gets which names none.
        namespace_annotations: The annotations that it reads on a namespace, by the names its work may give for a queue.
        local_queues: Whether work names one of the local queues that a queue may declare.
        node_label: The label by which it selects nodes; None where it has none of its own.
        sharing_annotations: Annotations of pods that ask for a part of a GPU.
        pod_labelled_groups: API groups of workloads whose pods name the queue, not they themselves.
        queue_fields: Fields by which its own kinds of workload name a queue, by their API group.
        request_configurations: By kind of object whose parameters it writes into requests for nodes, the annotation by
            which a job says its own run duration.
        team_writes: Resources of its own that a team may change in its namespaces.
        team_reads: Those that it may read there.
        cluster_reads: Cluster-wide resources of its own that every team may read.
        guarded_prefixes: How further namespace labels and annotations begin that only the platform may change.
    """

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
