"""What every stage may know of an engine without loading its parts: versions, names, keys, and how it treats limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTraits:
    """One engine's.

    Attributes:
        versions: The versions for which its parts were written.
        limit_over_parent: What becomes of a limit above the parent's, as a clause; `{}` stands for the parent's limit.
        refuses_limit_over_parent: Whether the engine refuses it.
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
        guarded_prefixes: How further namespace labels and annotations begin that only the platform may change.
    """

    versions: VersionRange
    limit_over_parent: str
    refuses_limit_over_parent: bool = False
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
    guarded_prefixes: tuple[str, ...] = ()
