"""The workload of `apportion fit`: read from a manifest, and assigned to a queue of the policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from apportion_cli.manifest_files import objects_of

if TYPE_CHECKING:
    from apportion_compiler.ir.program import Program
    from apportion_compiler.manifests.located_manifest import LocatedManifest


@dataclass(frozen=True, slots=True)
class FitWorkload:
    """A workload with its queue.

    Attributes:
        manifest: Its manifest as submitted.
        beside: Other objects of the file.
        queue: Id of its queue in the policy.
        is_bound: Whether a queue was assigned because it named none.
        remarks: Notes about the assignment, as clauses.
    """

    manifest: Mapping[str, object]
    beside: tuple[Mapping[str, object], ...]
    queue: str
    is_bound: bool
    remarks: tuple[str, ...] = ()


def read_workload(file: str, name: str | None) -> tuple[LocatedManifest, list[LocatedManifest]]:
    """Return the workload of a file, and the other objects.

    Raises:
        PreconditionError: If the file cannot be read.
        click.UsageError: If it has no workload, or several without a choice.
    """
    from apportion_compiler.plain_objects import name_of
    from apportion_compiler.workload_shapes import pod_sets, shape_of

    placed = objects_of(file)
    workloads = [each for each in placed if shape_of(each.manifest) is not None]
    listed = ", ".join(f"{each.manifest['kind']} {name_of(each.manifest)}" for each in workloads)
    if not workloads:
        kinds = ", ".join(sorted({str(each.manifest.get("kind")) for each in placed}))
        raise click.UsageError(f"{file} contains no workload, only {kinds}")
    chosen = [each for each in workloads if name in (None, name_of(each.manifest))]
    if not chosen:
        raise click.UsageError(f"{file} does not contain workload {name}; it contains {listed}")
    if len(chosen) > 1:
        raise click.UsageError(f"{file} contains {len(chosen)} workloads; choose one with --name: {listed}")
    workload = chosen[0]
    at = workload.at("metadata.name")
    if not name_of(workload.manifest):
        raise click.UsageError(f"{at.file}:{at.line}: the {workload.manifest['kind']} has no metadata.name; set one")
    if workload.manifest["kind"] == "CronJob":
        raise click.UsageError(
            f"{at.file}:{at.line}: a CronJob has no pods of its own; pass a Job that it would create"
        )
    if not pod_sets(workload.manifest):
        raise click.UsageError(f"{at.file}:{at.line}: the {workload.manifest['kind']} has no pod template")
    others = [each for each in placed if each not in workloads]
    return workload, others


def with_queue(
    workload: LocatedManifest,
    others: Sequence[LocatedManifest],
    program: Program,
    objects: Sequence[Mapping[str, object]],
    *,
    queue: str | None,
    gpu_model: str | None,
) -> FitWorkload:
    """Return a workload with its queue: the one given, the one that it names, or that of its namespace.

    A workload without a queue is assigned to one, as by `apportion bind --from`.

    Raises:
        click.UsageError: If there is no such queue, or it cannot run the workload.
    """
    from apportion_compiler.bindings.bind import adopt
    from apportion_compiler.bindings.errors import BindingError
    from apportion_compiler.bindings.options import Options
    from apportion_compiler.bindings.queue_selection import leaf

    at = workload.at("metadata.name")
    where = f"{at.file}:{at.line}"
    beside = tuple(each.manifest for each in others)
    named = None if queue is not None else _named_queue(workload.manifest, program, objects)
    try:
        if named is not None:
            leaf(program, named)
            return FitWorkload(_in_namespace(workload.manifest), beside, named, is_bound=False)
        chosen = _queue_of_namespace(workload.manifest, program) if queue is None else queue
        made = adopt(program, chosen, [workload.manifest], Options(gpu_model=gpu_model))
    except BindingError as refused:
        raise click.UsageError(f"{where}: {refused}") from refused
    *extra, bound = made.objects
    return FitWorkload(bound, (*beside, *extra), chosen, is_bound=True, remarks=made.remarks)


def _in_namespace(manifest: Mapping[str, object]) -> Mapping[str, object]:
    from apportion_compiler.plain_objects import mapping

    metadata = mapping(manifest, "metadata")
    return {**manifest, "metadata": {"namespace": "default", **metadata}}


def _named_queue(
    manifest: Mapping[str, object], program: Program, objects: Sequence[Mapping[str, object]]
) -> str | None:
    """Return the id of the queue that a workload names; None if it names none. Raises `click.UsageError`."""
    from apportion_compiler.alternatives import alternatives
    from apportion_compiler.bindings import ENGINES
    from apportion_compiler.plain_objects import name_of, text

    engine = ENGINES[program.engine]
    names = [str(held[key]) for held in _marks(manifest) for key in engine.queue_keys if held.get(key)]
    names += [written for path in engine.queue_fields if (written := text(manifest, *path))]
    if not names:
        return None
    ids = _ids(text(manifest, "metadata", "namespace") or "default", program, objects)
    # YuniKorn's workloads name the path of a queue.
    found = ids.get(names[0]) or ids.get(names[0].rpartition(".")[2])
    if found is None:
        raise click.UsageError(
            f"{manifest['kind']} {name_of(manifest)} references queue {names[0]}, which does not exist in the policy; "
            f"{alternatives(sorted(ids))}"
        )
    return found


def _ids(namespace: str, program: Program, objects: Sequence[Mapping[str, object]]) -> Mapping[str, str]:
    """Return the policy's queue id for each queue name that workloads of a namespace may use."""
    from apportion_api.kueue.names import GROUP
    from apportion_compiler.plain_objects import mapping, name_of, of_kind, text
    from apportion_review.fit.queue_use import queue_ids

    ids = queue_ids(program, objects)
    local = of_kind(objects, GROUP, "LocalQueue")
    if not local:
        return ids
    return {
        name_of(made): ids[str(mapping(made, "spec").get("clusterQueue"))]
        for made in local
        if text(made, "metadata", "namespace") == namespace and str(mapping(made, "spec").get("clusterQueue")) in ids
    }


def _marks(manifest: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield the labels and annotations of a workload and of its pod templates."""
    from apportion_compiler.plain_objects import mapping
    from apportion_compiler.workload_shapes import pod_sets

    for node in (manifest, *(each.template for each in pod_sets(manifest))):
        yield mapping(node, "metadata", "labels")
        yield mapping(node, "metadata", "annotations")


def _queue_of_namespace(manifest: Mapping[str, object], program: Program) -> str:
    """Return the queue of a workload's namespace. Raises `BindingError`."""
    from apportion_compiler.alternatives import alternatives
    from apportion_compiler.bindings.errors import BindingError
    from apportion_compiler.plain_objects import name_of, text

    namespace = text(manifest, "metadata", "namespace")
    leaves = [queue for queue in program.queues if queue.is_leaf]
    owning = [queue.id for queue in leaves if namespace in queue.namespaces]
    if namespace is not None and len(owning) == 1:
        return owning[0]
    defaults = [queue.id for queue in leaves if queue.id in owning and queue.default]
    if len(defaults) == 1:
        return defaults[0]
    label = f"{manifest['kind']} {name_of(manifest)}"
    listed = alternatives([queue.id for queue in leaves])
    if namespace is None:
        raise BindingError(f"{label} specifies neither a queue nor a namespace: pass --queue; {listed}")
    if owning:
        raise BindingError(
            f"namespace {namespace} belongs to {len(owning)} queues: pass --queue; {alternatives(owning)}"
        )
    raise BindingError(
        f"{label} does not specify a queue, and namespace {namespace} does not belong to a queue: pass --queue; {listed}"
    )
