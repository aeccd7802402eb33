"""Reads a scenario from its YAML document; docs/simulation.md describes the format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from apportion_runtime.admission.objects import name_of, namespace_of
from apportion_runtime.kube_queue.queueing import Queueing
from apportion_runtime.sim.api.clock import DEFAULT_START
from apportion_runtime.sim.controllers.serve_autoscaler import autoscaling_of, scalings_of
from apportion_runtime.sim.scenario.fields import Fields, ScenarioError
from apportion_runtime.sim.scenario.format import (
    Demand,
    Incident,
    Manifest,
    NodeShape,
    Pool,
    Scaling,
    Scenario,
    Timing,
    Work,
)
from apportion_runtime.sim.scenario.pool_reader import pool_of
from apportion_runtime.sim.scenario.workload_labels import KAI_WORKLOAD_LABELS, WorkloadLabels
from apportion_runtime.sim.scenario.workload_manifests import KINDS, Size, WorkloadFields, manifest_of
from apportion_runtime.snapshots.quantities import parse_time
from apportion_runtime.snapshots.source_lines import line_of
from apportion_runtime.snapshots.unique_keys import duplicate_key
from apportion_runtime.snapshots.yaml_bounds import BoundsError, check_bounds

Reader = Callable[[str], Sequence[Manifest]]
"""Returns the objects of a file, by its name in the scenario. Raises `OSError`, `ValueError`."""


def read_scenario(
    text: str,
    read: Reader,
    workload_labels: WorkloadLabels = KAI_WORKLOAD_LABELS,
    policy_nodes: Mapping[str, NodeShape] | None = None,
) -> Scenario:
    """Return the scenario that a text describes.

    Args:
        text: The text of the scenario.
        read: Reads the files that the scenario names.
        workload_labels: The labels of the engine for workloads in short form.
        policy_nodes: Nodes of the policy's pools, by the pool's id; None without a policy.

    Raises:
        ScenarioError: If it is invalid, with the location and the line.
    """
    try:
        check_bounds(text)
        document = _document(text)
    except BoundsError as wrong:
        raise ScenarioError(wrong.message, wrong.line) from None
    except ScenarioError:
        raise
    except yaml.YAMLError as wrong:
        problem, mark = getattr(wrong, "problem", None), getattr(wrong, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise ScenarioError(f"invalid YAML: {problem or ' '.join(str(wrong).split())}", line) from None
    except (ValueError, RecursionError) as wrong:
        raise ScenarioError(f"invalid YAML: {wrong}", None) from None
    try:
        return _scenario(document, read, workload_labels, policy_nodes)
    except ScenarioError as wrong:
        raise ScenarioError(str(wrong), line_of(text, wrong.path)) from None


def _document(text: str) -> Any:
    """Return the value of a YAML text. Raises `ScenarioError` for a duplicate key, `yaml.YAMLError`, `ValueError`."""
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        found = duplicate_key(root)
        if found is not None:
            raise ScenarioError(f"{found.path}: {found.message}", found.line)
        return loader.construct_document(root)
    finally:
        loader.dispose()


def _scenario(
    document: object, read: Reader, workload_labels: WorkloadLabels, policy_nodes: Mapping[str, NodeShape] | None
) -> Scenario:
    if not isinstance(document, Mapping):
        raise ScenarioError("a scenario must be a mapping with `nodes` and `workloads`")
    fields = Fields(document, "")
    made = Scenario(
        name=fields.text("name"),
        start=_start(fields),
        until_s=fields.maybe_seconds("until"),
        timing=_timing(fields.maybe("timing")),
        queueing=_queueing(fields),
        pools=_pools(fields, policy_nodes),
        works=tuple(work for each in fields.each("workloads") for work in _works(each, read, workload_labels)),
        objects=tuple(_objects(fields, read)),
        incidents=tuple(_incident(each, read) for each in fields.each("events")),
    )
    fields.done()
    if made.until_s is None and made.timing.requeue_s is not None:
        raise ScenarioError("until: a scenario with timing.requeue requires `until`")
    if made.until_s is None and any(work.manifest.get("kind") == "CronJob" for work in made.works):
        raise ScenarioError("until: a scenario with a CronJob requires `until`")
    if made.until_s is None and any(work.demand and work.lifetime_s is None for work in made.works):
        raise ScenarioError("until: a scenario with `demand` requires `until`, or `lifetime` on the workload")
    return made


def _pools(fields: Fields, policy_nodes: Mapping[str, NodeShape] | None) -> tuple[Pool, ...]:
    pools: dict[str, Pool] = {}
    for each in fields.each("nodes"):
        pool = pool_of(each, policy_nodes)
        if pool.name in pools:
            raise each.fault("pool", f"another entry of `nodes` has the name {pool.name}; give each pool a unique name")
        pools[pool.name] = pool
    return tuple(pools.values())


def _start(fields: Fields) -> float:
    found = fields.raw("start")
    if found is None:
        return DEFAULT_START
    try:
        return parse_time(found if isinstance(found, str) else found.isoformat())
    except (ValueError, AttributeError):
        raise fields.fault("start", f"`{found}` is not a time such as 2026-01-05T08:00:00Z") from None


def _queueing(fields: Fields) -> Queueing:
    written = fields.text("queueing", Queueing.ACK.value)
    try:
        return Queueing(written)
    except ValueError:
        known = ", ".join(each.value for each in Queueing)
        raise fields.fault("queueing", f"`{written}` is not one of {known}") from None


def _timing(fields: Fields | None) -> Timing:
    known = Timing()
    if fields is None:
        return known
    made = Timing(
        period_s=fields.seconds("period", known.period_s),
        container_start_s=fields.seconds("container_start", known.container_start_s),
        grace_s=fields.seconds("grace", known.grace_s),
        node_lost_s=fields.seconds("node_lost", known.node_lost_s),
        requeue_s=fields.maybe_seconds("requeue"),
    )
    if made.period_s <= 0:
        raise fields.fault("period", "must be greater than 0")
    fields.done()
    return made


def _works(fields: Fields, read: Reader, workload_labels: WorkloadLabels) -> Iterator[Work]:
    manifests = _manifests(fields, read, workload_labels)
    count, every = fields.integer("count", 1), fields.seconds("every")
    like = Work(
        manifest={},
        place=fields.path,
        arrives_s=fields.seconds("at"),
        work_s=fields.maybe_seconds("duration"),
        lifetime_s=fields.maybe_seconds("lifetime"),
        startup_s=fields.seconds("startup"),
        checkpoint_s=fields.maybe_seconds("checkpoint"),
        fails=fields.boolean("fails"),
        scalings=tuple(_scaling(each) for each in fields.each("load")),
        cancelled_s=fields.maybe_seconds("cancel_after"),
        demand=tuple(sorted((_demand(each) for each in fields.each("demand")), key=lambda step: step.at_s)),
        saturates=None if fields.raw("saturates") is None else fields.number("saturates"),
    )
    namespace = fields.text("namespace")
    like = _serving(fields, manifests, like)
    fields.done()
    for number in range(count):
        for manifest in manifests:
            made = manifest if count == 1 else _with(manifest, name=f"{name_of(manifest)}-{number}")
            if namespace and not namespace_of(made):
                made = _with(made, namespace=namespace)
            yield replace(like, manifest=made, arrives_s=like.arrives_s + number * every)


def _serving(fields: Fields, manifests: Sequence[Manifest], like: Work) -> Work:
    """Scale a RayService with its demand, as Ray Serve does for a target number of requests per replica."""
    services = [made for made in manifests if made.get("kind") == "RayService"]
    target = None
    if fields.raw("target_ongoing_requests") is not None:
        target = fields.number("target_ongoing_requests")
        if not target or not like.demand or len(services) < len(manifests):
            raise fields.fault(
                "target_ongoing_requests", "must be greater than 0, and is valid only for a RayService with `demand`"
            )
    if not like.demand or not services:
        return like
    if len(manifests) > 1:
        raise fields.fault("demand", "must apply to a single workload: set `name` to select it")
    try:
        how = autoscaling_of(services[0], target)
    except ValueError as wrong:
        raise fields.fault("demand", str(wrong)) from None
    return replace(like, demand=(), scalings=(*like.scalings, *scalings_of(like.demand, how)))


def _with(manifest: Manifest, **metadata: str) -> dict[str, Any]:
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


def _demand(fields: Fields) -> Demand:
    made = Demand(fields.seconds("at"), fields.number("total"))
    fields.done()
    return made


def _scaling(fields: Fields) -> Scaling:
    made = Scaling(fields.seconds("at"), fields.integer("replicas"), fields.text("group"))
    fields.done()
    return made


def _manifests(fields: Fields, read: Reader, workload_labels: WorkloadLabels) -> list[Manifest]:
    inline, file = fields.raw("manifest"), fields.text("file")
    if inline is not None:
        if not isinstance(inline, Mapping) or not inline.get("kind") or not name_of(inline):
            raise fields.fault("manifest", "must be an object with a kind and a name")
        return [inline]
    if file:
        wanted = fields.text("name")
        found = [made for made in _read(fields, "file", file, read) if not wanted or name_of(made) == wanted]
        if not found:
            raise fields.fault("file", f"{file} does not contain workload {wanted}" if wanted else f"{file} is empty")
        return found
    return [_short(fields, workload_labels)]


def _short(fields: Fields, workload_labels: WorkloadLabels) -> Manifest:
    kind = fields.text("kind", "Job")
    if kind not in KINDS:
        raise fields.fault("kind", f"`{kind}` has no short form; supported kinds are {', '.join(KINDS)}")
    name = fields.object_name("name")
    if not name:
        raise fields.fault("name", "a workload must have a name")
    head = fields.maybe("head")
    short = WorkloadFields(
        kind=kind,
        name=name,
        namespace=fields.object_name("namespace", "default"),
        queue=fields.text("queue"),
        priority=fields.text("priority"),
        size=_size(fields),
        pods=fields.integer("pods", 1),
        least=fields.optional_integer("min"),
        head=None if head is None else _size(head),
        at_once=fields.optional_integer("parallelism"),
        schedule=fields.text("schedule"),
        labels=fields.texts("labels"),
        annotations=fields.texts("annotations"),
        node_selector=fields.texts("node_selector"),
        tolerations=tuple({key: str(each.raw(key)) for key in each.data} for each in fields.each("tolerations")),
        workload_labels=workload_labels,
    )
    if short.least is not None and short.least > short.pods:
        raise fields.fault("min", f"{short.least} is greater than `pods` ({short.pods})")
    if short.queue and not workload_labels.has_queues:
        raise fields.fault("queue", "this engine has no queues; set the `namespace` whose quota applies")
    sizes = (short.size, short.head)
    if not workload_labels.shares_gpus and any(size and (size.gpu_memory or 0 < size.gpus < 1) for size in sizes):
        raise fields.fault("gpus", "this engine does not support fractional GPUs")
    if head is not None:
        head.done()
    if (kind == "CronJob") != bool(short.schedule):
        raise fields.fault("schedule", "required for a CronJob, and invalid for other kinds")
    return manifest_of(short)


def _size(fields: Fields) -> Size:
    gpus = fields.number("gpus")
    if gpus > 1 and gpus != int(gpus):
        raise fields.fault("gpus", f"`{gpus:g}` is neither a whole number of devices nor a fraction of one device")
    return Size(fields.quantity("cpu", "1"), fields.quantity("memory", "4Gi"), gpus, fields.integer("gpu_memory"))


def _objects(fields: Fields, read: Reader, key: str = "objects") -> Iterator[Manifest]:
    found = fields.raw(key) or []
    if not isinstance(found, list):
        raise fields.fault(key, "must be a list")
    for item in found:
        if isinstance(item, str):
            yield from _read(fields, key, item, read)
        elif isinstance(item, Mapping) and item.get("kind"):
            yield item
        else:
            raise fields.fault(key, "each item must be an object or a file name")


def _read(fields: Fields, key: str, file: str, read: Reader) -> Sequence[Manifest]:
    try:
        return read(file)
    except (OSError, ValueError) as wrong:
        reason = wrong.strerror if isinstance(wrong, OSError) else wrong
        raise fields.fault(key, f"{file} cannot be read: {reason}") from None


def _incident(fields: Fields, read: Reader) -> Incident:
    at, node = fields.seconds("at"), fields.text("node")
    if fields.raw("made") is not None:
        made = Incident(at, "made", makes=tuple(_objects(fields, read, "made")))
        fields.done()
        return made
    queued = fields.maybe("job")
    if queued is not None:
        return _job_changed(fields, queued, at)
    deleted = fields.maybe("deleted")
    if deleted is not None:
        made = Incident(at, "deleted", object=(deleted.text("kind"), deleted.text("namespace"), deleted.text("name")))
        deleted.done()
        if not (made.object[0] and made.object[2]):
            raise deleted.fault("name", "an object must have a `kind` and a `name`")
    else:
        what = fields.text("what")
        if what and what not in ("fails", "drains", "joins"):
            raise fields.fault("what", f"`{what}` is not an event of a node; use fails, drains or joins")
        if not what or not node:
            raise fields.fault(
                "what",
                "set `made`, `deleted` or `job`, or set `node` and `what` (fails, drains or joins)",
            )
        made = Incident(at, what, node)
    fields.done()
    return made


def _job_changed(fields: Fields, job: Fields, at: float) -> Incident:
    """Return the change of a queued job: a different priority, or the head of the queue."""
    named = ("", job.text("namespace", "default"), job.text("name"))
    if not named[2]:
        raise job.fault("name", "must be the name of the job")
    job.done()
    priority, jumps = fields.raw("priority"), fields.boolean("jump")
    if (priority is not None) == jumps:
        raise fields.fault("job", "set `priority` or `jump`, but not both")
    if priority is not None and (isinstance(priority, bool) or not isinstance(priority, int)):
        raise fields.fault("priority", f"`{priority}` is not an integer")
    fields.done()
    return Incident(at, "priority", object=named, priority=priority)
