"""Entry points: bind a new workload, or existing manifests, to a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.kubernetes.operators import RAY_PRIORITY_CLASS_LABEL
from apportion_compiler.bindings import ENGINES, KINDS
from apportion_compiler.bindings.binding import Binding, EngineBinding
from apportion_compiler.bindings.bounds import beyond_bounds
from apportion_compiler.bindings.defaulted_workload import Work
from apportion_compiler.bindings.defaults import WHOLE, gpus_of, name_of, refuse_share
from apportion_compiler.bindings.elastic import make_elastic, workers_at_first
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.kind import Kind
from apportion_compiler.bindings.notes import disproportionate_request, ignored_anti_affinity
from apportion_compiler.bindings.options import Options
from apportion_compiler.bindings.placement import placement, select_model
from apportion_compiler.bindings.provisioning import ask_for_nodes
from apportion_compiler.bindings.queue_selection import (
    class_in,
    instead,
    leaf,
    named_queue,
    namespace_in,
    plan_in,
    some,
)
from apportion_compiler.bindings.replaced_fields import replaced_fields
from apportion_compiler.bindings.requests import pod_requests
from apportion_compiler.bindings.workload_fields import is_gang, is_kind, templates
from apportion_compiler.engine_rules.pod_admission import refusals
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import object_name
from apportion_compiler.workload_shapes import Node, found, mapping, pod_sets, section, shape_of, text

_CPU, _MEMORY = 1000, 4 * 1024**3
_SCHEDULE = "0 2 * * *"


@dataclass(frozen=True, slots=True)
class BoundWorkload:
    """Objects in apply order, clauses about workloads that can never start, and notes on defaults."""

    objects: tuple[Node, ...]
    remarks: tuple[str, ...]
    notes: tuple[str, ...] = ()


def bind(program: Program, queue_id: str, kind: str, options: Options) -> tuple[Node, ...]:
    """Return the objects of a workload of a kind in a queue, in apply order.

    Raises:
        BindingError: If the queue cannot run it as requested.
    """
    return bound(program, queue_id, kind, options).objects


def bound(program: Program, queue_id: str, kind: str, options: Options) -> BoundWorkload:
    """Return the same with remarks. Raises `BindingError`."""
    engine = _engine(program)
    template = _kind(kind, engine)
    queue = leaf(program, queue_id)
    gpus = gpus_of(program, queue, engine, options)
    binding = _binding(program, queue, engine, options, with_gpus=gpus > 0, serves=template.serves)
    kind = next(name for name in KINDS if KINDS[name] is template)
    elastic = None if options.least is None or options.most is None else (options.least, options.most)
    if elastic is not None:
        n_workers = workers_at_first(kind, engine, *elastic)
    else:
        n_workers = 1 if options.workers is None else options.workers
    name = name_of(options.name, queue, kind, template, n_workers)
    where = placement(
        program,
        queue,
        with_gpus=gpus > 0,
        model=options.gpu_model if gpus else None,
        plan=options.provisioning,
        plans_are_asked=engine.asks_for_nodes,
    )
    work = Work(
        name=name,
        namespace=binding.namespace,
        n_workers=n_workers,
        image=options.image or template.image,
        command=options.command or (template.command if options.image is None or _needs_command(kind) else ()),
        cpu=_CPU if options.cpu is None else options.cpu,
        memory=_MEMORY if options.memory is None else options.memory,
        gpus=gpus,
        secrets=options.secrets,
        placement=where,
        schedule=options.schedule or _SCHEDULE,
        stays=binding.plan is not None,
    )
    placed = _placed(engine, binding, name, template.template(work), starts_in_part=elastic is not None)
    small = (
        ()
        if options.cpu or options.memory
        else disproportionate_request(program, queue, options.gpu_model, gpus=gpus, cpu=work.cpu, memory=work.memory)
    )
    placed = replace(placed, notes=(*placed.notes, *(f"{name}: {clause}" for clause in small)))
    if elastic is not None:
        make_elastic(placed.objects[-1], kind, engine, *elastic)
    return replace(placed, objects=tuple(mapping(_in_order(made)) for made in placed.objects))


def adopt(
    program: Program, queue_id: str, documents: Sequence[Mapping[str, object]], options: Options
) -> BoundWorkload:
    """Return existing manifests with their workloads bound to a queue; everything else in them is unchanged.

    Only the options `namespace`, `gpu_model`, `priority_class` and `provisioning` are used.

    Raises:
        BindingError: If none is a workload, or one of them cannot run in the queue.
    """
    engine = _engine(program)
    queue = leaf(program, queue_id)
    objects: list[Node] = []
    remarks: list[str] = []
    notes: list[str] = []
    for index, document in enumerate(documents):
        if shape_of(document) is None:
            objects.append({key: _copied(value) for key, value in document.items()})
            continue
        try:
            placed = _adopted(program, queue, engine, document, options)
        except BindingError as refused:
            raise BindingError(str(refused), index) from refused
        objects += placed.objects
        remarks += placed.remarks
        notes += placed.notes
    if all(shape_of(document) is None for document in documents):
        raise BindingError(f"the file contains no workload; `bind` supports {some(KINDS)}")
    return BoundWorkload(tuple(objects), tuple(remarks), tuple(notes))


def _in_order(value: object) -> object:
    """Return objects ordered for reading: metadata before spec; in each mapping, short values before long ones."""
    if isinstance(value, list):
        return [_in_order(item) for item in value]
    if not isinstance(value, dict):
        return value
    made: Node = {key: _in_order(item) for key, item in value.items()}
    short = {key: item for key, item in made.items() if not isinstance(item, dict | list)}
    long = {key: item for key, item in made.items() if key not in short and key != "spec"}
    return {**short, **long, **{key: item for key, item in made.items() if key == "spec"}}


def _copied(value: object) -> object:
    """Return a deep copy without shared values: two templates may be one anchor of a YAML file."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _adopted(
    program: Program, queue: Queue, engine: EngineBinding, document: Mapping[str, object], options: Options
) -> BoundWorkload:
    manifest = {key: _copied(value) for key, value in document.items()}
    metadata = section(manifest, "metadata")
    name = text(metadata.get("name")) or text(metadata.get("generateName")).rstrip("-")
    sets = pod_sets(manifest)
    if not sets or not name:
        raise BindingError(f"the {manifest['kind']} has no {'name' if sets else 'pod template'}")
    stated = text(metadata.get("namespace")) or None
    if options.namespace is not None and stated not in {None, options.namespace}:
        raise BindingError(f"{manifest['kind']} {name} is in namespace {stated}, not {options.namespace}")
    if any(found(pods.spec, "nodeName") for pods in sets):
        raise BindingError(
            f"{manifest['kind']} {name} sets nodeName, which bypasses the scheduler; use nodeSelector instead"
        )
    asked = [pod_requests(pods.spec).get(GPU_RESOURCE, 0) for pods in sets]
    for gpus in asked:
        refuse_share(queue, engine, gpus)
    chosen = Options(
        namespace=options.namespace or stated,
        gpu_model=options.gpu_model,
        priority_class=options.priority_class or _stated_class(program, manifest),
        provisioning=options.provisioning,
    )
    serves = is_kind(manifest, "apps") or is_kind(manifest, "ray.io", "RayService")
    binding = _binding(program, queue, engine, chosen, with_gpus=any(asked), serves=serves)
    metadata["namespace"] = binding.namespace
    if options.gpu_model is not None:
        for template in templates(manifest):
            if pod_requests(mapping(template.get("spec"))).get(GPU_RESOURCE, 0):
                select_model(program, queue, options.gpu_model, template)
    placed = _placed(engine, binding, text(metadata.get("name")), (manifest,))
    return replace(
        placed, notes=(*placed.notes, *(f"{name}: {clause}" for clause in replaced_fields(document, manifest)))
    )


def _placed(
    engine: EngineBinding, binding: Binding, name: str, workloads: tuple[Node, ...], *, starts_in_part: bool = False
) -> BoundWorkload:
    binding = replace(binding, gang=object_name(name) if name else None)
    model = binding.gpu_model or binding.part
    together = engine.has_gangs and not starts_in_part and all(map(is_gang, workloads))
    beyond = beyond_bounds(binding.program, binding.queue, binding.priority_class, model, workloads, together=together)
    remarks = tuple(
        dict.fromkeys(
            f"{name or workloads[0]['kind']} {excess.clause}; "
            + ("the workload would never start" if excess.waits else "its pods could never all run at the same time")
            for excess in beyond
        )
    )
    label = name or str(workloads[0]["kind"])
    notes = tuple(
        f"{label}: {clause}"
        for clause in (*engine.remarks(binding, workloads), *ignored_anti_affinity(binding, workloads))
    )
    requests: tuple[Node, ...] = ()
    if binding.plan is not None and not engine.asks_for_nodes:
        requests = ask_for_nodes(binding, binding.plan, workloads)
    if engine.share is not None:
        for template in (t for workload in workloads for t in templates(workload)):
            gpus = pod_requests(mapping(template.get("spec"))).get(GPU_RESOURCE, 0)
            if gpus % WHOLE:
                engine.share(template, gpus)
    for workload in workloads:
        for refused in refusals(engine.name, workload):
            raise BindingError(f"{workload['kind']} {name}: {refused}")
    made = engine.bind(binding, workloads)
    remarks += tuple(
        dict.fromkeys(
            f"{label}: {clause}; the workload would never start"
            for clause in engine.unreachable(binding, made)
            if not remarks
        )
    )
    return BoundWorkload((*requests, *made), remarks, notes)


def _engine(program: Program) -> EngineBinding:
    if program.engine not in ENGINES:
        raise BindingError(
            f"cluster {program.cluster} runs {TRAITS[program.engine].title}, which `bind` does not support"
        )
    return ENGINES[program.engine]


def _kind(name: str, engine: EngineBinding) -> Kind:
    by_name = {known.lower(): kind for known, kind in KINDS.items()}
    kind = by_name.get(name.lower())
    if kind is None:
        raise BindingError(f"unknown kind {name}{instead(name, KINDS)}")
    if kind.engine is not None and kind.engine != engine.name:
        raise BindingError(
            f"kind {name} is for {TRAITS[kind.engine].title}, but the cluster runs {TRAITS[engine.name].title}"
        )
    return kind


def _binding(
    program: Program, queue: Queue, engine: EngineBinding, options: Options, *, with_gpus: bool, serves: bool
) -> Binding:
    queue_name, part = named_queue(program, queue, engine, model=options.gpu_model, with_gpus=with_gpus)
    return Binding(
        program,
        queue,
        queue_name,
        part,
        options.gpu_model if with_gpus else None,
        namespace_in(queue, options.namespace),
        None,
        class_in(program, queue, options.priority_class, serves=serves),
        plan_in(program, queue, options.provisioning),
    )


def _stated_class(program: Program, manifest: Node) -> str | None:
    """Return the policy's name of the class in a manifest, from a pod's field or a label of the engine."""
    named = [text(found(pods.spec, "priorityClassName")) for pods in pod_sets(manifest)]
    labels = mapping(found(manifest, "metadata", "labels"))
    named += [text(labels.get(key)) for key in ("priorityClassName", RAY_PRIORITY_CLASS_LABEL)]
    stated = next((name for name in named if name), None)
    by_object = {object_name(cls.name): cls.name for cls in program.priority_classes}
    return None if stated is None else by_object.get(stated, stated)


def _needs_command(kind: str) -> bool:
    return kind.lower() in {"rayjob", "rayservice", "mpijob"}
