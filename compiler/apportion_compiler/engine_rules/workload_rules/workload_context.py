"""What the rules on workloads look at: the workloads among manifests, and what else is there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, cast

from apportion_api.objects import ApiObject, read_all
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.plain_objects import annotations_of, labels_of, mapping, name_of, of_kind
from apportion_compiler.plain_objects import text as text_at
from apportion_compiler.workload_shapes import Node, PodSet, Shape, shape_of

_Object = TypeVar("_Object", bound=ApiObject)
_BUILT_IN = frozenset({"", "apps", "batch"})
"""Groups whose templates the API server checks as it does a pod's."""


@dataclass(frozen=True)
class Workload:
    """One workload: which of the manifests it is, and its pods."""

    index: int
    manifest: Manifest
    shape: Shape
    sets: tuple[PodSet, ...]

    @property
    def kind(self) -> str:
        """Its kind."""
        return self.shape.kind

    @property
    def namespace(self) -> str:
        """Its namespace, `default` where none is written."""
        return text_at(self.manifest, "metadata", "namespace") or "default"

    @property
    def is_bare(self) -> bool:
        """Whether it is a pod without an owner."""
        return self.shape.kind == "Pod" and self.shape.group == ""

    @property
    def is_checked(self) -> bool:
        """Whether the API server checks its pod templates when it is created."""
        return self.shape.group in _BUILT_IN

    @property
    def n_pods(self) -> int:
        """How many pods it has at a time."""
        return sum(pods.count for pods in self.sets)

    @cached_property
    def owners(self) -> tuple[Manifest, ...]:
        """The workload, and what it makes that owns pods."""
        return tuple(cast("Manifest", node) for node in self.shape.owners(cast("Node", self.manifest)))

    def is_of(self, group: str, *kinds: str) -> bool:
        """Tell whether it is of one of these kinds; of any kind of the group where none is named."""
        return self.shape.group == group and (not kinds or self.shape.kind in kinds)

    def suspended(self) -> bool | None:
        """Return its switch; None where its kind has none."""
        if self.shape.suspend is None:
            return None
        *above, last = self.shape.suspend
        return mapping(self.manifest, *above).get(last) is True

    def values_of(self, key: str, *, annotation: bool = False) -> set[str]:
        """Return the values of a label, or an annotation, on the workload, its owners and all its templates."""
        read = annotations_of if annotation else labels_of
        nodes = (*self.owners, *(cast("Manifest", pods.template) for pods in self.sets))
        return {read(node)[key] for node in nodes if key in read(node)}

    def every_pod_has(self, key: str) -> bool:
        """Tell whether every pod gets a label: from an owner, or from its own template."""
        if any(key in labels_of(owner) for owner in self.owners):
            return True
        return bool(self.sets) and all(key in labels_of(cast("Manifest", pods.template)) for pods in self.sets)

    def is_for_another(self, engine: str) -> bool:
        """Tell whether it names a queue or scheduler of another engine, and none of this one."""
        return bool(self.other_engines(engine))

    def other_engines(self, engine: str) -> tuple[str, ...]:
        """Return the engines whose queue or scheduler it names, where it names none of this one."""
        schedulers = {text_at(pods.spec, "schedulerName") for pods in self.sets}
        named = {
            other
            for other, traits in TRAITS.items()
            if traits.scheduler in schedulers
            or any(self.values_of(key) or self.values_of(key, annotation=True) for key in traits.workload_keys)
        }
        return () if engine in named else tuple(sorted(named))

    def names_scheduler_of(self, engines: Collection[str]) -> bool:
        """Tell whether a pod names the scheduler of one of these engines."""
        return any(
            text_at(pods.spec, "schedulerName") in {TRAITS[engine].scheduler for engine in engines} - {""}
            for pods in self.sets
        )

    def verdict(self, effect: Effect, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return a verdict on it."""
        return Verdict(effect, self.index, field, kind, message, cure)

    def pending(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return that it never starts."""
        return self.verdict(Effect.PENDING, field, kind, message, cure)

    def rejected(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return that the API server or a webhook refuses it."""
        return self.verdict(Effect.REJECTED, field, kind, message, cure)

    def ignored(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return that it runs, and not as it says."""
        return self.verdict(Effect.IGNORED, field, kind, message, cure)

    def past_the_queue(self, scheduler: str) -> Iterator[Verdict]:
        """Yield each template whose pods go to Kubernetes' own scheduler, though the engine's is meant."""
        for pods in self.sets:
            if text_at(pods.spec, "schedulerName") in {None, "default-scheduler"}:
                yield self.ignored(
                    template_field(pods, "spec", "schedulerName"), "Required",
                    "without schedulerName the pods go to Kubernetes' default scheduler, bypassing the queue",
                    f"set schedulerName: {scheduler}",
                )  # fmt: skip

    def unmade(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return that its pods are refused: at once where the API server sees them, else when they shall be made."""
        return self.verdict(Effect.REJECTED if self.is_checked else Effect.PENDING, field, kind, message, cure)


@dataclass(frozen=True)
class WorkloadContext:
    """All that is applied together and what is there already. `engine` is the cluster's."""

    engine: str
    manifests: Sequence[Manifest]
    existing: Sequence[Manifest]
    workloads: tuple[Workload, ...]

    def read(self, form: type[_Object]) -> list[_Object]:
        """Return the objects of a kind, those that are there already first."""
        return read_all(form, (*self.existing, *self.manifests))

    def named(self, group: str, kind: str) -> Mapping[str, Manifest]:
        """Return the objects of a kind by name, whatever their namespace."""
        return {name_of(m): m for m in of_kind((*self.existing, *self.manifests), group, kind)}

    def placed(self, group: str, kind: str) -> Mapping[tuple[str, str], Manifest]:
        """Return the objects of a kind by namespace and name."""
        found = of_kind((*self.existing, *self.manifests), group, kind)
        return {(text_at(m, "metadata", "namespace") or "default", name_of(m)): m for m in found}


Rule = Callable[[WorkloadContext], Iterator[Verdict]]


def context_of(engine: str, manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> WorkloadContext:
    """Return what the rules look at."""
    workloads: list[Workload] = []
    for index, manifest in enumerate(manifests):
        shape = shape_of(manifest)
        # What a controller made for an owner is evaluated with its owner.
        if shape is not None and not mapping(manifest, "metadata").get("ownerReferences"):
            workloads.append(Workload(index, manifest, shape, tuple(shape.pod_sets(cast("Node", manifest)))))
    return WorkloadContext(engine, manifests, existing, tuple(workloads))


def template_field(pods: PodSet, *path: str) -> str:
    """Return where a field of a pod template is in the workload."""
    return ".".join(part for part in (pods.path, *path) if part)


def listed(names: Collection[str]) -> str:
    """Return the first names of many, for a cure."""
    shown = sorted(names)
    return ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "") or "none"
