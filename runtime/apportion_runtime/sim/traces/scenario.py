"""A trace as a scenario of the simulated cluster: node objects, and a Job for each job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from apportion_api.kai.names import GPU_DEVICES_ANNOTATION
from apportion_api.kubernetes.names import GPU_COUNT_LABEL, GPU_MEMORY_LABEL, GPU_PRODUCT_LABEL, GPU_RESOURCE
from apportion_runtime.sim.api.clock import DEFAULT_START
from apportion_runtime.sim.kubelet.nodes import node_manifest
from apportion_runtime.sim.scenario.format import Incident, NodeShape, Pool, Scenario, Timing, Work
from apportion_runtime.sim.scenario.workload_labels import KAI_WORKLOAD_LABELS, WorkloadLabels
from apportion_runtime.sim.scenario.workload_manifests import Size, WorkloadFields, manifest_of
from apportion_runtime.sim.traces.density import DENSITY_LABEL, density_name, density_resource, spread_constraint
from apportion_runtime.sim.traces.records import Density, JobEnd, Trace, TraceError, TraceJob, TraceNode
from apportion_runtime.sim.traces.rows import kubernetes_name

ROW_ANNOTATION = "apportion.dev/trace-row"
"""The file and line of a workload's row."""
MODEL_LABEL = GPU_PRODUCT_LABEL
DEVICE_MEMORY_MIB = 16_000
"""The device memory in node labels, without which the engine shares no device. Traces request fractions of devices,
never memory, so the value affects no decision; it is a multiple of 1000 so that thousandths are integers."""
_WHOLE = "simulate it with KAI Scheduler"


def scenario_of(
    trace: Trace,
    *,
    timing: Timing | None = None,
    startup_s: float = 0.0,
    checkpoint_s: float | None = None,
    patience_s: float | None = None,
    until_s: float | None = None,
    workload_labels: WorkloadLabels = KAI_WORKLOAD_LABELS,
) -> Scenario:
    """Return a scenario: the nodes are among its objects and events, with their names in the trace.

    Args:
        trace: The trace, as recorded or transformed.
        timing: The speed of the cluster.
        startup_s: The startup time of pods, which traces lack.
        checkpoint_s: The checkpoint interval, which traces lack; None loses the progress with the pod.
        patience_s: The time after which a job that has not run is deleted; None is never.
        until_s: The end of the simulation; required if a trace has jobs that never end.
        workload_labels: The labels of the engine. Unless they are KAI's, the namespace of a job is the name of its
            queue.
    """
    if not workload_labels.shares_gpus:
        sharing = next((job for job in trace.jobs if _is_sharing(job)), None)
        if sharing is not None:
            raise TraceError(
                sharing.file,
                sharing.line,
                "the job requests a fractional GPU, which this engine does not support",
                _WHOLE,
            )
    return Scenario(
        name=trace.name,
        objects=tuple(node_object(node) for node in trace.nodes if not node.joins_s),
        incidents=tuple(_incidents(trace.nodes)),
        works=tuple(
            replace(
                work_of(job, trace.name, workload_labels=workload_labels),
                startup_s=startup_s,
                checkpoint_s=checkpoint_s,
                cancelled_s=patience_s,
            )
            for job in trace.jobs
        ),
        timing=Timing() if timing is None else timing,
        start=DEFAULT_START if trace.start is None else trace.start,
        until_s=until_s,
    )


def _incidents(nodes: Iterable[TraceNode]) -> Iterator[Incident]:
    for node in nodes:
        if node.joins_s:
            yield Incident(node.joins_s, "made", makes=(node_object(node),))
        if node.leaves_s is not None:
            yield Incident(node.leaves_s, "deleted", object=("Node", "", node.name))


def node_object(node: TraceNode) -> Mapping[str, Any]:
    """Return a ready node of a pool that is named after its GPUs."""
    allocatable = {"cpu": f"{node.cpu_milli}m", "memory": f"{node.memory_mib}Mi", "pods": str(node.n_pods)}
    allocatable |= {name: str(amount) for name, amount in node.extended}
    if node.disk_mib:
        allocatable["ephemeral-storage"] = f"{node.disk_mib}Mi"
    labels = dict(node.labels)
    pool = "cpu"
    if node.gpus:
        allocatable[GPU_RESOURCE] = str(node.gpus)
        labels = {
            GPU_COUNT_LABEL: str(node.gpus),
            GPU_MEMORY_LABEL: str(DEVICE_MEMORY_MIB),
            **({MODEL_LABEL: node.gpu_model} if node.gpu_model else {}),
            **labels,
        }
        pool = kubernetes_name(f"{node.gpu_model or labels.get(MODEL_LABEL, 'gpu')}-{node.gpus}")
    taints = tuple({"key": key, "value": value, "effect": effect} for key, value, effect in node.taints)
    shape = NodeShape(labels, allocatable, taints)
    return node_manifest(Pool(pool, shape, size=1, least=1, most=1), node.name)


def work_of(job: TraceJob, namespace: str, *, workload_labels: WorkloadLabels = KAI_WORKLOAD_LABELS) -> Work:
    """Return the workload of a job; one that never ran is deleted at its recorded end."""
    ran = job.end is not JobEnd.NEVER_RAN
    return Work(
        manifest=_manifest(job, namespace if workload_labels is KAI_WORKLOAD_LABELS else job.queue, workload_labels),
        arrives_s=job.arrives_s,
        work_s=job.stays_s if ran else None,
        lifetime_s=None if ran else job.stays_s,
        fails=job.end is JobEnd.FAILED,
    )


def _is_sharing(job: TraceJob) -> bool:
    return job.gpus > 0 and job.gpu_milli < 1000


def _manifest(job: TraceJob, namespace: str, workload_labels: WorkloadLabels) -> Mapping[str, Any]:
    shared = _is_sharing(job)
    gpus = job.gpu_milli / 1000 if shared else float(job.gpus)
    short = WorkloadFields(
        kind="Job",
        name=job.name,
        namespace=namespace,
        queue=job.queue if workload_labels.has_queues else "",
        priority=job.priority,
        size=Size(f"{job.cpu_milli}m", f"{job.memory_mib}Mi", gpus),
        pods=job.n_pods,
        least=job.n_pods if job.n_pods > 1 else None,
        annotations={ROW_ANNOTATION: f"{job.file}:{job.line}"},
        node_selector={
            **dict(job.node_selector),
            **({MODEL_LABEL: job.gpu_models[0]} if len(job.gpu_models) == 1 else {}),
        },
        tolerations=tuple(dict(toleration) for toleration in job.tolerations),
        workload_labels=workload_labels,
    )
    made = manifest_of(short)
    template = made["spec"]["template"]
    if shared and job.gpus > 1:
        template["metadata"]["annotations"][GPU_DEVICES_ANNOTATION] = str(job.gpus)
    required = [
        *([_of_models(job.gpu_models)] if len(job.gpu_models) > 1 else []),
        *([{"key": GPU_COUNT_LABEL, "operator": "DoesNotExist"}] if job.avoids_gpus else []),
    ]
    if required:
        template["spec"]["affinity"] = _required(required)
    _add_resources(template["spec"]["containers"][0]["resources"], job)
    if job.density is not None:
        _limit_density(template, job.density, workload_labels)
    return made


def _add_resources(resources: dict[str, Any], job: TraceJob) -> None:
    requests, limits = resources["requests"], resources["limits"]
    further = {name: str(amount) for name, amount in job.extended}
    if job.disk_mib:
        further["ephemeral-storage"] = f"{job.disk_mib}Mi"
    requests.update(further)
    limits.update(further)
    if job.limits.cpu_milli:
        limits["cpu"] = f"{job.limits.cpu_milli}m"
    if job.limits.memory_mib:
        limits["memory"] = f"{job.limits.memory_mib}Mi"
    if job.limits.disk_mib:
        limits["ephemeral-storage"] = f"{job.limits.disk_mib}Mi"


def _limit_density(template: dict[str, Any], density: Density, workload_labels: WorkloadLabels) -> None:
    if workload_labels.spreads_pods:
        template["metadata"].setdefault("labels", {})[DENSITY_LABEL] = density_name(density)
        template["spec"]["topologySpreadConstraints"] = [spread_constraint(density)]
        return
    resources = template["spec"]["containers"][0]["resources"]
    for amounts in resources.values():
        amounts[density_resource(density)] = "1"


def _of_models(models: tuple[str, ...]) -> Mapping[str, Any]:
    return {"key": MODEL_LABEL, "operator": "In", "values": list(models)}


def _required(expressions: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    term = {"matchExpressions": expressions}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
