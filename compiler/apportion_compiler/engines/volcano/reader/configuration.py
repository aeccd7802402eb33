"""Cluster settings in the configuration of Volcano's scheduler and controller: placement, order, network levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.fields import Fields
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.objects import read_fields
from apportion_api.volcano.configuration import SCHEDULER_KEY, SchedulerConfiguration
from apportion_api.volcano.names import CONTROLLER_KEY
from apportion_api.volcano.objects import Queue
from apportion_compiler.embedded_text import yaml_value
from apportion_compiler.plain_objects import described, items, mapping, text
from apportion_compiler.readers.record import ClusterRecord, Manifest, Note, TopologyRecord
from apportion_policy.engine_settings import VolcanoSettings
from apportion_policy.resources import CPU

_PLACEMENTS = {"MostAllocated": "binpack", "LeastAllocated": "spread"}
_NEEDED_ACTIONS = ("preempt", "reclaim")


def cluster_of(manifests: Sequence[Manifest], queues: Sequence[Queue], notes: list[Note]) -> ClusterRecord:
    """Return the settings of the cluster."""
    settings = _settings(queues, notes)
    for manifest, document in _documents(manifests, SCHEDULER_KEY, notes):
        found = read_fields(SchedulerConfiguration, Fields(document))
        plugins = {plugin.name: plugin.arguments for plugin in found.plugins}
        notes.extend(_switched_on(manifest, found))
        gpu, cpu = _placement(plugins)
        return ClusterRecord(gpu_placement=gpu, cpu_placement=cpu, volcano=settings)
    return ClusterRecord(volcano=settings)


def topologies_of(manifests: Sequence[Manifest], notes: list[Note]) -> Iterator[TopologyRecord]:
    """Yield the network levels that the controller is configured to discover by labels."""
    for manifest, document in _documents(manifests, CONTROLLER_KEY, notes):
        for source in items(document, "networkTopologyDiscovery"):
            if text(source, "source") != "label":
                notes.append(Note(described(manifest), f"discovery source {text(source, 'source')} is dropped"))
                continue
            if mapping(source).get("enabled") is not True:
                continue
            for name, levels in mapping(source, "config", "networkTopologyTypes").items():
                keys = [
                    key for level in (levels if isinstance(levels, list) else ()) if (key := text(level, "nodeLabel"))
                ]
                if keys:
                    yield TopologyRecord(name, tuple(keys))


def _documents(
    manifests: Sequence[Manifest], key: str, notes: list[Note]
) -> Iterator[tuple[Manifest, Mapping[str, object]]]:
    for manifest in manifests:
        content = text(manifest, "data", key) if manifest.get("kind") == "ConfigMap" else None
        if content is None:
            continue
        try:
            document = yaml_value(content)
        except ValueError:
            document = None
        if isinstance(document, dict):
            yield manifest, document
        else:
            notes.append(Note(described(manifest), f"data[{key}] is not a valid configuration: dropped"))


def _settings(queues: Sequence[Queue], notes: list[Note]) -> VolcanoSettings | None:
    """Return the order of jobs within a queue, if all queues have the same."""
    strategies = {queue.strategy or "traverse" for queue in queues}
    if len(strategies) > 1:
        notes.append(
            Note("Queue", "dequeueStrategy is dropped: it differs between queues, but a policy sets one per cluster")
        )
    if strategies == {"fifo"}:
        return VolcanoSettings(dequeue_strategy="fifo")
    return VolcanoSettings() if strategies == {"traverse"} else None


def _switched_on(manifest: Manifest, found: SchedulerConfiguration) -> Iterator[Note]:
    if found.plugin("capacity") is None:
        yield Note(
            described(manifest),
            "the capacity plugin is disabled, so parents and guarantees have no effect; the compiled configuration "
            "enables the plugin",
        )
    missing = [action for action in _NEEDED_ACTIONS if action not in found.actions]
    if missing:
        yield Note(described(manifest), f"does not enable {', '.join(missing)}; the compiled configuration does")


def _placement(plugins: Mapping[str | None, Mapping[str, object]]) -> tuple[str | None, str | None]:
    """Return the placement of GPU pods and other pods: from the plugin that scores each resource, else from binpack."""
    fit = mapping(plugins.get("resource-strategy-fit", {}), "resources")
    if fit:
        gpu, cpu = (_PLACEMENTS.get(text(fit, resource, "type") or "") for resource in (GPU_RESOURCE, CPU))
        return gpu, cpu
    if "binpack" not in plugins:
        return (None, None) if "nodeorder" not in plugins else ("spread", "spread")
    arguments = plugins["binpack"]
    packs_gpus = GPU_RESOURCE in str(arguments.get("binpack.resources", ""))
    packs_cpu = arguments.get("binpack.cpu", 1) != 0
    return "binpack" if packs_gpus else "spread", "binpack" if packs_cpu else "spread"
