"""The input of the rules on workloads: the workloads among manifests, and the other objects."""

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
"""API groups whose pod templates the API server validates."""


@dataclass(frozen=True)
class Workload:
    """A workload: its manifest's index, and its pods."""

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
        """Its namespace, `default` if unset."""
        return text_at(self.manifest, "metadata", "namespace") or "default"

    @property
    def is_bare(self) -> bool:
        """Whether it is a pod without an owner."""
        return self.shape.kind == "Pod" and self.shape.group == ""

    @property
    def is_checked(self) -> bool:
        """Whether the API server validates its pod templates on creation."""
        return self.shape.group in _BUILT_IN

    @property
    def n_pods(self) -> int:
        """The number of its concurrent pods."""
        return sum(pods.count for pods in self.sets)

    @cached_property
    def owners(self) -> tuple[Manifest, ...]:
        """The workload and the objects it creates that own pods."""
        return tuple(cast("Manifest", node) for node in self.shape.owners(cast("Node", self.manifest)))

    def is_of(self, group: str, *kinds: str) -> bool:
        """Return whether it is of one of these kinds; of any kind of the group if none is given."""
        return self.shape.group == group and (not kinds or self.shape.kind in kinds)

    def suspended(self) -> bool | None:
        """Return the value of its suspend field; None if its kind has none."""
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
        """Return whether every pod has a label, from an owner or from its template."""
        if any(key in labels_of(owner) for owner in self.owners):
            return True
        return bool(self.sets) and all(key in labels_of(cast("Manifest", pods.template)) for pods in self.sets)

    def is_for_another(self, engine: str) -> bool:
        """Return whether it names a queue or scheduler of another engine, and none of this one."""
        return bool(self.other_engines(engine))

    def other_engines(self, engine: str) -> tuple[str, ...]:
        """Return the engines whose queue or scheduler it names, if it names none of this one."""
        schedulers = {text_at(pods.spec, "schedulerName") for pods in self.sets}
        named = {
            other
            for other, traits in TRAITS.items()
            if traits.scheduler in schedulers
            or any(self.values_of(key) or self.values_of(key, annotation=True) for key in traits.workload_keys)
        }
        return () if engine in named else tuple(sorted(named))

    def names_scheduler_of(self, engines: Collection[str]) -> bool:
        """Return whether a pod names the scheduler of one of these engines."""
        return any(
            text_at(pods.spec, "schedulerName") in {TRAITS[engine].scheduler for engine in engines} - {""}
            for pods in self.sets
        )

    def verdict(self, effect: Effect, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return a verdict on it."""
        return Verdict(effect, self.index, field, kind, message, cure)

    def pending(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return a verdict that it never starts."""
        return self.verdict(Effect.PENDING, field, kind, message, cure)

    def rejected(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return a verdict that the API server or a webhook rejects it."""
        return self.verdict(Effect.REJECTED, field, kind, message, cure)

    def ignored(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return a verdict that it runs, but a field is ignored."""
        return self.verdict(Effect.IGNORED, field, kind, message, cure)

    def past_the_queue(self, scheduler: str) -> Iterator[Verdict]:
        """Yield each template whose pods go to Kubernetes' scheduler instead of the engine's."""
        for pods in self.sets:
            if text_at(pods.spec, "schedulerName") in {None, "default-scheduler"}:
                yield self.ignored(
                    template_field(pods, "spec", "schedulerName"), "Required",
                    "without schedulerName, the pods use Kubernetes' default scheduler and bypass the queue",
                    f"set schedulerName: {scheduler}",
                )  # fmt: skip

    def pods_rejected(self, field: str, kind: str, message: str, cure: str) -> Verdict:
        """Return a verdict that its pods are rejected: at once if the API server validates templates, else later."""
        return self.verdict(Effect.REJECTED if self.is_checked else Effect.PENDING, field, kind, message, cure)


@dataclass(frozen=True)
class WorkloadContext:
    """All objects that are applied together or exist already. `engine` is that of the cluster."""

    engine: str
    manifests: Sequence[Manifest]
    existing: Sequence[Manifest]
    workloads: tuple[Workload, ...]

    def read(self, form: type[_Object]) -> list[_Object]:
        """Return the objects of a kind, existing ones first."""
        return read_all(form, (*self.existing, *self.manifests))

    def named(self, group: str, kind: str) -> Mapping[str, Manifest]:
        """Return the objects of a kind by name, regardless of the namespace."""
        return {name_of(m): m for m in of_kind((*self.existing, *self.manifests), group, kind)}

    def placed(self, group: str, kind: str) -> Mapping[tuple[str, str], Manifest]:
        """Return the objects of a kind by namespace and name."""
        found = of_kind((*self.existing, *self.manifests), group, kind)
        return {(text_at(m, "metadata", "namespace") or "default", name_of(m)): m for m in found}


Rule = Callable[[WorkloadContext], Iterator[Verdict]]


def context_of(engine: str, manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> WorkloadContext:
    """Return the input of the rules."""
    workloads: list[Workload] = []
    for index, manifest in enumerate(manifests):
        shape = shape_of(manifest)
        # An object that a controller created is evaluated with its owner.
        if shape is not None and not mapping(manifest, "metadata").get("ownerReferences"):
            workloads.append(Workload(index, manifest, shape, tuple(shape.pod_sets(cast("Node", manifest)))))
    return WorkloadContext(engine, manifests, existing, tuple(workloads))


def template_field(pods: PodSet, *path: str) -> str:
    """Return the path of a pod template's field in the workload."""
    return ".".join(part for part in (pods.path, *path) if part)


def listed(names: Collection[str]) -> str:
    """Return the first of many names, for a remedy."""
    shown = sorted(names)
    return ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "") or "none"
